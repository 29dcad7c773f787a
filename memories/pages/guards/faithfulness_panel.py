"""The faithfulness check on the page: each claim beside the memory nearest to it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from rest_framework.exceptions import ValidationError

from memories.guards.answer_check import AnswerCheck
from memories.guards.support import VERDICTS, ClaimSupport
from memories.pages.guards.forms import faithfulness_request_body
from memories.providers.rules_judge import stems
from memories.text.provider_error import ProviderError
from memories.web.faithfulness_body import FaithfulnessSerializer, check_faithfulness_from_body
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors
from scoring.faithfulness import Risk

# The first that applies, in the paper's words and in the order of scoring.faithfulness.risk.
RISK_CONDITIONS: Mapping[Risk, str] = {
    "none": "every claim is supported",
    "high": "three or more are not",
    "medium": "one or two are not, and one of them is critical",
    "low": "one or two are not, none of them critical",
}
RISK_CLASSES: Mapping[Risk, str] = {"none": "yes", "high": "no", "medium": "no", "low": ""}

_WORD = re.compile(r"\w+")


def check_submitted_answer(request: HttpRequest, access: Access) -> tuple[dict[str, Any], int]:
    """Check the submitted answer as the API does; return the context and the HTTP status."""
    try:
        body = valid_values(FaithfulnessSerializer(data=faithfulness_request_body(request.POST)))
        check = check_faithfulness_from_body(access.namespace, body)
    except ValidationError as error:
        return {"wrong": list(flatten_errors(error.detail))}, 400
    except ProviderError as error:
        return {"wrong": [{"at": "", "message": str(error)}]}, 503
    return faithfulness_context(check), 200


def faithfulness_context(check: AnswerCheck) -> dict[str, Any]:
    """A check as the template shows it: unsupported claims first, shared words highlighted."""
    ordered = sorted(check.claims, key=lambda support: (-VERDICTS.index(support.verdict), not support.claim.critical))
    return {
        "check": check,
        "check_headline": faithfulness_headline(check),
        "claims": [claim_row(support) for support in ordered],
        "faithfulness_percent": 100 * check.faithfulness,
        "risk_class": RISK_CLASSES[check.risk],
        "risks": [(risk, condition, risk == check.risk) for risk, condition in RISK_CONDITIONS.items()],
    }


def faithfulness_headline(check: AnswerCheck) -> str:
    """How many claims are supported, and the risk."""
    claims = len(check.claims)
    if check.unsupported:
        noun, verb = ("claim" if claims == 1 else "claims"), ("is" if check.unsupported == 1 else "are")
        return f"{check.unsupported} of {claims} {noun} {verb} not supported: {check.risk} risk"
    return f"All {claims} claims are supported: no risk" if claims > 1 else "The one claim is supported: no risk"


def claim_row(support: ClaimSupport) -> dict[str, Any]:
    """One claim beside its memory."""
    return {
        "support": support,
        "claim": highlight_shared_words(support.claim.text, support.shared_stems),
        "basis": support.basis and highlight_shared_words(support.basis.content, support.shared_stems),
    }


def highlight_shared_words(text: str, shared: Iterable[str]) -> SafeString:
    """A text as HTML, with the words marked whose stem is shared."""
    shared, parts, end = set(shared), list[str](), 0
    for word in _WORD.finditer(text):
        if stems(word[0]) & shared:
            parts += [escape(text[end : word.start()]), f'<mark class="marked">{escape(word[0])}</mark>']
            end = word.end()
    return mark_safe("".join([*parts, escape(text[end:])]))
