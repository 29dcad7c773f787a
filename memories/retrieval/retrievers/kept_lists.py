"""Lists in which meaning alone tells equals apart, kept with their vectors for as long as nobody writes.

Thousands of memories may speak of whom a query names, lie in the window that it means or at the end of equally good
paths: to read their vectors each time, only to tell which are the nearest, takes longer than all else that the
database is asked about them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.id_arrays import Ids, array_of
from memories.journey import Statement
from memories.retrieval.kept import Kept
from memories.retrieval.limits import in_time
from memories.retrieval.listed import NOTHING, Listed
from memories.retrieval.retrievers.question import EACH_AWAY, Asked, Question, Unready
from memories.retrieval.vectors import numbers_of
from scoring.term import Array, Codes

MOST_KEPT = 96 * 2**20  # bytes, in each process
MOST_READ = 20_000  # memories of a list
SHARE = 4  # no list takes more than so much of the room
LIST_SIZE, ROW_SIZE = 1_000, 24  # bytes that a list takes, and each of its memories beside its vector
ROUNDING = 1e-4  # by which two cosines of single precision may differ
WRITES = "SELECT writes FROM memories_namespacestatistics WHERE namespace_id = %(namespace)s"
# Whether the namespace is as it was when its lists were read, and how far the nearest of them are away.
AS_READ = f"SELECT ({WRITES}) AS writes, ({EACH_AWAY}) AS away"

What = TypeVar("What", bound=Hashable)
Row = tuple[UUID | None, float | None, bytes | None]


class Key(NamedTuple):
    """What a list is kept by."""

    namespace: UUID
    embedder: str
    levels: tuple[str, ...]
    what: Hashable


@dataclass(frozen=True, eq=False)
class KeptList:
    """Some memories, a number that their retriever wants of each, and their vectors; NaN where there is none."""

    ids: Ids
    told: Array
    vectors: NDArray[np.float32]
    whole: bool = True  # where there are too many, none is kept, and nobody tries again

    @classmethod
    def of(cls, rows: Sequence[Row], dimensions: int, *, whole: bool = True) -> "KeptList":
        """As it is stored. A row of nothing says that the list may change although nobody writes."""
        if not whole or any(id is None for id, *_ in rows):
            return cls(array_of(()), np.empty(0), np.empty((0, dimensions), np.float32), whole=False)
        vectors = np.full((len(rows), dimensions), np.nan, np.float32)
        has = np.array([packed is not None for *_, packed in rows], bool)
        vectors[has] = numbers_of([packed for *_, packed in rows if packed is not None], dimensions)
        told = np.array([one for _, one, _ in rows], float)
        return cls(array_of(id for id, *_ in rows if id is not None), told, vectors)

    @property
    def size(self) -> int:
        """In bytes."""
        return LIST_SIZE + self.ids.nbytes + self.told.nbytes + self.vectors.nbytes

    def near(self, asked: Asked) -> Array:
        """How near each is to the query, but for rounding."""
        cosines: Array = np.nan_to_num(self.vectors @ asked.reading.vector.astype(np.float32), nan=-np.inf)
        return cosines


KEPT = Kept[Key, KeptList](MOST_KEPT)
SEEN: dict[UUID, str] = {}  # of which version each namespace was last; what is older is let go once


def lists_for(asked: Asked, wanted: Mapping[What, Statement]) -> dict[What, KeptList] | None:
    """Some lists as they were when the query was read; none where some of it is not kept.

    A list takes long to read: it must be asked for twice, with nothing written in between. Each statement gives at most
    `most` rows of an id, a number and a vector.
    """
    writes = asked.reading.writes
    # Inside a transaction nothing is kept: it may be one that writes, and be taken back.
    if writes is None or not asked.scope.plain or asked.pool != asked.listed:
        return None
    mine = partial(Key, asked.namespace.id, asked.reading.embedder, tuple(asked.scope.values["levels"]))
    version = str(writes)
    kept = {what: KEPT.of(mine(what)) for what in wanted}
    known = {what: one[1] for what, one in kept.items() if one and one[0] == version}
    if missing := {what: statement for what, statement in wanted.items() if what not in known}:
        if SEEN.get(asked.namespace.id) != version:
            SEEN[asked.namespace.id] = version
            KEPT.let_go(lambda key, of: key.namespace == asked.namespace.id and of != version)
        asked_before = [KEPT.again(mine(what), version) for what in missing]
        more = read(asked, missing) if all(asked_before) else None
        if more is None:
            return None
        for what, found in more.items():
            KEPT.keep(mine(what), version, found)
        known |= more
    return known if all(found.whole for found in known.values()) else None


def read(asked: Asked, wanted: Mapping[What, Statement]) -> dict[What, KeptList] | None:
    """Some lists; none where somebody wrote since. What takes too long, or too much room, is not whole."""
    dimensions = len(asked.reading.vector)
    most = min(MOST_READ, MOST_KEPT // SHARE // (4 * dimensions + ROW_SIZE))
    shared = {**asked.scope.values, "embedder": asked.reading.embedder, "pool": asked.pool, "most": most}
    each = (statement._replace(values={**shared, **statement.values}) for statement in wanted.values())
    told = in_time(Statement(WRITES, shared), *each)
    if told is None:
        return {what: KeptList.of((), dimensions, whole=False) for what in wanted}
    if told[0] != [(asked.reading.writes,)]:
        return None
    return {
        what: KeptList.of(rows, dimensions, whole=len(rows) < most) for what, rows in zip(wanted, told[1:], strict=True)
    }


def unready(asked: Asked, best: Callable[[], tuple[Ids, Array, Array]], otherwise: Callable[[], Question]) -> Unready:
    """A list made here, of memories with their scores and how near they are, while the database does something else."""

    def question() -> Question:
        ids, scores, near = best()
        some = places_of_best(scores, near, asked.pool)
        return confirmed(asked, ids[some], scores[some], otherwise)

    return Unready(question)


def confirmed(asked: Asked, ids: Ids, scores: Array, otherwise: Callable[[], Question]) -> Question:
    """The database tells whether all is as it was, and how far they are away: so the list is the database's."""

    def made(told: Sequence[Any]) -> Listed | None:
        writes, away = told
        if writes != asked.reading.writes:
            return None
        if away is None:
            return NOTHING
        order = np.lexsort((ids["tail"], ids["head"], away, -scores))[: asked.pool]
        return Listed(ids[order], scores[order], np.where(np.isinf(away), 0.0, 1 - away)[order])

    return replace(asked.question(AS_READ, some=ids), made=made, otherwise=otherwise)


def places_of_best(scores: Array, near: Array, pool: int) -> Codes:
    """The places of the best, and of whoever is as good as the last of them but for rounding."""
    counts = scores > 0
    if counts.sum() > pool:
        last = np.lexsort((-near, -scores))[pool - 1]
        counts &= (scores > scores[last]) | ((scores == scores[last]) & (near >= near[last] - ROUNDING))
    return np.flatnonzero(counts)
