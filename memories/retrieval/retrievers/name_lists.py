"""What each name finds, with its vectors, kept for as long as nobody writes to the namespace.

Hundreds of memories may speak of whom a query names, all equally well: to read their vectors each time, only to tell
which are the nearest, takes longer than all else that the database is asked about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.id_arrays import Ids, array_of
from memories.journey import Statement
from memories.retrieval.kept import Kept
from memories.retrieval.limits import in_time
from memories.retrieval.retrievers.question import BY_MEANING, EACH_SETTLED, Asked
from memories.retrieval.vectors import numbers_of
from scoring.term import Mask

MOST_KEPT = 64 * 2**20  # bytes, in each process
MOST_READ = 20_000  # memories that a name finds
SHARE = 4  # no name takes more than so much of the room
NAME_SIZE, ROW_SIZE = 1_000, 17  # bytes that a name takes, and each of its memories beside its vector
WRITES = "SELECT writes FROM memories_namespacestatistics WHERE namespace_id = %(namespace)s"
# Those whose subject a name is, those that it said, and those that mention it.
EACH_WAY = """
    named AS (SELECT * FROM unnest(%(entities)s::uuid[], %(matches)s::float8[]) AS t(entity_id, match)),
    said AS (
        SELECT named.match, names.name FROM named CROSS JOIN LATERAL (
            SELECT e.name FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = named.entity_id
            UNION
            SELECT a.name FROM memories_entityalias a
            WHERE a.namespace_id = %(namespace)s AND a.entity_id = named.entity_id
        ) AS names
    ),
    each_way AS (
        SELECT m.id, named.match, false AS mentioned FROM named
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id
        UNION ALL
        SELECT n.memory_id, named.match, true FROM named
        JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id
        UNION ALL
        SELECT m.id, said.match, false FROM said
        JOIN memories_turn t ON t.namespace_id = %(namespace)s AND t.speaker = said.name
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.turn_id = t.id
    )
"""
LISTS = f"""
    WITH {EACH_WAY} SELECT m.id, found.mentioned, v.vector FROM (
        SELECT id, bool_and(mentioned) AS mentioned FROM each_way GROUP BY id
    ) AS found {EACH_SETTLED} {BY_MEANING} WHERE {{scope}} LIMIT %(most)s
"""


class Name(NamedTuple):
    """What a list is kept by."""

    namespace: UUID
    embedder: str
    levels: tuple[str, ...]
    entity: UUID


@dataclass(frozen=True, eq=False)
class NameList:
    """The memories that a name finds, whether they only mention it, and their vectors; NaN where there is none."""

    ids: Ids
    mentioned: Mask
    vectors: NDArray[np.float32]
    whole: bool = True  # where there are too many, none is kept, and nobody tries again

    @classmethod
    def of(cls, rows: Sequence[tuple[UUID, bool, bytes | None]], dimensions: int, *, whole: bool) -> "NameList":
        """As it is stored."""
        vectors = np.full((len(rows), dimensions), np.nan, np.float32)
        has = np.array([packed is not None for *_, packed in rows], bool)
        vectors[has] = numbers_of([packed for *_, packed in rows if packed is not None], dimensions)
        mentioned = np.array([only for _, only, _ in rows], bool)
        return cls(array_of(id for id, *_ in rows), mentioned, vectors, whole)

    @property
    def size(self) -> int:
        """In bytes."""
        return NAME_SIZE + self.ids.nbytes + self.mentioned.nbytes + self.vectors.nbytes


KEPT = Kept[Name, NameList](MOST_KEPT)


def lists_for(asked: Asked) -> dict[UUID, NameList] | None:
    """What each name of a query finds, as it was when the query was read; none where some of it is not kept.

    A list takes long to read: its name must be asked for twice, with nothing written in between.
    """
    writes = asked.reading.writes
    # Inside a transaction nothing is kept: it may be one that writes, and be taken back.
    if writes is None or not asked.scope.plain or asked.pool != asked.listed:
        return None
    names = {
        one.entity_id: Name(
            asked.namespace.id, asked.reading.embedder, tuple(asked.scope.values["levels"]), one.entity_id
        )
        for one in asked.reading.named
    }
    version = str(writes)
    kept = {entity: KEPT.of(name) for entity, name in names.items()}
    known = {entity: one[1] for entity, one in kept.items() if one and one[0] == version}
    if missing := [entity for entity in names if entity not in known]:
        KEPT.let_go(lambda name, of: name.namespace == asked.namespace.id and int(of) < writes)
        asked_before = [KEPT.again(names[entity], version) for entity in missing]
        more = read(asked, missing) if all(asked_before) else None
        if more is None:
            return None
        for entity, found in more.items():
            KEPT.keep(names[entity], version, found)
        known |= more
    return known if all(found.whole for found in known.values()) else None


def read(asked: Asked, entities: Sequence[UUID]) -> dict[UUID, NameList] | None:
    """What some names find; none where somebody wrote since. What takes too long, or too much room, is not whole."""
    dimensions = len(asked.reading.vector)
    most = min(MOST_READ, MOST_KEPT // SHARE // (4 * dimensions + ROW_SIZE))
    values = {**asked.scope.values, "matches": [1.0], "embedder": asked.reading.embedder, "most": most}
    sql = LISTS.format(scope=asked.scope.condition)
    told = in_time(
        Statement(WRITES, values), *(Statement(sql, {**values, "entities": [entity]}) for entity in entities)
    )
    if told is None:
        return {entity: NameList.of((), dimensions, whole=False) for entity in entities}
    if told[0] != [(asked.reading.writes,)]:
        return None
    return {
        entity: NameList.of(rows if len(rows) < most else (), dimensions, whole=len(rows) < most)
        for entity, rows in zip(entities, told[1:], strict=True)
    }
