"""The candidates: the union of the retrievers' lists, and their features as Signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import Vector

from memories.db.id_arrays import Ids, format_ids, id_array, id_halves, to_uuids, unite_ids
from memories.models.evidence import HISTORY_COLUMNS
from memories.retrieval.affinity import affinity_shares, affinity_statement
from memories.retrieval.as_of import fold_events
from memories.retrieval.candidate_rows import (
    ACCESSES,
    ALWAYS,
    COLUMNS,
    COSINES,
    MICROSECOND,
    NEVER,
    NIL_UUID,
    NO_VECTOR,
    NUMBERS,
    STATEMENTS_BY_NEED,
    STATEMENTS_FOR_ALL,
    TOKENS,
    CandidateTables,
    MemoryRows,
    Timestamps,
    load_candidate_vectors,
    memory_rows,
    postgres_microseconds,
)
from memories.retrieval.expected_answer import answer_fit
from memories.retrieval.fetch import Fetched, RankedList
from memories.retrieval.maxsim import maxsim_features
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.query import Query
from memories.retrieval.scope import CandidateScope
from memories.retrieval.session_neighbours import SessionPlaces, session_places
from scoring.fusion import rank_rows
from scoring.signals import EDGE_KINDS, KINDS, LEVELS, TYPES, Edges, Signals
from scoring.systems.candidates import MaxSimParams
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

HOUR, DAY = timedelta(hours=1) / MICROSECOND, timedelta(days=1) / MICROSECOND
# Retrievers whose score is the cosine to the full text, which every candidate has as a feature.
BY_COSINE = frozenset({"semantic", "vec_full"})
# Column values for NULL.
NULL_VALUES = {"memory_score": np.nan, "valid_from": ALWAYS, "valid_until": NEVER}
NO_ID = id_halves(NIL_UUID)
EDGE_CODES = {kind: code for code, kind in enumerate(EDGE_KINDS)}


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates in id order, as rows and as features."""

    ids: Ids
    rows: Sequence[Mapping[str, Any]]
    signals: Signals
    fingerprints: Sequence[bytes]  # of their vectors
    contradictions: Sequence[tuple[UUID, UUID]]  # pairs with at least one candidate

    def __len__(self) -> int:
        return len(self.rows)

    def with_list(self, name: str, ranks: Array, scores: Array | None = None) -> "Candidates":
        """The same candidates with another ranked list, and its scores if it has any."""
        all_ranks = {**self.signals.ranks, name: ranks}
        all_scores = {**self.signals.scores} if scores is None else {**self.signals.scores, name: scores}
        return replace(self, signals=replace(self.signals, ranks=all_ranks, scores=all_scores))


def load_candidates(
    query: Query,
    parsed: ParsedQuery,
    scope: CandidateScope,
    fetched: Fetched,
    params: Any,
) -> Candidates:
    """Everything a system reads of the candidates, in a fixed number of statements."""
    lists = fetched.lists
    ids, indexes = unite_ids([ranked.ids for ranked in lists.values()])
    places = session_places(scope, to_uuids(ids)) if query.config.system.ranks_conversations else SessionPlaces()
    if places.neighbours:
        ids, indexes = unite_ids([*(ranked.ids for ranked in lists.values()), id_array(places.neighbours)])
    list_rows = dict(zip(lists, indexes, strict=False))
    tables = CandidateTables(query, parsed.embedder, ids)
    cosine = np.full(len(ids), np.nan)
    for name in lists.keys() & BY_COSINE:
        cosine[list_rows[name]] = lists[name].scores
    loaded = tables.fetch(
        statements_read_by(query.config.system)
        | token_statement(parsed, scope, params)
        | affinity_statement(query, params),
        **scope.values,
        vector=parsed.vector_param,
        without_cosine=ids[np.isnan(cosine)],
    )
    rows = rows_as_of(tables, scope, memory_rows(loaded["memories"]))
    cosine, vectors, fingerprints = query_cosines(tables, loaded, cosine, parsed)
    tags = tags_by_memory(loaded.get("tags", ()))
    now, created = postgres_microseconds(query.now), rows.column("created_at")
    scores = {name: retriever_scores(ranked, list_rows[name], cosine, name) for name, ranked in lists.items()}
    match = maxsim_features(tables, loaded.get("tokens", ()), parsed, params)
    if np.isfinite(match["maxsim"]).any():
        match |= answer_fit(rows, parsed.expected, scores.get("entity"), match["term_coverage"])
    entity_scores = scores.get("entity", np.zeros(len(ids)))
    signals = Signals(
        ids=format_ids(ids),
        sort_keys=np.arange(len(ids)),
        type=category_codes(rows, "type", TYPES),
        kind=category_codes(rows, "kind", KINDS),
        level=category_codes(rows, "level", LEVELS),
        session=session_codes(rows.column("session_id")),
        position=session_positions(places, tables),
        age_days=(now - created) / DAY,
        valid_hours=(now - valid_since(rows)) / HOUR,
        hours_left=hours_left(rows.column("valid_until"), now),
        memory_score=rows.column("memory_score"),
        cosine=cosine,
        cluster_cosine=cluster_cosines(loaded.get("clusters", ()), rows, parsed),
        **match,
        entity_match=np.where(np.isfinite(entity_scores), entity_scores, 0.0),
        affinity=affinity_shares(tables, loaded.get("mentions", ()), tags, loaded.get("affinity", ())),
        returned=returned_before(tables, loaded.get("returned", ())),
        ranks={name: list_ranks(values, cosine) if len(lists[name]) else values for name, values in scores.items()},
        scores=scores,
        edges=candidate_edges(tables, loaded.get("edges", ())),
        vectors=vectors,
        tags=tag_matrix(tables, tags),
        intent=parsed.intent,
        **{name: rows.column(name) for name in NUMBERS},
    )
    return Candidates(ids, rows, signals, fingerprints, loaded["contradictions"])


