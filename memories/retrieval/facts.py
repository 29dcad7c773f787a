"""What is stored of the candidates: one question for each table however many they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from memories.journey import Statement, answered
from memories.models.choices import Route
from memories.retrieval.query import Query

NUMBERS = (
    *("confidence", "belief", "provenance_depth", "importance", "quality"),
    *("access_count", "useful", "not_useful"),
)
# What is read of every candidate, as arrays without NULL; an id of nobody's and times without end stand for none.
NOBODY = UUID(int=0)
READ = {
    **{name: name for name in ("id", "type", "kind", "level", "status", "content", "created_at")},
    **{name: f"coalesce({name}, '{NOBODY}')" for name in ("subject_id", "session_id", "cluster_id")},
    **{name: f"{name}::float8" for name in NUMBERS},
    "memory_score": "coalesce(memory_score, 'NaN')",
    "valid_from": "coalesce(valid_from, '-infinity')",
    "valid_until": "coalesce(valid_until, 'infinity')",
}
COLUMNS = tuple(READ)
MEMORIES = f"""
    SELECT {", ".join(f"array_agg({name})" for name in READ)} FROM (
        SELECT {", ".join(f"{column} AS {name}" for name, column in READ.items())} FROM memories_memory m
        WHERE m.{{}} AND m.id = ANY(%(ids)s::uuid[]) ORDER BY m.id
    ) AS each_one
"""
TAGS = "SELECT memory_id, tag FROM memories_memorytag WHERE {} AND memory_id = ANY(%(ids)s::uuid[])"
MENTIONS = "SELECT memory_id, entity_id FROM memories_mention WHERE {} AND memory_id = ANY(%(ids)s::uuid[])"
# The states of the words of each, and of what came before it in its session: the exchange before an exchange, the fact
# before a fact.
TOKENS = """
    WITH mine AS MATERIALIZED (
        SELECT one.id, (
            SELECT m.id FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND m.session_id = one.session_id AND m.level = one.level
                AND {standing} AND (m.happened_at, m.id) < (one.happened_at, one.id)
            ORDER BY m.happened_at DESC, m.id DESC LIMIT 1
        ) AS before
        FROM memories_memory one WHERE one.namespace_id = %(namespace)s AND one.id = ANY(%(ids)s::uuid[])
    )
    SELECT those.id, those.before, (
        SELECT t.packed FROM memories_tokenstates t
        WHERE t.namespace_id = %(namespace)s AND t.memory_id = those.id AND t.embedder = %(embedder)s LIMIT 1
    )
    FROM (
        SELECT id, before FROM mine
        UNION ALL
        SELECT DISTINCT before, NULL::uuid FROM mine WHERE before NOT IN (SELECT id FROM mine)
    ) AS those ORDER BY 1
"""
EDGES = """
    SELECT source_id, target_id, kind, weight FROM memories_memoryedge
    WHERE {} AND source_id = ANY(%(ids)s::uuid[]) AND target_id = ANY(%(ids)s::uuid[]) AND created_at <= %(now)s
    ORDER BY id
"""
RETURNED = """
    SELECT memory_id FROM memories_sessionreturn
    WHERE {} AND "user" = %(user)s AND session = %(session)s AND memory_id = ANY(%(ids)s::uuid[])
        AND returned_at <= %(now)s
"""
# What was absorbed by then had handed its accesses on.
ACCESSES = """
    SELECT counted.id, sum(d.count) FROM (
        SELECT id, id AS used FROM unnest(%(ids)s::uuid[]) AS asked(id)
        UNION ALL
        SELECT a.merged_into_id, a.id FROM memories_memory a
        WHERE a.namespace_id = %(namespace)s AND a.merged_into_id = ANY(%(ids)s::uuid[])
            AND a.id <> ALL(%(gone)s::uuid[])
    ) AS counted
    JOIN memories_dailyaccess d ON d.namespace_id = %(namespace)s AND d.memory_id = counted.used
    WHERE d.day <= %(now)s::date GROUP BY counted.id
"""
CENTROIDS = """
    SELECT id, centroid FROM memories_cluster
    WHERE {} AND embedder = %(embedder)s AND id IN (
        SELECT cluster_id FROM memories_memory WHERE {} AND id = ANY(%(ids)s::uuid[])
    )
"""
OF_WHOLE_TEXTS = f"""
    FROM memories_memoryvector v
    WHERE v.namespace_id = %(namespace)s AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}' AND v.memory_id =
"""
VECTORS = f"SELECT v.memory_id, v.vector {OF_WHOLE_TEXTS} ANY(%(ids)s::uuid[])"
COSINES = f"SELECT v.memory_id, 1 - (v.vector <=> %(vector)s::vector) {OF_WHOLE_TEXTS} ANY(%(far)s::uuid[])"
WITHIN = "namespace_id = %(namespace)s"
# What only some systems read.
FOR_SOME = {
    "tags": TAGS,
    "edges": EDGES,
    "clusters": CENTROIDS,
    "returned": RETURNED,
    "mentions": MENTIONS,
    "vectors": VECTORS,
}


@dataclass(frozen=True)
class Facts:
    """Some memories of a namespace, to be asked about."""

    query: Query
    embedder: str
    ids: Sequence[UUID]
    names: Sequence[str]
    values: dict[str, Any]

    @cached_property
    def places(self) -> dict[int, int]:
        """Where each stands, by its number: an id itself takes ten times as long to look up."""
        return {id.int: place for place, id in enumerate(self.ids)}

    @classmethod
    def of(cls, query: Query, embedder: str, ids: Sequence[UUID]) -> "Facts":
        """Write the ids once: to quote each of them for each table takes longer than to find them."""
        names = [*map(str, ids)]
        values = {
            "namespace": query.namespace.id,
            "ids": literal(names),
            "now": query.now,
            "user": query.user,
            "session": query.session,
            "embedder": embedder,
        }
        return cls(query, embedder, ids, names, values)

    def ask(self, statements: Mapping[str, str], end: Sequence[Statement] = (), **more: Any) -> dict[str, list[Any]]:
        """What each table has of these memories, by the name of the question, in one journey, and what ends it."""
        if not self.ids:
            return {name: [] for name in statements}
        values = {**self.values, **more}
        rows = answered([*(Statement(one.replace("{}", WITHIN), values) for one in statements.values()), *end])
        return dict(zip(statements, rows, strict=True))


def literal(ids: Iterable[UUID | str]) -> str:
    """Ids as one array."""
    return "{" + ",".join(map(str, ids)) + "}"
