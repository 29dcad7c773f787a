"""The candidates' rows: one statement per table, however many candidates there are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.db.pipeline import Statement, fetch_pipeline, set_config
from memories.models.choices import EdgeKind, Route
from memories.providers.embedder import embedder
from memories.retrieval.as_of import edge_table
from memories.retrieval.query import Query
from scoring.term import Array

HEADER_BYTES = 4  # of a binary vector
FINGERPRINT_BYTES = 8
NO_VECTOR = bytes(FINGERPRINT_BYTES)
MemoryRow = dict[str, Any]  # by the names of COLUMNS
NUMBERS = (
    *("confidence", "belief", "provenance_depth", "importance", "quality"),
    *("access_count", "useful", "not_useful"),
)
COLUMNS = (
    *("id", "subject_id", "session_id", "cluster_id", "type", "kind", "level", "status", "content", "user"),
    *("created_at", "valid_from", "valid_until", "memory_score", "corroborations"),
    *NUMBERS,
)
QUOTED_COLUMNS = ", ".join(f'"{name}"' for name in COLUMNS)  # user is a word of SQL
MEMORIES = f"SELECT {QUOTED_COLUMNS} FROM memories_memory WHERE {{}} AND id = ANY(%(ids)s::uuid[]) ORDER BY id"
TAGS = "SELECT memory_id, tag FROM memories_memorytag WHERE {} AND memory_id = ANY(%(ids)s::uuid[])"
MENTIONS = "SELECT memory_id, entity_id FROM memories_mention WHERE {} AND memory_id = ANY(%(ids)s::uuid[])"
# The token states of each candidate, and of its predecessor of the same level in the session.
TOKENS = """
    WITH candidates AS MATERIALIZED (
        SELECT candidate.id, (
            SELECT m.id FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND m.session_id = candidate.session_id AND m.level = candidate.level
                AND {active} AND (m.happened_at, m.id) < (candidate.happened_at, candidate.id)
            ORDER BY m.happened_at DESC, m.id DESC LIMIT 1
        ) AS previous
        FROM memories_memory candidate
        WHERE candidate.namespace_id = %(namespace)s AND candidate.id = ANY(%(ids)s::uuid[])
    )
    SELECT memory.id, memory.previous, (
        SELECT t.packed FROM memories_tokenstates t
        WHERE t.namespace_id = %(namespace)s AND t.memory_id = memory.id AND t.embedder = %(embedder)s LIMIT 1
    )
    FROM (
        SELECT id, previous FROM candidates
        UNION ALL
        SELECT DISTINCT previous, NULL::uuid FROM candidates WHERE previous NOT IN (SELECT id FROM candidates)
    ) AS memory ORDER BY 1
"""
EDGES = """
    SELECT source_id, target_id, kind, weight FROM {edges} AS edge
    WHERE edge.{} AND source_id = ANY(%(ids)s::uuid[]) AND target_id = ANY(%(ids)s::uuid[]) AND created_at <= %(now)s
    ORDER BY id
"""
# Contradictions with at least one candidate.
CONTRADICTION = f"""
    SELECT id, source_id, target_id FROM {{edges}} AS edge
    WHERE edge.{{}} AND kind = '{EdgeKind.CONTRADICTION}' AND created_at <= %(now)s
"""
CONTRADICTIONS = f"""
    SELECT source_id, target_id FROM (
        {CONTRADICTION} AND source_id = ANY(%(ids)s::uuid[]) UNION {CONTRADICTION} AND target_id = ANY(%(ids)s::uuid[])
    ) AS pairs ORDER BY id
"""
RETURNED = """
    SELECT memory_id FROM memories_sessionreturn
    WHERE {} AND "user" = %(user)s AND session = %(session)s AND memory_id = ANY(%(ids)s::uuid[])
        AND returned_at <= %(now)s
"""
# The accesses of a merged memory count for the one it was merged into.
ACCESSES = """
    SELECT counted.id, sum(d.count) FROM (
        SELECT id, id AS accessed FROM unnest(%(ids)s::uuid[]) AS candidate(id)
        UNION ALL
        SELECT a.merged_into_id, a.id FROM memories_memory a
        WHERE a.namespace_id = %(namespace)s AND a.merged_into_id = ANY(%(ids)s::uuid[])
            AND a.id <> ALL(%(hidden_since)s::uuid[])
    ) AS counted
    JOIN memories_dailyaccess d ON d.namespace_id = %(namespace)s AND d.memory_id = counted.accessed
    WHERE d.day <= %(now)s::date GROUP BY counted.id
"""
CENTROIDS = """
    SELECT id, centroid FROM memories_cluster
    WHERE {} AND embedder = %(embedder)s AND id IN (
        SELECT cluster_id FROM memories_memory WHERE {} AND id = ANY(%(ids)s::uuid[])
    )
"""
FULL_VECTORS = f"""
    FROM memories_memoryvector v
    WHERE v.namespace_id = %(namespace)s AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}' AND v.memory_id =