def valid_since(rows: MemoryRows) -> Timestamps:
    """Since when each memory is valid: as stated, or since it was stored."""
    valid_from: Timestamps = rows.column("valid_from")
    return np.where(valid_from == ALWAYS, rows.column("created_at"), valid_from)


def hours_left(until: Timestamps, now: int) -> Array:
    """Hours until each memory expires; infinity if never."""
    return np.where(until == NEVER, np.inf, (until - now) / HOUR)


def statements_read_by(system: System) -> dict[str, str]:
    """The statements whose rows a system reads; one that reads no vectors needs the cosines alone."""
    cosines = {} if "vectors" in system.optional_features else {"cosines": COSINES}
    by_need = {name: sql for name, sql in STATEMENTS_BY_NEED.items() if name in system.optional_features}
    return STATEMENTS_FOR_ALL | cosines | by_need


def token_statement(parsed: ParsedQuery, scope: CandidateScope, params: Any) -> dict[str, str]:
    """The statement for token states, if the system reranks by MaxSim and the query has tokens."""
    if not isinstance(params, MaxSimParams) or parsed.tokens is None or not len(parsed.tokens):
        return {}
    return {"tokens": TOKENS.format(active=scope.active)}


def query_cosines(
    tables: CandidateTables, loaded: Mapping[str, Sequence[Any]], cosine: Array, parsed: ParsedQuery
) -> tuple[Array, Array | None, Sequence[bytes]]:
    """The query's cosine to each candidate, 0 without a vector; and the vectors with their fingerprints, if loaded."""
    if "vectors" in loaded and len(tables):
        vectors, fingerprints = load_candidate_vectors(tables, loaded["vectors"])
        cosine = np.clip(vectors @ parsed.vector, -1.0, 1.0)
        cosine[[fingerprint == NO_VECTOR for fingerprint in fingerprints]] = 0.0
        return cosine, vectors, fingerprints
    for (missing,) in loaded.get("cosines", ()):
        cosine[np.isnan(cosine)] = [] if missing is None else missing
    return np.clip(cosine, -1.0, 1.0), None, [NO_VECTOR] * len(tables)


def rows_as_of(tables: CandidateTables, scope: CandidateScope, rows: MemoryRows) -> MemoryRows:
    """The rows as of the query's `as_of`, folded from their events; today's rows without one."""
    as_of = tables.query.as_of
    if as_of is None:
        return rows
    history = fold_events(tables.query.namespace, tables.ids, as_of)
    accesses = dict(tables.fetch({"accesses": ACCESSES}, hidden_since=list(scope.hidden_since))["accesses"])
    for row, id in enumerate(rows.ids):
        for name, value in history.get(id, {}).items():
            if name in COLUMNS and name in HISTORY_COLUMNS:
                rows.column(name)[row] = stored_value(name, value)
        rows.column("access_count")[row] = accesses.get(id, 0)
    return rows


