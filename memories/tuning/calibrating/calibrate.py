"""A calibration from its annotations to what should change."""

from dataclasses import dataclass

from django.db.models import Avg, Case, Value, When

from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, MemoryType, Status
from memories.tuning.calibrating.agreement import Kappa, TypeAgreement, by_type, kappa_over
from memories.tuning.calibrating.ground import Ground, ground
from memories.tuning.calibrating.weights import Reliability, Weights, fitted, reliable
from memories.tuning.judged_pairs import Judged, Row, judged, table
from memories.writing.policy import policy_of
from scoring.calibration import valid
from scoring.policy import WritePolicy

NEWEST = 5_000  # memories among which direct statements are counted


@dataclass(frozen=True)
class Calibration:
    """All that annotations and judged pairs say of the constants."""

    policy: WritePolicy  # that serves, with the cost that was asked about
    ground: Ground
    kappa: Kappa | None  # over all types
    kappa_right: Kappa | None  # over right and wrong
    types: list[TypeAgreement]
    weights: Weights | None
    reliability: Reliability
    pairs: Judged
    table: list[Row]
    direct: float | None  # share of direct statements; none without a memory

    @property
    def valid(self) -> bool:
        """Whether annotators agree well enough for any of it to mean something."""
        return self.kappa is not None and valid(self.kappa.value, self.policy.kappa_gate)

    @property
    def missing(self) -> int:
        """How many more memories two annotators must share before agreement is told."""
        return max(self.policy.annotated_by_two - len(self.ground.shared), 0)

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
    def best(self) -> Row | None:
        """The paper's threshold that costs least; among equals the one that serves, else the one that merges least.

        None where too few pairs were judged on either side of the one that serves: most come from the band between
        the two thresholds, and of what lies beyond they say nothing.
        """
        least = self.policy.annotated_each
        covered = [row for row in self.table if self.pairs.covers(row.threshold, least)]
        if min(self.pairs.duplicates, self.pairs.others) < least or not any(row.current for row in covered):
            return None
        return min(covered, key=lambda row: (row.ours.cost, not row.current, -row.threshold))


def calibrate(namespace: Namespace, *, merge_cost: float | None = None) -> Calibration:
    """Ask who agrees, fit what can be fitted, and sweep the thresholds; nothing is written."""
    policy = policy_of(namespace)
    if merge_cost is not None:
        policy = policy.but(merge_cost=merge_cost)
    told, pairs = ground(namespace), judged(namespace)
    enough = len(told.shared) >= policy.annotated_by_two
    weights = fitted(told, policy)
    return Calibration(
        policy,
        told,
        kappa_over(told, lambda word: word.type) if enough else None,
        kappa_over(told, lambda word: word.right) if enough else None,
        by_type(told, policy),
        weights,
        reliable(told, weights, policy),
        pairs,
        table(pairs, policy.dedup_duplicate, merge_cost=policy.merge_cost),
        direct_share(namespace, policy),
    )


def direct_share(namespace: Namespace, policy: WritePolicy) -> float | None:
    """How much of what was remembered lately was said directly."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    direct = Case(When(source_strength__gte=policy.source_direct, then=Value(1.0)), default=Value(0.0))
    newest = active.order_by("-created_at", "id").annotate(direct=direct)[:NEWEST]
    share: float | None = newest.aggregate(share=Avg("direct"))["share"]
    return share