"""
VECTORS = f"SELECT v.memory_id, v.vector {FULL_VECTORS} ANY(%(ids)s::uuid[])"
# The parameters of the published write policy; no row, or null: the shipped ones.
POLICY = """
    SELECT v.params FROM memories_publication p
    LEFT JOIN memories_writepolicyversion v ON v.namespace_id = p.namespace_id AND v.id = p.policy_version_id
    WHERE p.{} ORDER BY p.published_at DESC, p.id DESC LIMIT 1
"""
# In the order of the ids; 0 without a vector.
COSINES = f"""
    SELECT array_agg(coalesce(1 - (v.vector <=> %(vector)s::vector), 0) ORDER BY candidate.position)
    FROM unnest(%(without_cosine)s::uuid[]) WITH ORDINALITY AS candidate(id, position)
    LEFT JOIN LATERAL (SELECT v.vector {FULL_VECTORS} candidate.id LIMIT 1) v ON true
"""
IN_NAMESPACE = "namespace_id = %(namespace)s"
# Read for every system.
STATEMENTS_FOR_ALL = {"memories": MEMORIES, "contradictions": CONTRADICTIONS}
# Read if the system declares the feature.
STATEMENTS_BY_NEED = {
    "tags": TAGS,
    "edges": EDGES,
    "clusters": CENTROIDS,
    "returned": RETURNED,
    "mentions": MENTIONS,
    "policy": POLICY,
}

# All are lookups by id: a custom plan per number of ids costs more than it saves.
GENERIC_PLAN = set_config({"plan_cache_mode": "force_generic_plan"})


@dataclass(frozen=True)
class CandidateTables:
    """Reads rows of the candidates, in id order."""

    query: Query
    embedder: str
    ids: Sequence[UUID]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def id_texts(self) -> Sequence[str]:
        """The ids as text."""
        return [str(id) for id in self.ids]

    @cached_property
    def id_literal(self) -> str:
        """The ids as an array literal: psycopg would convert a list anew for each statement."""
        return uuid_array_literal(self.id_texts)

    @cached_property
    def positions(self) -> dict[UUID, int]:
        """The position of each candidate."""
        return {id: position for position, id in enumerate(self.ids)}

    def fetch(
        self, statements: Mapping[str, str], others: Mapping[str, Statement | None] = MappingProxyType({}), **more: Any
    ) -> dict[str, list[Any]]:
        """The rows of each statement by its name, in one round trip; `others` have their values."""
        complete = {name: statement for name, statement in others.items() if statement}
        if not len(self):
            return {name: [] for name in (*statements, *complete)}
        values = {
            "namespace": self.query.namespace.id,
            "ids": self.id_literal,
            "now": self.query.now,
            "as_of": self.query.as_of,
            "user": self.query.user,
            "session": self.query.session,
            "embedder": self.embedder,
            **more,
        }
        edges = edge_table(as_of=self.query.as_of is not None)
        texts = (sql.replace("{}", IN_NAMESPACE).replace("{edges}", edges) for sql in statements.values())
        by_id = [Statement(sql, values) for sql in texts]
        _, *rows = fetch_pipeline([GENERIC_PLAN, *by_id, *complete.values()])
        return dict(zip((*statements, *complete), rows, strict=True))


def memory_rows(stored: Sequence[Sequence[Any]]) -> list[MemoryRow]:
    """The result of the statement MEMORIES, by column name."""
    return [dict(zip(COLUMNS, row, strict=True)) for row in stored]


def uuid_array_literal(ids: Iterable[UUID | str]) -> str:
    """Ids as a Postgres array literal."""
    return "{" + ",".join(map(str, ids)) + "}"


def load_candidate_vectors(tables: CandidateTables, stored: Sequence[tuple[UUID, bytes]]) -> tuple[Array, list[bytes]]:
    """The full-text vectors in id order, with fingerprints; a unit vector and NO_VECTOR for a missing one."""
    dimensions = embedder(tables.embedder).dimensions
    vectors = np.zeros((len(tables), dimensions))
    vectors[:, 0] = 1.0
    fingerprints = [NO_VECTOR] * len(tables)
    if not stored:
        return vectors, fingerprints
    positions = [tables.positions[memory] for memory, _ in stored]
    decoded = decode_vectors([packed for _, packed in stored], dimensions)
    vectors[positions] = decoded
    for position, row in zip(positions, decoded, strict=True):
        fingerprints[position] = blake2b(row.data, digest_size=FINGERPRINT_BYTES).digest()
    return vectors, fingerprints


def decode_vectors(stored: Iterable[bytes], dimensions: int) -> NDArray[np.float32]:
    """Binary vectors as the rows of a matrix."""
    rows = np.frombuffer(b"".join([packed[HEADER_BYTES:] for packed in stored]), dtype=">f4")
    return rows.reshape(-1, dimensions).astype(np.float32)
