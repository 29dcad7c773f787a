"""Faithfulness over REST: check the claims of an answer against the memories it is based on."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.retrieval import MAX_QUERY_CHARS
from memories.api.write_errors import unknown_memory_error
from memories.guards.answer_check import MAX_BASES, AnswerCheck, check_answer, collect_bases
from memories.guards.claims import MAX_CLAIMS, TooManyClaimsError
from memories.guards.support import VERDICTS, ClaimSupport
from memories.models import Namespace, Trace
from memories.models.choices import Role
from memories.web.fields import Identifier, ListOf, Text
from memories.web.memory_body import MAX_CONTENT_CHARS
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


class BasisSerializer(serializers.Serializer[Any]):
    """A memory that may support the answer."""

    id = serializers.UUIDField(allow_null=True, help_text="null: given as text")
    content = serializers.CharField()


class ClaimSerializer(serializers.Serializer[ClaimSupport]):
    """One claim and its verdict."""

    text = serializers.CharField(source="claim.text")
    verdict = serializers.ChoiceField(choices=VERDICTS)
    critical = serializers.ListField(
        source="claim.critical",
        child=serializers.CharField(),
        help_text="number, date, negation, name; empty: not critical",
    )
    memory = BasisSerializer(source="basis", allow_null=True, help_text="the best supporting memory")
    why = serializers.CharField(allow_blank=True, help_text="why it is not supported")


class FaithfulnessResultSerializer(serializers.Serializer[AnswerCheck]):
    """The faithfulness of an answer. Partial support counts as not supported."""

    faithfulness = serializers.FloatField(help_text="supported claims / all claims; 1 without claims")
    risk = serializers.ChoiceField(choices=["none", "low", "medium", "high"])
    supported = serializers.IntegerField()
    unsupported = serializers.IntegerField()
    critical = serializers.IntegerField(help_text="critical claims that are not supported")
    claims = ClaimSerializer(many=True)
    memories = BasisSerializer(source="bases", many=True)
    judge = serializers.CharField(help_text="name of the judge")


class FaithfulnessView(NamespacedView):
    """Faithfulness check."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="faithfulness",
        request=FaithfulnessSerializer,
        responses=FaithfulnessResultSerializer,
        tags=["retrieval"],
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Check which claims of an answer its memories support, and the risk of the others; nothing is stored.

        The answer and the memories are data to the judge, never instructions.
        """
        return Response(
            FaithfulnessResultSerializer(
                check_faithfulness_from_body(self.namespace, FaithfulnessSerializer.from_request(request))
            ).data
        )


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
