"""The paper's dedup errors by threshold, next to the same errors on this namespace's judged pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memories.models import Namespace, ReviewItem
from memories.models.choices import Verdict
from scoring.calibration import DedupErrors, dedup_sweep
from scoring.catalogue.recall_calibration import DEDUP_TABLE
from scoring.term import Array

MAX_PAIRS = 5_000  # newest judged pairs used
PAPER_ERRORS = {float(threshold): (wrong, missed, float(total)) for threshold, wrong, missed, total in DEDUP_TABLE}


@dataclass(frozen=True)
class JudgedPairs:
    """Judged pairs: their cosine, and whether they are duplicates."""

    cosines: Array
    same: NDArray[np.bool_]

    @property
    def duplicates(self) -> int:
        """Pairs judged duplicates."""
        return int(self.same.sum())

    @property
    def others(self) -> int:
        """Pairs judged distinct, including merges that were split."""
        return len(self.same) - self.duplicates

    def __len__(self) -> int:
        return len(self.same)

    def covers(self, threshold: float, minimum: int) -> bool:
        """Whether enough pairs on both sides of a threshold were judged to compare it with others."""
        above = int((self.cosines > threshold).sum())
        return min(above, len(self) - above) >= minimum


@dataclass(frozen=True)
class ThresholdRow:
    """One threshold: the errors the paper reports, if any, and the errors here."""

    threshold: float
    printed: tuple[float, float, float] | None  # percent: false merges, missed duplicates, total
    errors: DedupErrors
    judged: JudgedPairs
    current: bool

    @property
    def false_merges(self) -> int:
        """Distinct pairs it would merge."""
        return int((self.judged.cosines[~self.judged.same] > self.threshold).sum())

    @property
    def missed_duplicates(self) -> int:
        """Duplicate pairs it would not merge."""
        return int((self.judged.cosines[self.judged.same] <= self.threshold).sum())

    @property
    def total(self) -> float:
        """Both error rates together, in percent."""
        return 100 * self.errors.total

    @property
    def percent(self) -> tuple[float | None, float | None]:
        """Both error rates here, in percent; None if there are no such pairs."""
        false_merges = 100 * self.errors.false_positives if self.judged.others else None
        return false_merges, 100 * self.errors.false_negatives if self.judged.duplicates else None

    @property
    def complete(self) -> bool:
        """Whether both error rates are known."""
        return bool(self.judged.others and self.judged.duplicates)

    @property
    def cost(self) -> float:
        """Both error rates in percent, false merges weighted by their cost."""
        return 100 * self.errors.cost


def load_judged_pairs(namespace: Namespace) -> JudgedPairs:
    """The decided pairs; a merge that was split again counts as distinct."""
    decided = ReviewItem.objects.within(namespace).filter(state__in=set(Verdict) - {Verdict.PENDING})
    rows = list(decided.order_by("-created_at", "id").values_list("cosine", "state")[:MAX_PAIRS])
    return JudgedPairs(
        np.array([cosine for cosine, _ in rows], dtype=float),
        np.array([state == Verdict.DUPLICATE for _, state in rows], dtype=bool),
    )


def threshold_table(pairs: JudgedPairs, current: float, *, merge_cost: float) -> list[ThresholdRow]:
    """The paper's thresholds and the current one."""
    thresholds = sorted({*PAPER_ERRORS, current})
    errors = dedup_sweep(pairs.cosines, pairs.same.astype(float), thresholds, merge_cost=merge_cost)
    return [
        ThresholdRow(row.threshold, PAPER_ERRORS.get(row.threshold), row, pairs, row.threshold == current)
        for row in errors
    ]
