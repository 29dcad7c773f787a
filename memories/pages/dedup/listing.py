"""The pairs of a band, page by page, with both texts and their differences."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.pages.dedup.differences import Piece, differences
from memories.pages.dedup.nearest import Near, key
from memories.pages.dedup.survey import Pair
from scoring.params import ParamProblem

AT_ONCE = 10


@dataclass(frozen=True)
class Side:
    """One of two memories, with the words it has to itself."""

    memory: Memory
    pieces: list[Piece]


@dataclass(frozen=True)
class Shown:
    """A pair as the page shows it."""

    cosine: float
    reasons: tuple[str, ...]
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class Listing:
    """Some pairs of a band: how many came before, and after which pair the next ones begin."""

    pairs: list[Shown]
    before: int
    after: str

    @property
    def last(self) -> int:
        """The place of the last one in the band."""
        return self.before + len(self.pairs)


def listed(namespace: Namespace, pairs: Sequence[Pair], after: str) -> tuple[Listing, list[ParamProblem]]:
    """The pairs that come after one, nearest first; a place that is none leads to the beginning, and is told."""
    start, wrong = 0, list[ParamProblem]()
    try:
        start = bisect_right(pairs, key(read(after)), key=lambda pair: key(pair.near)) if after else 0
    except ValueError:
        wrong.append(ParamProblem("after", f"must be a pair from “Next”; got {after!r}"))
    some = pairs[start : start + AT_ONCE]
    ids = {id for pair in some for id in pair.near[:2]}
    rows = {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids, status=Status.ACTIVE)}
    # What was merged, forgotten or erased since a sample was drawn is left out.
    shown = [
        side_by_side(pair, rows[pair.near.first], rows[pair.near.second])
        for pair in some
        if {*pair.near[:2]} <= rows.keys()
    ]
    return Listing(shown, start, spelt(some[-1].near) if start + AT_ONCE < len(pairs) else ""), wrong


def side_by_side(pair: Pair, one: Memory, two: Memory) -> Shown:
    """Two memories with their differences."""
    here, there = differences(one.content, two.content)
    return Shown(pair.near.cosine, pair.reasons, (Side(one, here), Side(two, there)))


def spelt(pair: Near) -> str:
    """A pair as an address names it: a page goes on behind it, whatever was written meanwhile."""
    return f"{pair.cosine}~{pair.first}~{pair.second}"


def read(text: str) -> Near:
    """The pair that an address names (ValueError)."""
    cosine, first, second = text.split("~")
    return Near(UUID(first), UUID(second), float(cosine))
