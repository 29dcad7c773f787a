"""What a retriever is given to write its SQL statement, and the fragments that several share."""

from dataclasses import dataclass
from typing import Any

from memories.db.pipeline import Statement
from memories.models import Namespace
from memories.models.choices import ChunkLevel, Route
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.scope import CandidateScope


@dataclass(frozen=True, eq=False)
class RetrieverContext:
    """The parsed query, the candidate scope and the parameters, for every retriever alike."""

    namespace: Namespace
    parsed: ParsedQuery
    scope: CandidateScope
    params: Any
    depth: int  # how many memories a list may hold
    indexed: bool  # whether the namespace is searched by the HNSW index
    ef_search: int  # the effort of that search
    answer_depth: int = 0  # depth of the answer's lists, if why-not searches deeper

    @property
    def max_compared(self) -> int | None:
        """Of memories that score alike so many are compared by cosine; all in a namespace without an index."""
        return max(MAX_COMPARED, self.depth) if self.indexed else None

    def statement(self, sql: str, **values: Any) -> Statement:
        """A statement that gives `(memory_id, score)`, best first, with the values all retrievers share."""
        shared = {
            "vector": self.parsed.vector_param,
            "embedder": self.parsed.embedder,
            "depth": self.depth,
        }
        return Statement(sql, self.scope.values | shared | values)


# One lookup by primary key per row found: with the stale statistics of a growing namespace, a plain join may be planned
# as a scan of all its rows.
JOIN_MEMORY = """
    JOIN LATERAL (
        SELECT * FROM memories_memory m WHERE m.namespace_id = %(namespace)s AND m.id = found.id LIMIT 1
    ) m ON true
"""
JOIN_VECTOR = f"""
    LEFT JOIN LATERAL (
        SELECT v.vector FROM memories_memoryvector v
        WHERE v.namespace_id = %(namespace)s AND v.memory_id = m.id
            AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}' LIMIT 1
    ) v ON true
"""
DISTANCE = "v.vector <=> %(vector)s::vector"
# Ties are broken by cosine; memories without a vector come last.
NEAREST = f"{DISTANCE} NULLS LAST, m.id"
# Facts of uncertain type or subject are left to BM25, semantic and graph traversal; chunks of a conversation have no
# type or subject, but a speaker and a time.
CERTAIN = f"""
    (NOT m.type_uncertain OR m.level NOT IN ('{ChunkLevel.FACT}', '{ChunkLevel.SUMMARY}'))
    AND m.subject_fallback IS NULL
"""
# Of memories that score alike so many are compared by cosine, the latest: a list may tie by the thousand.
MAX_COMPARED = 1_000
# The condition has a partial index of its own.
JOIN_CERTAIN_MEMORY = JOIN_MEMORY.replace("LIMIT 1", f"AND {CERTAIN} LIMIT 1")


def top_sql(scores: str) -> str:
    """The top `depth` of some scores; vectors are looked up only to break ties."""
    return f"""
        SELECT m.id, m.score
        FROM (
            SELECT top.*, count(*) OVER (PARTITION BY score) > 1 AS tied FROM (
                SELECT * FROM (
                    SELECT * FROM ({scores}) AS scores ORDER BY score DESC FETCH FIRST %(depth)s ROWS WITH TIES
                ) AS with_ties ORDER BY score DESC, id DESC LIMIT greatest(%(depth)s, {MAX_COMPARED})
            ) AS top
        ) m
        {JOIN_VECTOR.replace("WHERE", "WHERE m.tied AND")}
        ORDER BY m.score DESC, {NEAREST} LIMIT %(depth)s
    """
