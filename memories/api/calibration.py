"""Calibration over REST: annotator agreement, fitted values and suggested changes."""

from dataclasses import asdict
from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.models.choices import MemoryType, Role
from memories.tuning.calibration import findings
from memories.tuning.calibration.results import Calibration, calibrate
from memories.web.fields import Float
from memories.web.serializers import QueryString
from scoring.params import Number
from scoring.policy import WritePolicyParams

MERGE_COST = cast(Number, WritePolicyParams.declarations()["merge_cost"])


class CalibrationQuery(QueryString):
    """Calibration options."""

    merge_cost = Float(
        in_query=True,
        min_value=MERGE_COST.low,
        max_value=MERGE_COST.high,
        required=False,
        help_text=f"{MERGE_COST.affects}; default: the value of the write policy",
    )


class KappaSerializer(serializers.Serializer[Any]):
    """Cohen's κ with its 95 % confidence interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    pairs = serializers.IntegerField(help_text="annotator pairs with memories in common")
    undefined = serializers.IntegerField(
        help_text="of them, pairs with constant answers, for which κ is undefined; they are left out"
    )


class TypeAgreementSerializer(serializers.Serializer[Any]):
    """One type against all others."""

    type = serializers.ChoiceField(choices=MemoryType.choices)
    kappa = KappaSerializer(allow_null=True, help_text="null: too few memories with two annotators, or κ is undefined")
    valid = serializers.BooleanField(help_text="whether κ is above the threshold `gate`")
    stored = serializers.IntegerField(help_text="annotated memories stored as this type")
    agreed = serializers.IntegerField(help_text="of them, memories that every annotator assigns this type")
    prior = serializers.FloatField(help_text="the prior currently in use")
    fitted = serializers.FloatField(
        allow_null=True, help_text="fitted prior: agreement rate through the logistic; offered if valid"
    )


class BeforeAfterSerializer(serializers.Serializer[Any]):
    """A value before and after."""

    before = serializers.FloatField()
    after = serializers.FloatField()


class WeightsSerializer(serializers.Serializer[Any]):
    """The weights of the confidence formula; errors are mean squared errors."""

    served = serializers.DictField(child=serializers.FloatField())
    fitted = serializers.DictField(child=serializers.FloatField())
    memories = serializers.IntegerField(help_text="number of memories fitted on")
    error = BeforeAfterSerializer()
    held_out = serializers.IntegerField(help_text="number of held-out memories")
    held_out_error = BeforeAfterSerializer()


class BinSerializer(serializers.Serializer[Any]):
    """One confidence bin of the reliability diagram."""

    low = serializers.FloatField()
    high = serializers.FloatField()
    memories = serializers.IntegerField()
    confidence = serializers.FloatField(help_text="mean confidence")
    right = serializers.FloatField(help_text="share that is true")


class ReliabilitySerializer(serializers.Serializer[Any]):
    """Reliability diagram: confidence against accuracy; the error is the expected calibration error (ECE)."""

    memories = serializers.IntegerField()
    held_out = serializers.BooleanField(help_text="whether the bins hold only memories held out from the fit")
    before = BinSerializer(many=True)
    after = BinSerializer(many=True)
    error = BeforeAfterSerializer(allow_null=True)


class ThresholdSerializer(serializers.Serializer[Any]):
    """The errors of merging judged pairs above a threshold, as rates."""

    threshold = serializers.FloatField()
    false_positives = serializers.FloatField()
    false_negatives = serializers.FloatField()
    total = serializers.FloatField()
    cost = serializers.FloatField(help_text="total with false merges weighted by `merge_cost`")


class FindingSerializer(serializers.Serializer[Any]):
    """A recommendation, its reason, and the write parameters it changes."""

    what = serializers.CharField()
    because = serializers.CharField()
    change = serializers.DictField(child=serializers.FloatField())


class DomainCalibrationSerializer(serializers.Serializer[Any]):
    """One domain: agreement, and the weights fitted to its annotations alone."""

    domain = serializers.CharField()
    memories = serializers.IntegerField(help_text="number of annotated memories")
    shared = serializers.IntegerField(help_text="memories with two or more annotators")
    kappa = KappaSerializer(allow_null=True, help_text="over all types; null: too few memories, or κ is undefined")
    weights = WeightsSerializer(allow_null=True, help_text="null: too few memories")
    too_small = serializers.CharField(allow_blank=True, help_text="what the split lacks; empty: nothing")


class CalibrationSerializer(serializers.Serializer[Any]):
    """What annotations and judged pairs imply for the constants."""

    annotators = serializers.ListField(child=serializers.CharField())
    memories = serializers.IntegerField(help_text="number of annotated memories")
    shared = serializers.IntegerField(help_text="memories with two or more annotators")
    needed = serializers.IntegerField(help_text="minimum of shared memories for an agreement")
    valid = serializers.BooleanField(help_text="whether κ over all types is above the threshold `gate`")
    gate = serializers.FloatField()
    kappa = KappaSerializer(allow_null=True, help_text="over all types")
    kappa_right = KappaSerializer(allow_null=True, help_text="over right and wrong")
    types = TypeAgreementSerializer(many=True)
    weights = WeightsSerializer(allow_null=True)
    domains = DomainCalibrationSerializer(many=True, help_text="by domain, the most annotated first")
    reliability = ReliabilitySerializer()
    judged_pairs = serializers.IntegerField()
    merge_cost = serializers.FloatField()
    thresholds = ThresholdSerializer(many=True)
    direct_share = serializers.FloatField(allow_null=True, help_text="direct statements among the newest memories")
    findings = FindingSerializer(many=True)
    offers = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="write parameters that can be saved as a policy version, by the finding that changes them",
    )


class CalibrationView(NamespacedView):
    """Calibration of a namespace from its annotations."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="calibration",
        parameters=[CalibrationQuery],
        responses=CalibrationSerializer,
        tags=["calibration"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """Calibrate on the current annotations: agreement, weights, priors, thresholds, reliability, findings."""
        query = CalibrationQuery.from_request(request)
        return Response(calibration_to_dict(calibrate(self.namespace, merge_cost=query.get("merge_cost"))))


def calibration_to_dict(calibration: Calibration) -> dict[str, Any]:
    """A calibration as JSON."""
    return {
        "annotators": calibration.annotated.annotators,
        "memories": len(calibration.annotated.memories),
        "shared": len(calibration.annotated.shared),
        "needed": calibration.policy.annotated_by_two,
        "valid": calibration.valid,
        "gate": calibration.policy.kappa_gate,
        "kappa": calibration.kappa and calibration.kappa._asdict(),
        "kappa_right": calibration.kappa_right and calibration.kappa_right._asdict(),
        "types": TypeAgreementSerializer(calibration.types, many=True).data,
        "weights": calibration.weights and asdict(calibration.weights),
        "domains": DomainCalibrationSerializer(calibration.domains, many=True).data,
        "reliability": ReliabilitySerializer(calibration.reliability).data,
        "judged_pairs": len(calibration.pairs),
        "merge_cost": calibration.policy.merge_cost,
        "thresholds": [row.errors._asdict() for row in calibration.table],
        "direct_share": calibration.direct_share,
        "findings": [finding._asdict() for finding in findings.calibration_findings(calibration)],
        "offers": findings.proposed_changes(calibration),
    }
