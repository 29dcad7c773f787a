"""A calibration: agreement, fitted weights and priors, and thresholds."""

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

MAX_DOMAINS = 10  # the most annotated
MAX_MEMORIES = 5_000  # newest memories whose source level is counted


@dataclass(frozen=True)
class DomainCalibration:
    """What the annotations of one domain say: agreement, and the weights fitted to them alone."""

    domain: str
    memories: int
    shared: int  # memories that at least two annotated
    kappa: Kappa | None  # over all types
    weights: FittedWeights | None
    needed: int  # memories, for the weights as for κ

    @property
    def too_small(self) -> str:
        """What the split lacks; empty if nothing."""
        lacking = [
            f"{self.needed - count} more {what}"
            for count, what in ((self.shared, "with two annotators for κ"), (self.memories, "annotated for weights"))
            if count < self.needed
        ]
        return f"too small: needs {' and '.join(lacking)}" if lacking else ""


@dataclass(frozen=True)
class Calibration:
    """What annotations and judged pairs say about the write parameters."""

    policy: WritePolicyParams  # the serving one, with the requested merge cost
    annotated: AnnotatedSet
    kappa: Kappa | None  # over all types
    kappa_right: Kappa | None  # over right and wrong
    types: list[TypeAgreement]
    weights: FittedWeights | None
    reliability: Reliability
    pairs: JudgedPairs
    table: list[ThresholdRow]
    direct_share: float | None  # None without memories
    domains: list[DomainCalibration]

    @property
    def valid(self) -> bool:
        """Whether kappa passes the gate."""
        return self.kappa is not None and kappa_suffices(self.kappa.value, self.policy.kappa_gate)

    @property
    def missing(self) -> int:
        """How many more memories two annotators must share before agreement is reported."""
        return max(self.policy.annotated_by_two - len(self.annotated.shared), 0)

    @property
    def preference(self) -> TypeAgreement:
        """Agreement on preferences, whose prior is calibrated first."""
        return next(agreement for agreement in self.types if agreement.type == MemoryType.PREFERENCE)

    @property
    def preference_first(self) -> bool:
        """Whether agreement on preferences is so low that their prior must be changed first."""
        kappa = self.preference.kappa
        return kappa is not None and kappa.value < self.policy.kappa_preference

    @property
    def best(self) -> ThresholdRow | None:
        """The paper's threshold with the lowest cost; among equals the serving one, else the highest.

        None if too few pairs were judged on either side of the serving one: most come from the band between the two
        thresholds and say nothing about what lies beyond.
        """
        minimum = self.policy.annotated_each
        covered = [row for row in self.table if self.pairs.covers(row.threshold, minimum)]
        if min(self.pairs.duplicates, self.pairs.others) < minimum or not any(row.current for row in covered):
            return None
        return min(covered, key=lambda row: (row.errors.cost, not row.current, -row.threshold))


def calibrate(namespace: Namespace, *, merge_cost: float | None = None) -> Calibration:
    """Measure agreement, fit weights and priors, and sweep the thresholds; nothing is stored."""
    policy = current_write_policy(namespace)
    if merge_cost is not None:
        policy = policy.with_values(merge_cost=merge_cost)
    annotated, pairs = load_annotated_set(namespace), load_judged_pairs(namespace)
    enough = len(annotated.shared) >= policy.annotated_by_two
    weights = fit_confidence_weights(annotated, policy)
    return Calibration(
        policy,
        annotated,
        mean_kappa(annotated, lambda label: label.type) if enough else None,
        mean_kappa(annotated, lambda label: label.right) if enough else None,
        agreement_by_type(annotated, policy),
        weights,
        reliability_report(annotated, weights, policy),
        pairs,
        threshold_table(pairs, policy.dedup_duplicate, merge_cost=policy.merge_cost),
        direct_share(namespace, policy),
        [calibrate_domain(annotated, domain, policy) for domain in annotated.domains[:MAX_DOMAINS]],
    )


def calibrate_domain(annotated: AnnotatedSet, domain: str, policy: WritePolicyParams) -> DomainCalibration:
    """Agreement and weights of one domain."""
    split = annotated.of_domain(domain)
    enough = len(split.shared) >= policy.annotated_by_two
    kappa = mean_kappa(split, lambda label: label.type) if enough else None
    return DomainCalibration(
        domain,
        len(split.memories),
        len(split.shared),
        kappa,
        fit_confidence_weights(split, policy),
        policy.annotated_by_two,
    )


def direct_share(namespace: Namespace, policy: WritePolicyParams) -> float | None:
    """The share of direct statements among the newest memories."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    direct = Case(When(source_strength__gte=policy.source_direct, then=Value(1.0)), default=Value(0.0))
    newest = active.order_by("-created_at", "id").annotate(direct=direct)[:MAX_MEMORIES]
    share: float | None = newest.aggregate(share=Avg("direct"))["share"]
    return share
