"""The paper's table of errors by threshold, beside the same computed on the pairs that were judged here."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memories.models import Namespace, ReviewItem
from memories.models.choices import Verdict
from scoring.calibration import DedupErrors, dedup_sweep
from scoring.catalogue.recall_calibration import DEDUP_TABLE
from scoring.term import Array

MOST = 5_000  # judged pairs that count, the newest
PRINTED = {float(threshold): (wrong, missed, float(total)) for threshold, wrong, missed, total in DEDUP_TABLE}


@dataclass(frozen=True)
class Judged:
    """What people decided of pairs: how near they were, and whether they are one."""

    cosines: Array
    same: NDArray[np.bool_]

    @property
    def duplicates(self) -> int:
        """How many were found to be one."""
        return int(self.same.sum())

    @property
    def others(self) -> int:
        """How many were found to be two, merges that were split among them."""
        return len(self.same) - self.duplicates

    def __len__(self) -> int:
        return len(self.same)

    def covers(self, threshold: float, least: int) -> bool:
        """Whether enough pairs on either side of a threshold were judged for it to be weighed against others."""
        above = int((self.cosines > threshold).sum())
        return min(above, len(self) - above) >= least


@dataclass(frozen=True)
class Row:
    """One threshold: what the paper reports of it, if anything, and what it would have done here."""

    threshold: float
    printed: tuple[float, float, float] | None  # in percent: false merges, missed ones, both
    ours: DedupErrors
    judged: Judged
    current: bool

    @property
    def wrong(self) -> int:
        """Pairs that would have been merged and are two."""
        return int((self.judged.cosines[~self.judged.same] > self.threshold).sum())

    @property
    def missed(self) -> int:
        """Pairs that would not have been merged and are one."""
        return int((self.judged.cosines[self.judged.same] <= self.threshold).sum())

    @property
    def total(self) -> float:
        """Both rates together, in percent."""
        return 100 * self.ours.total

    @property
    def percent(self) -> tuple[float | None, float | None]:
        """Both rates here; none where there is nothing to err about."""
        wrong = 100 * self.ours.false_positives if self.judged.others else None
        return wrong, 100 * self.ours.false_negatives if self.judged.duplicates else None

    @property
    def cost(self) -> float:
        """Both rates, a false merge counted as often as it costs, in percent."""
        return 100 * self.ours.cost


def judged(namespace: Namespace) -> Judged:
    """The pairs that were decided, a merge that was split again as two."""
    decided = ReviewItem.objects.within(namespace).filter(state__in=set(Verdict) - {Verdict.PENDING})
    rows = list(decided.order_by("-created_at", "id").values_list("cosine", "state")[:MOST])
    return Judged(
        np.array([cosine for cosine, _ in rows], dtype=float),
        np.array([state == Verdict.DUPLICATE for _, state in rows], dtype=bool),
    )


def table(pairs: Judged, current: float, *, merge_cost: float) -> list[Row]:
    """The paper's thresholds and the one that is chosen now."""
    thresholds = sorted({*PRINTED, current})
    errors = dedup_sweep(pairs.cosines, pairs.same.astype(float), thresholds, merge_cost=merge_cost)
    return [Row(one.threshold, PRINTED.get(one.threshold), one, pairs, one.threshold == current) for one in errors]
