"""Faithfulness over REST: check the claims of an answer against the memories it is based on."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.guards.answer_check import AnswerCheck
from memories.guards.support import VERDICTS, ClaimSupport
from memories.models.choices import Role
from memories.web.faithfulness_body import FaithfulnessSerializer, check_faithfulness_from_body


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
