"""A calibration from its annotations to what should change."""

from dataclasses import dataclass

from django.db.models import Avg, Case, Value, When

from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, MemoryType, Status
from memories.tuning.calibration.agreement import Kappa, TypeAgreement, agreement_by_type, mean_kappa
from memories.tuning.calibration.annotated import AnnotatedSet, load_annotated_set
from memories.tuning.calibration.confidence_weights import (
    FittedWeights,
    Reliability,
    fit_confidence_weights,
    reliability_report,
)
from memories.tuning.judged_pairs import JudgedPairs, ThresholdRow, load_judged_pairs, threshold_table
from memories.writing.write_policy import current_write_policy
from scoring.calibration import kappa_suffices
from scoring.policy import WritePolicyParams

MAX_MEMORIES = 5_000  # memories among which direct statements are counted


@dataclass(frozen=True)
class Calibration:
    """All that annotations and judged pairs say of the constants."""

    policy: WritePolicyParams  # that serves, with the cost that was asked about
    annotated: AnnotatedSet
    kappa: Kappa | None  # over all types
    kappa_right: Kappa | None  # over right and wrong
    types: list[TypeAgreement]
    weights: FittedWeights | None
    reliability: Reliability
    pairs: JudgedPairs
    table: list[ThresholdRow]
    direct_share: float | None  # share of direct statements; none without a memory

    @property
    def valid(self) -> bool:
        """Whether annotators agree well enough for any of it to mean something."""
        return self.kappa is not None and kappa_suffices(self.kappa.value, self.policy.kappa_gate)

    @property
    def missing(self) -> int:
        """How many more memories two annotators must share before agreement is told."""
        return max(self.policy.annotated_by_two - len(self.annotated.shared), 0)

    @property
    def preference(self) -> TypeAgreement:
        """The type whose prior comes first."""
        return next(one for one in self.types if one.type == MemoryType.PREFERENCE)

    @property
    def preference_first(self) -> bool:
        """Whether annotators agree too little on preferences to change anything else before their prior."""
        kappa = self.preference.kappa
        return kappa is not None and kappa.value < self.policy.kappa_preference

    @property
    def best(self) -> ThresholdRow | None:
        """The paper's threshold that costs least; among equals the one that serves, else the one that merges least.

        None where too few pairs were judged on either side of the one that serves: most come from the band between
        the two thresholds, and of what lies beyond they say nothing.
        """
        least = self.policy.annotated_each
        covered = [row for row in self.table if self.pairs.covers(row.threshold, least)]
        if min(self.pairs.duplicates, self.pairs.others) < least or not any(row.current for row in covered):
            return None
        return min(covered, key=lambda row: (row.errors.cost, not row.current, -row.threshold))


def calibrate(namespace: Namespace, *, merge_cost: float | None = None) -> Calibration:
    """Ask who agrees, fit what can be fitted, and sweep the thresholds; nothing is written."""
    policy = current_write_policy(namespace)
    if merge_cost is not None:
        policy = policy.with_values(merge_cost=merge_cost)
    told, pairs = load_annotated_set(namespace), load_judged_pairs(namespace)
    enough = len(told.shared) >= policy.annotated_by_two
    weights = fit_confidence_weights(told, policy)
    return Calibration(
        policy,
        told,
        mean_kappa(told, lambda word: word.type) if enough else None,
        mean_kappa(told, lambda word: word.right) if enough else None,
        agreement_by_type(told, policy),
        weights,
        reliability_report(told, weights, policy),
        pairs,
        threshold_table(pairs, policy.dedup_duplicate, merge_cost=policy.merge_cost),
        direct_share(namespace, policy),
    )


def direct_share(namespace: Namespace, policy: WritePolicyParams) -> float | None:
    """How much of what was remembered lately was said directly."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    direct = Case(When(source_strength__gte=policy.source_direct, then=Value(1.0)), default=Value(0.0))
    newest = active.order_by("-created_at", "id").annotate(direct=direct)[:MAX_MEMORIES]
    share: float | None = newest.aggregate(share=Avg("direct"))["share"]
    return share
