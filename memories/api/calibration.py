"""A calibration over REST: who agrees, what was fitted, and what should change."""

from dataclasses import asdict
from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Real
from memories.api.serializers import Query
from memories.api.views import NamespacedView
from memories.models.choices import MemoryType, Role
from memories.tuning.calibrating import findings
from memories.tuning.calibrating.calibrate import Calibration, calibrate
from scoring.params import Number
from scoring.policy import WritePolicy

COST = cast(Number, WritePolicy.declared()["merge_cost"])


class CalibrationQuery(Query):
    """What to reckon with."""

    merge_cost = Real(
        in_query=True,
        min_value=COST.low,
        max_value=COST.high,
        required=False,
        help_text=f"{COST.affects}; without it, what the write policy says",
    )


class KappaSerializer(serializers.Serializer[Any]):
    """Cohen's κ and the interval in which it lies with 95 %."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    pairs = serializers.IntegerField(help_text="of annotators who share memories")
    undefined = serializers.IntegerField(
        help_text="of them, those who give one answer throughout; they count no further"
    )


class TypeAgreementSerializer(serializers.Serializer[Any]):
    """One type against all others."""

    type = serializers.ChoiceField(choices=MemoryType.choices)
    kappa = KappaSerializer(
        allow_null=True, help_text="null where too few are annotated by two, or nobody tells it from others"
    )
    valid = serializers.BooleanField(help_text="whether κ is above the gate")
    stored = serializers.IntegerField(help_text="annotated memories stored as this type")
    agreed = serializers.IntegerField(help_text="of them, those that every annotator calls so too")
    prior = serializers.FloatField(help_text="that serves")
    fitted = serializers.FloatField(
        allow_null=True, help_text="the share of agreement, through the logistic; offered where valid"
    )


class BeforeAfterSerializer(serializers.Serializer[Any]):
    """A number before and after."""

    before = serializers.FloatField()
    after = serializers.FloatField()


class WeightsSerializer(serializers.Serializer[Any]):
    """The weights of the confidence formula; errors are mean squares."""

    served = serializers.DictField(child=serializers.FloatField())
    fitted = serializers.DictField(child=serializers.FloatField())
    memories = serializers.IntegerField(help_text="that were fitted on")
    error = BeforeAfterSerializer()
    held_out = serializers.IntegerField(help_text="memories that were kept back")
    held_out_error = BeforeAfterSerializer()


class BinSerializer(serializers.Serializer[Any]):
    """Memories of about one confidence."""

    low = serializers.FloatField()
    high = serializers.FloatField()
    memories = serializers.IntegerField()
    confidence = serializers.FloatField(help_text="mean")
    right = serializers.FloatField(help_text="share")


class ReliabilitySerializer(serializers.Serializer[Any]):
    """Confidence against truth; the error is the expected calibration error."""

    memories = serializers.IntegerField()
    held_out = serializers.BooleanField(help_text="whether only memories that were kept back from the fit are told of")
    before = BinSerializer(many=True)
    after = BinSerializer(many=True)
    error = BeforeAfterSerializer(allow_null=True)


class ThresholdSerializer(serializers.Serializer[Any]):
    """What merging above a threshold would have done to judged pairs; rates as shares."""

    threshold = serializers.FloatField()
    false_positives = serializers.FloatField()
    false_negatives = serializers.FloatField()
    total = serializers.FloatField()
    cost = serializers.FloatField(help_text="the false merges counted as often as they cost")


class FindingSerializer(serializers.Serializer[Any]):
    """Something to do, why, and the write parameters it changes."""

    what = serializers.CharField()
    because = serializers.CharField()
    change = serializers.DictField(child=serializers.FloatField())


class CalibrationSerializer(serializers.Serializer[Any]):
    """All that annotations and judged pairs say of the constants."""

    annotators = serializers.ListField(child=serializers.CharField())
    memories = serializers.IntegerField(help_text="annotated ones")
    shared = serializers.IntegerField(help_text="annotated by two or more")
    needed = serializers.IntegerField(help_text="so many must be shared before agreement is told")
    valid = serializers.BooleanField(help_text="whether κ over all types is above the gate")
    gate = serializers.FloatField()
    kappa = KappaSerializer(allow_null=True, help_text="over all types")
    kappa_right = KappaSerializer(allow_null=True, help_text="over right and wrong")
    types = TypeAgreementSerializer(many=True)
    weights = WeightsSerializer(allow_null=True)
    reliability = ReliabilitySerializer()
    judged_pairs = serializers.IntegerField()
    merge_cost = serializers.FloatField()
    thresholds = ThresholdSerializer(many=True)
    direct_share = serializers.FloatField(allow_null=True, help_text="of direct statements among the newest memories")
    findings = FindingSerializer(many=True)
    offers = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="write parameters that can be kept as a version of the policy, by the part that changes them",
    )


class CalibrationView(NamespacedView):
    """What a namespace's annotations say of the constants."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="calibration",
        parameters=[CalibrationQuery],
        responses=CalibrationSerializer,
        tags=["calibration"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """Calibrate on the annotations as they are: agreement, weights, priors, thresholds, reliability, findings."""
        query = CalibrationQuery.of(request)
        return Response(told(calibrate(self.namespace, merge_cost=query.get("merge_cost"))))


def told(found: Calibration) -> dict[str, Any]:
    """A calibration as JSON."""
    return {
        "annotators": found.ground.annotators,
        "memories": len(found.ground.memories),
        "shared": len(found.ground.shared),
        "needed": found.policy.annotated_by_two,
        "valid": found.valid,
        "gate": found.policy.kappa_gate,
        "kappa": found.kappa and found.kappa._asdict(),
        "kappa_right": found.kappa_right and found.kappa_right._asdict(),
        "types": TypeAgreementSerializer(found.types, many=True).data,
        "weights": found.weights and asdict(found.weights),
        "reliability": ReliabilitySerializer(found.reliability).data,
        "judged_pairs": len(found.pairs),
        "merge_cost": found.policy.merge_cost,
        "thresholds": [row.ours._asdict() for row in found.table],
        "direct_share": found.direct,
        "findings": [one._asdict() for one in findings.found(found)],
        "offers": findings.offers(found),
    }
