"""An answer on the page: what was typed, what became of each claim, and the words that carry it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from rest_framework.exceptions import ValidationError

from memories.api.faithfulness_check import FaithfulnessSerializer, check_faithfulness_from_body
from memories.api.trace_list import filter_traces
from memories.guards.answer_check import AnswerCheck
from memories.guards.claims import MAX_CLAIMS
from memories.guards.support import VERDICTS, ClaimSupport
from memories.models import Memory, Namespace, Trace
from memories.models.choices import STATEMENTS, Status
from memories.providers.rules_judge import stems
from memories.text.provider_error import ProviderError
from memories.web.memory_body import MAX_CONTENT_CHARS
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors as flat
from scoring.faithfulness import Risk

FIELDS = ("answer", "trace", "query", "memories")
RECENT = 20  # traces that can be chosen by their question
EXAMPLES = 3  # memories that an example is made of
MADE_UP = "It cost 9,400 euros, and Ingrid Falk paid for it."  # what the example's memories do not say
# Read from the top, the first that fits; the words of the paper, in the order of scoring.faithfulness.risk.
RISKS: Mapping[Risk, str] = {
    "none": "every claim is supported",
    "high": "three or more are not",
    "medium": "one or two are not, and one of them is critical",
    "low": "one or two are not, none of them critical",
}

_WORD = re.compile(r"\w+")


def form(namespace: Namespace, sent: QueryDict) -> dict[str, Any]:
    """What the form offers, and what it holds: as it was typed, as the address says, or an example."""
    typed = {name: sent.get(name, "") for name in FIELDS}
    if "example" in sent:
        typed |= example(namespace)
    traces = list(filter_traces(namespace, {}).order_by("-id")[:RECENT])
    if typed["trace"] and typed["trace"] not in {str(one.id) for one in traces}:
        traces = [*traces, *older(namespace, typed["trace"])]
    return {
        "typed": typed,
        "traces": traces,
        "longest": MAX_CONTENT_CHARS,
        "most_claims": MAX_CLAIMS,
    }


def older(namespace: Namespace, id: str) -> list[Trace]:
    """A trace that is named but is not among the newest."""
    try:
        return list(filter_traces(namespace, {}).filter(id=UUID(id)))
    except ValueError:
        return []


def example(namespace: Namespace) -> dict[str, str]:
    """An answer of what is stored, and one sentence that nobody has said."""
    rows = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    some = list(rows.order_by("-created_at", "id")[:EXAMPLES])
    told = [one.content.rstrip(".") + "." for one in some[:2]]
    return {"answer": " ".join([*told, MADE_UP]), "memories": "\n".join(str(one.id) for one in some)} if some else {}


def check(request: HttpRequest, access: Access) -> tuple[dict[str, Any], int]:
    """Check what was typed by the API's own rules."""
    try:
        done = check_faithfulness_from_body(
            access.namespace, valid_values(FaithfulnessSerializer(data=body(request.POST)))
        )
    except ValidationError as error:
        return {"wrong": list(flat(error.detail))}, 400
    except ProviderError as error:
        return {"wrong": [{"at": "", "message": str(error)}]}, 503
    return told(done), 200


def body(sent: QueryDict) -> dict[str, Any]:
    """What was typed as the API would be told it; of the lines each is an id or a text."""
    said: dict[str, Any] = {name: text for name in ("trace", "query") if (text := sent.get(name, "").strip())}
    lines = [line.strip() for line in sent.get("memories", "").splitlines() if line.strip()]
    ids = [line for line in lines if is_id(line)]
    texts = [line for line in lines if not is_id(line)]
    said |= {name: some for name, some in (("memories", ids), ("texts", texts)) if some}
    return {"answer": sent.get("answer", ""), **said}


def is_id(line: str) -> bool:
    """Whether a line names a memory rather than tells one."""
    try:
        return bool(UUID(line))
    except ValueError:
        return False


def told(done: AnswerCheck) -> dict[str, Any]:
    """A check as the page tells it: what fails first, the words that claim and memory share marked."""
    order = sorted(done.claims, key=lambda one: (-VERDICTS.index(one.verdict), not one.claim.critical))
    return {
        "check": done,
        "rows": [row(one) for one in order],
        "share": 100 * done.faithfulness,
        "risks": [(name, says, name == done.risk) for name, says in RISKS.items()],
    }


def row(one: ClaimSupport) -> dict[str, Any]:
    """One claim beside its memory."""
    return {
        "support": one,
        "claim": marked(one.claim.text, one.shared_stems),
        "basis": one.basis and marked(one.basis.content, one.shared_stems),
    }


def marked(text: str, shared: Iterable[str]) -> SafeString:
    """A text with the words marked that begin as the shared ones do."""
    shared, parts, end = set(shared), list[str](), 0
    for word in _WORD.finditer(text):
        if stems(word[0]) & shared:
            parts += [escape(text[end : word.start()]), f'<mark class="marked">{escape(word[0])}</mark>']
            end = word.end()
    return mark_safe("".join([*parts, escape(text[end:])]))