def stored_value(name: str, value: Any) -> Any:
    """The value of an event as a candidate's column stores it."""
    if name in NULL_VALUES and value is None:
        return NULL_VALUES[name]
    return postgres_microseconds(datetime.fromisoformat(value)) if name in ("valid_from", "valid_until") else value


def category_codes(rows: MemoryRows, name: str, order: Sequence[str]) -> Codes:
    """A column of categories as their indexes."""
    codes = {category: index for index, category in enumerate(order)}
    return np.fromiter(map(codes.__getitem__, rows.column(name)), np.intp, len(rows))


def session_codes(ids: Ids) -> Codes:
    """Session ids numbered from 0; −1 for none."""
    numbers = {NO_ID: -1}
    return np.fromiter((numbers.setdefault(id, len(numbers) - 1) for id in ids.tolist()), np.intp, len(ids))


def session_positions(places: SessionPlaces, tables: CandidateTables) -> Codes:
    """The position of each candidate in its session; −1 if the system does not read it."""
    if not places.positions:
        return np.full(len(tables), -1, dtype=np.intp)
    return np.array([places.positions.get(id, -1) for id in tables.ids], dtype=np.intp)


def retriever_scores(ranked: RankedList, rows: Codes, cosine: Array, retriever: str) -> Array:
    """A retriever's scores of all candidates; infinity for those it did not find."""
    scores = np.full(len(cosine), np.inf)
    scores[rows] = cosine[rows] if retriever in BY_COSINE else ranked.scores
    return scores


def list_ranks(scores: Array, cosine: Array) -> Array:
    """Ranks by score, then cosine, then id; infinity for what the retriever did not find."""
    return rank_rows(np.flatnonzero(np.isfinite(scores)), scores, cosine, np.arange(len(scores)))


def cluster_cosines(centroids: Sequence[tuple[UUID, bytes]], rows: MemoryRows, parsed: ParsedQuery) -> Array:
    """The query's cosine to the centroid of each candidate's cluster; NaN without a cluster."""
    if not centroids:
        return np.full(len(rows), np.nan)
    cosines: dict[tuple[int, int], float] = {}
    for cluster, packed in centroids:
        centroid = np.asarray(Vector.from_binary(packed).to_list(), dtype=float)
        norm = float(np.linalg.norm(centroid))
        cosines[id_halves(cluster)] = float(centroid @ parsed.vector) / norm if norm else 0.0
    return np.array([cosines.get(cluster, np.nan) for cluster in rows.column("cluster_id").tolist()])


def returned_before(tables: CandidateTables, rows: Sequence[tuple[UUID]]) -> Mask:
    """Which candidates were returned earlier in the query's session."""
    returned = np.zeros(len(tables), dtype=bool)
    if tables.query.session:
        returned[[tables.positions[memory.int] for (memory,) in rows]] = True
    return returned


def candidate_edges(tables: CandidateTables, rows: Sequence[tuple[UUID, UUID, str, float]]) -> Edges:
    """The edges between candidates."""
    return Edges(
        source=np.array([tables.positions[source.int] for source, *_ in rows], dtype=np.intp),
        target=np.array([tables.positions[target.int] for _, target, *_ in rows], dtype=np.intp),
        kind=np.array([EDGE_CODES[kind] for *_, kind, _ in rows], dtype=np.intp),
        weight=np.array([weight for *_, weight in rows], dtype=float),
    )


def tags_by_memory(rows: Iterable[tuple[UUID, str]]) -> dict[UUID, set[str]]:
    """The tags of each memory."""
    tags: dict[UUID, set[str]] = {}
    for memory, tag in rows:
        tags.setdefault(memory, set()).add(tag)
    return tags


def tag_matrix(tables: CandidateTables, tags: Mapping[UUID, set[str]]) -> Mask:
    """Candidates × tags."""
    if not tags:
        return np.zeros((len(tables), 0), bool)
    columns = {tag: column for column, tag in enumerate(sorted(set().union(*tags.values())))}
    matrix = np.zeros((len(tables), len(columns)), bool)
    for row, id in enumerate(tables.ids):
        matrix[row, [columns[tag] for tag in tags.get(id, ())]] = True
    return matrix
