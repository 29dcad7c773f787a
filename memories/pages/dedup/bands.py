"""How many pairs fall in each band under two thresholds, and what would become of them."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memories.pages.dedup.survey import Pair
from scoring.dedup import Band, similarity_band
from scoring.policy import WritePolicyParams

# What becomes of the pairs of a band, the nearest band first.
FATES: Mapping[Band, str] = {
    "duplicate": "would be merged",
    "escalate": "would be judged",
    "distinct": "stay two",
}


@dataclass(frozen=True)
class Tally:
    """The pairs of one band, and how many it had under the policy that serves."""

    band: Band
    pairs: int
    apart: int  # of them, those that are kept apart whatever their cosine
    before: int  # that would have met the band's fate

    @property
    def fate(self) -> str:
        """What becomes of them."""
        return FATES[self.band]

    @property
    def met(self) -> int:
        """How many meet their band's fate."""
        return self.pairs - self.apart

    @property
    def change(self) -> int:
        """How many more meet it than under the policy that serves."""
        return self.met - self.before


def place(pair: Pair, policy: WritePolicyParams) -> Band:
    """The band of a pair."""
    return similarity_band(pair.near.cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)


def sorted_out(pairs: Sequence[Pair], policy: WritePolicyParams) -> dict[Band, Sequence[Pair]]:
    """The pairs of each band, of pairs that are sorted already, nearest first."""
    order = list(FATES)
    starts = [bisect_left(pairs, rank, key=lambda pair: order.index(place(pair, policy))) for rank in range(len(order))]
    return {name: pairs[start:end] for name, (start, end) in zip(order, pairwise([*starts, len(pairs)]), strict=True)}


def tallies(now: Mapping[Band, Sequence[Pair]], before: Mapping[Band, Sequence[Pair]]) -> list[Tally]:
    """Each band counted, against how it was."""
    return [Tally(name, len(some), apart(some), len(before[name]) - apart(before[name])) for name, some in now.items()]


def apart(pairs: Sequence[Pair]) -> int:
    """How many pairs are kept apart."""
    return sum(bool(pair.reasons) for pair in pairs)
