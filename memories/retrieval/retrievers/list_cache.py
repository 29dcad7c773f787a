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

from memories.db.id_arrays import Ids, id_array
from memories.db.lru_cache import LRUCache
from memories.db.pipeline import Statement
from memories.retrieval.candidate_vectors import decode_vectors
from memories.retrieval.ranked_list import EMPTY_LIST, RankedList
from memories.retrieval.retrievers.retriever_context import DISTANCES, PendingQuery, RetrieverContext, RetrieverQuery
from memories.retrieval.time_limits import fetch_within_limit
from scoring.term import Array, Codes

CACHE_BYTES = 96 * 2**20  # bytes, in each process
MAX_ROWS = 20_000  # memories of a list
SHARE = 4  # no list takes more than so much of the room
LIST_SIZE, ROW_SIZE = 1_000, 24  # bytes that a list takes, and each of its memories beside its vector
ROUNDING = 1e-4  # by which two cosines of single precision may differ
WRITES = "SELECT writes FROM memories_namespacestatistics WHERE namespace_id = %(namespace)s"
# Whether the namespace is as it was when its lists were read, and how far the nearest of them are away.
AS_READ = f"SELECT ({WRITES}) AS writes, ({DISTANCES}) AS away"

What = TypeVar("What", bound=Hashable)
Row = tuple[UUID | None, float | None, bytes | None]


class ListKey(NamedTuple):
    """What a list is kept by."""

    namespace: UUID
    embedder: str
    levels: tuple[str, ...]
    what: Hashable


@dataclass(frozen=True, eq=False)
class CachedList:
    """Some memories, a number that their retriever wants of each, and their vectors; NaN where there is none."""

    ids: Ids
    scores: Array
    vectors: NDArray[np.float32]
    complete: bool = True  # where there are too many, none is kept, and nobody tries again

    @classmethod
    def of(cls, rows: Sequence[Row], dimensions: int, *, whole: bool = True) -> "CachedList":
        """As it is stored. A row of nothing says that the list may change although nobody writes."""
        if not whole or any(id is None for id, *_ in rows):
            return cls(id_array(()), np.empty(0), np.empty((0, dimensions), np.float32), complete=False)
        vectors = np.full((len(rows), dimensions), np.nan, np.float32)
        has = np.array([packed is not None for *_, packed in rows], bool)
        vectors[has] = decode_vectors([packed for *_, packed in rows if packed is not None], dimensions)
        told = np.array([one for _, one, _ in rows], float)
        return cls(id_array(id for id, *_ in rows if id is not None), told, vectors)

    @property
    def size(self) -> int:
        """In bytes."""
        return LIST_SIZE + self.ids.nbytes + self.scores.nbytes + self.vectors.nbytes

    def cosines(self, asked: RetrieverContext) -> Array:
        """How near each is to the query, but for rounding."""
        cosines: Array = np.nan_to_num(self.vectors @ asked.parsed.vector.astype(np.float32), nan=-np.inf)
        return cosines


LIST_CACHE = LRUCache[ListKey, CachedList](CACHE_BYTES)
SEEN: dict[UUID, str] = {}  # of which version each namespace was last; what is older is let go once


def cached_lists(asked: RetrieverContext, wanted: Mapping[What, Statement]) -> dict[What, CachedList] | None:
    """Some lists as they were when the query was read; none where some of it is not kept.

    A list takes long to read: it must be asked for twice, with nothing written in between. Each statement gives at most
    `most` rows of an id, a number and a vector.
    """
    writes = asked.parsed.namespace_writes
    # Inside a transaction nothing is kept: it may be one that writes, and be taken back.
    if writes is None or not asked.scope.plain or asked.depth != asked.answer_depth:
        return None
    mine = partial(ListKey, asked.namespace.id, asked.parsed.embedder, tuple(asked.scope.values["levels"]))
    version = str(writes)
    kept = {what: LIST_CACHE.get(mine(what)) for what in wanted}
    known = {what: one[1] for what, one in kept.items() if one and one[0] == version}
    if missing := {what: statement for what, statement in wanted.items() if what not in known}:
        if SEEN.get(asked.namespace.id) != version:
            SEEN[asked.namespace.id] = version
            LIST_CACHE.evict(lambda key, of: key.namespace == asked.namespace.id and of != version)
        asked_before = [LIST_CACHE.seen_before(mine(what), version) for what in missing]
        more = read_lists(asked, missing) if all(asked_before) else None
        if more is None:
            return None
        for what, found in more.items():
            LIST_CACHE.put(mine(what), version, found)
        known |= more
    return known if all(found.complete for found in known.values()) else None


def read_lists(asked: RetrieverContext, wanted: Mapping[What, Statement]) -> dict[What, CachedList] | None:
    """Some lists; none where somebody wrote since. What takes too long, or too much room, is not whole."""
    dimensions = len(asked.parsed.vector)
    most = min(MAX_ROWS, CACHE_BYTES // SHARE // (4 * dimensions + ROW_SIZE))
    shared = {**asked.scope.values, "embedder": asked.parsed.embedder, "pool": asked.depth, "most": most}
    each = (statement._replace(values={**shared, **statement.values}) for statement in wanted.values())
    told = fetch_within_limit(Statement(WRITES, shared), *each)
    if told is None:
        return {what: CachedList.of((), dimensions, whole=False) for what in wanted}
    if told[0] != [(asked.parsed.namespace_writes,)]:
        return None
    return {
        what: CachedList.of(rows, dimensions, whole=len(rows) < most)
        for what, rows in zip(wanted, told[1:], strict=True)
    }


def deferred_list(
    asked: RetrieverContext, best: Callable[[], tuple[Ids, Array, Array]], otherwise: Callable[[], RetrieverQuery]
) -> PendingQuery:
    """A list made here, of memories with their scores and how near they are, while the database does something else."""

    def question() -> RetrieverQuery:
        ids, scores, near = best()
        some = best_rows(scores, near, asked.depth)
        return confirm_list(asked, ids[some], scores[some], otherwise)

    return PendingQuery(question)


def confirm_list(
    asked: RetrieverContext, ids: Ids, scores: Array, otherwise: Callable[[], RetrieverQuery]
) -> RetrieverQuery:
    """The database tells whether all is as it was, and how far they are away: so the list is the database's."""

    def made(told: Sequence[Any]) -> RankedList | None:
        writes, away = told
        if writes != asked.parsed.namespace_writes:
            return None
        if away is None:
            return EMPTY_LIST
        order = np.lexsort((ids["tail"], ids["head"], away, -scores))[: asked.depth]
        return RankedList(ids[order], scores[order], np.where(np.isinf(away), 0.0, 1 - away)[order])

    return replace(asked.query(AS_READ, some=ids), build=made, fallback=otherwise)


def best_rows(scores: Array, near: Array, pool: int) -> Codes:
    """The places of the best, and of whoever is as good as the last of them but for rounding."""
    counts = scores > 0
    if counts.sum() > pool:
        last = np.lexsort((-near, -scores))[pool - 1]
        counts &= (scores > scores[last]) | ((scores == scores[last]) & (near >= near[last] - ROUNDING))
    return np.flatnonzero(counts)
