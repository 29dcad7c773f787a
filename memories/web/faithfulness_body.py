"""An answer and its sources as a request body."""

from typing import Any

from rest_framework.exceptions import ValidationError

from memories.contracts.text_limits import MAX_CONTENT_CHARS, MAX_QUERY_CHARS
from memories.guards.answer_check import MAX_BASES, AnswerCheck, check_answer, collect_bases
from memories.guards.claims import MAX_CLAIMS, TooManyClaimsError
from memories.models import Namespace, Trace
from memories.web.fields import Identifier, ListOf, Text
from memories.web.http_errors import unknown_memory_error
from memories.web.serializers import StrictObject
from memories.writing.write_errors import NotFoundError

SOURCE_FIELDS = ("trace", "query", "memories", "texts")


class FaithfulnessSerializer(StrictObject):
    """An answer and its sources: any combination of trace, query, memory ids and texts."""

    answer = Text(max_length=MAX_CONTENT_CHARS, help_text=f"at most {MAX_CLAIMS} claims")
    trace = Identifier(required=False, help_text="the retrieval whose results the answer is based on")
    query = Text(max_length=MAX_QUERY_CHARS, required=False, help_text="retrieved now with the published profile")
    memories = ListOf(child=Identifier(), max_length=MAX_BASES, required=False, help_text="stored memories by id")
    texts = ListOf(
        child=Text(max_length=MAX_CONTENT_CHARS), max_length=MAX_BASES, required=False, help_text="memories as text"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject an answer without sources."""
        if not any(name in attrs for name in SOURCE_FIELDS):
            raise ValidationError(
                {"non_field_errors": [f"must name one of {', '.join(SOURCE_FIELDS)}; got none of them"]}
            )
        return attrs


def check_faithfulness_from_body(namespace: Namespace, body: dict[str, Any]) -> AnswerCheck:
    """Check the answer of a validated body; a missing trace or memory is reported at its field."""
    traces = Trace.objects.within(namespace).defer("signals", "candidates")
    trace = traces.filter(id=body["trace"]).first() if "trace" in body else None
    if "trace" in body and trace is None:
        raise ValidationError({"trace": [f"must be a stored trace of this namespace; got {body['trace']}"]})
    sources = {name: body[name] for name in ("query", "memories", "texts") if name in body}
    try:
        return check_answer(namespace, body["answer"], collect_bases(namespace, trace=trace, **sources))
    except NotFoundError as error:
        raise unknown_memory_error(error, f"memories.{body['memories'].index(error.id)}") from error
    except TooManyClaimsError as error:
        raise ValidationError({"answer": [str(error)]}) from error
