"""One page of a band's pairs, with both texts and their word diff."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.pages.dedup.neighbour_pairs import NeighbourPair, pair_sort_key
from memories.pages.dedup.pair_survey import SurveyPair
from memories.pages.dedup.word_diff import DiffPiece, word_diff
from scoring.params import ParamProblem

PAGE_SIZE = 10


@dataclass(frozen=True)
class PairSide:
    """One memory of a pair, with its diff."""

    memory: Memory
    pieces: list[DiffPiece]


@dataclass(frozen=True)
class ListedPair:
    """A pair with both sides."""

    cosine: float
    reasons: tuple[str, ...]
    sides: tuple[PairSide, PairSide]


@dataclass(frozen=True)
class PairPage:
    """One page of pairs, the number of pairs before it, and the cursor of the next page."""

    pairs: list[ListedPair]
    before: int
    after: str

    @property
    def first_rank(self) -> int:
        """Rank of the first pair in the band."""
        return self.before + 1

    @property
    def last_rank(self) -> int:
        """Rank of the last pair in the band."""
        return self.before + len(self.pairs)


def list_pairs(namespace: Namespace, pairs: Sequence[SurveyPair], after: str) -> tuple[PairPage, list[ParamProblem]]:
    """The pairs after a cursor, nearest first; an invalid cursor gives the first page and an error."""
    start, problems = 0, list[ParamProblem]()
    try:
        if after:
            start = bisect_right(pairs, pair_sort_key(parse_pair_cursor(after)), key=survey_sort_key)
    except ValueError:
        problems.append(ParamProblem("after", f"must be a pair from “Next”; got {after!r}"))
    page = pairs[start : start + PAGE_SIZE]
    ids = {id for pair in page for id in pair.neighbours[:2]}
    memories = {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids, status=Status.ACTIVE)}
    # A sample may hold memories that were merged or forgotten since.
    listed = [
        listed_pair(pair, memories[pair.neighbours.first], memories[pair.neighbours.second])
        for pair in page
        if {*pair.neighbours[:2]} <= memories.keys()
    ]
    cursor = format_pair_cursor(page[-1].neighbours) if start + PAGE_SIZE < len(pairs) else ""
    return PairPage(listed, start, cursor), problems


def survey_sort_key(pair: SurveyPair) -> tuple[float, UUID, UUID]:
    """The order of surveyed pairs."""
    return pair_sort_key(pair.neighbours)


def listed_pair(pair: SurveyPair, first: Memory, second: Memory) -> ListedPair:
    """Two memories with their diff."""
    first_pieces, second_pieces = word_diff(first.content, second.content)
    return ListedPair(pair.cosine, pair.reasons, (PairSide(first, first_pieces), PairSide(second, second_pieces)))


def format_pair_cursor(pair: NeighbourPair) -> str:
    """A cursor that stays valid across writes."""
    return f"{pair.cosine}~{pair.first}~{pair.second}"


def parse_pair_cursor(text: str) -> NeighbourPair:
    """The pair of a cursor; raises ValueError."""
    cosine, first, second = text.split("~")
    return NeighbourPair(UUID(first), UUID(second), float(cosine))
