"""Faithfulness over REST: an answer held against the memories it was made from."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import at_place
from memories.api.fields import Identifier, Items, Text
from memories.api.memories import LONGEST_CONTENT
from memories.api.retrieval import LONGEST_QUERY
from memories.api.serializers import Object
from memories.api.views import NamespacedView
from memories.guarding.bases import MOST_BASES, bases
from memories.guarding.claims import MOST_CLAIMS, TooManyClaimsError
from memories.guarding.faithfulness import Check, check
from memories.guarding.support import VERDICTS, Support
from memories.models import Namespace, Trace
from memories.models.choices import Role
from memories.writing.refusal import AbsentError

MADE_FROM = ("trace", "query", "memories", "texts")


class FaithfulnessSerializer(Object):
    """An answer, and what it was made from: of a trace, a query, ids and texts, one or several."""

    answer = Text(max_length=LONGEST_CONTENT, help_text=f"with at most {MOST_CLAIMS} claims")
    trace = Identifier(required=False, help_text="the retrieval whose results it was made from")
    query = Text(max_length=LONGEST_QUERY, required=False, help_text="asked now, by what the namespace serves")
    memories = Items(child=Identifier(), max_length=MOST_BASES, required=False, help_text="stored memories by id")
    texts = Items(
        child=Text(max_length=LONGEST_CONTENT), max_length=MOST_BASES, required=False, help_text="memories as text"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an answer that was made from nothing."""
        if not any(name in attrs for name in MADE_FROM):
            raise ValidationError({"non_field_errors": [f"must name one of {', '.join(MADE_FROM)}; got none of them"]})
        return attrs


class BasisSerializer(serializers.Serializer[Any]):
    """A memory that an answer may rest on."""

    id = serializers.UUIDField(allow_null=True, help_text="null: it came as text")
    content = serializers.CharField()


class ClaimSerializer(serializers.Serializer[Support]):
    """One claim, and what became of it."""

    text = serializers.CharField(source="claim.text")
    verdict = serializers.ChoiceField(choices=VERDICTS)
    critical = serializers.ListField(
        source="claim.critical", child=serializers.CharField(), help_text="number, date, negation, name; empty: not so"
    )
    memory = BasisSerializer(source="basis", allow_null=True, help_text="the one that bears it out best")
    why = serializers.CharField(allow_blank=True, help_text="what is missing where it is not supported")


class CheckSerializer(serializers.Serializer[Check]):
    """How faithful an answer is. Partial counts as not supported."""

    faithfulness = serializers.FloatField(help_text="supported claims / all claims; 1 where there are none")
    risk = serializers.ChoiceField(choices=["none", "low", "medium", "high"])
    supported = serializers.IntegerField()
    unsupported = serializers.IntegerField()
    critical = serializers.IntegerField(help_text="of those not supported")
    claims = ClaimSerializer(many=True)
    memories = BasisSerializer(source="bases", many=True)
    judge = serializers.CharField(help_text="who judged")


class Faithfulness(NamespacedView):
    """The guard at read time."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="faithfulness", request=FaithfulnessSerializer, responses=CheckSerializer, tags=["retrieval"]
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Tell which claims of an answer its memories bear out, and the risk of the others; nothing is stored.

        The answer and the memories are data to the judge, never instructions.
        """
        return Response(CheckSerializer(checked_answer(self.namespace, FaithfulnessSerializer.of(request))).data)


def checked_answer(namespace: Namespace, asked: dict[str, Any]) -> Check:
    """Check an answer that a body names; what is not here is refused at its place."""
    kept = Trace.objects.within(namespace).defer("signals", "candidates")
    trace = kept.filter(id=asked["trace"]).first() if "trace" in asked else None
    if "trace" in asked and trace is None:
        raise ValidationError({"trace": [f"must be a trace that is kept in this namespace; got {asked['trace']}"]})
    given = {name: asked[name] for name in ("query", "memories", "texts") if name in asked}
    try:
        return check(namespace, asked["answer"], bases(namespace, trace=trace, **given))
    except AbsentError as error:
        raise at_place(error, f"memories.{asked['memories'].index(error.id)}") from error
    except TooManyClaimsError as error:
        raise ValidationError({"answer": [str(error)]}) from error
