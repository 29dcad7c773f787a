"""The candidates: the union of the retrievers' lists, and their features as Signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import Vector

from memories.models.evidence import HISTORY_COLUMNS
from memories.retrieval.about_people import people_of, subjects_statement
from memories.retrieval.affinity import affinity_shares, affinity_statement
from memories.retrieval.as_of import fold_events
from memories.retrieval.candidate_rows import (
    ACCESSES,
    COLUMNS,
    COSINES,
    NO_VECTOR,
    NUMBERS,
    STATEMENTS_BY_NEED,
    STATEMENTS_FOR_ALL,
    TOKENS,
    VECTORS,
    CandidateTables,
    MemoryRow,
    load_candidate_vectors,
    memory_rows,
    uuid_array_literal,
)
from memories.retrieval.expected_answer import answer_fit
from memories.retrieval.fetch import Fetched, RankedList
from memories.retrieval.maxsim import maxsim_features
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.query import Query
from memories.retrieval.retrievers import SCORES_OF
from memories.retrieval.retrievers.context import RetrieverContext
from memories.retrieval.scope import CandidateScope
from memories.retrieval.session_neighbours import SessionPlaces, session_places
from scoring.belief import is_protected
from scoring.fusion import rank_rows
from scoring.params import Params
from scoring.policy import WritePolicyParams
from scoring.signals import EDGE_KINDS, KINDS, LEVELS, TYPES, Edges, Signals
from scoring.specificity import Plan
from scoring.systems.candidates import MaxSimParams
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Retrievers whose score is the cosine to the full text, which every candidate has as a feature.
BY_COSINE = frozenset({"semantic", "vec_full"})
EDGE_CODES = {kind: code for code, kind in enumerate(EDGE_KINDS)}


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates in id order, as rows and as features."""

    ids: Sequence[UUID]
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


def load_candidates(query: Query, context: RetrieverContext, fetched: Fetched, plan: Plan) -> Candidates:
    """Everything a system reads of the candidates, in a fixed number of statements."""
    lists, parsed, scope, params = fetched.lists, context.parsed, context.scope, context.params
    found = set[UUID]().union(*lists.values())
    places = session_places(scope, found) if query.config.system.ranks_conversations else SessionPlaces()
    ids = sorted(found.union(places.neighbours), key=attrgetter("int"))
    tables = CandidateTables(query, parsed.embedder, ids)
    list_rows = {name: [tables.positions[id] for id in ranked] for name, ranked in lists.items()}
    cosine = np.full(len(ids), np.nan)
    for name in lists.keys() & BY_COSINE:
        cosine[list_rows[name]] = list(lists[name].values())
    loaded = tables.fetch(
        statements_read_by(query.config.system, params, plan)
        | token_statement(parsed, scope, params)
        | subjects_statement(parsed)
        | affinity_statement(query, params),
        {
            name: SCORES_OF[name](context, uuid_array_literal(found - lists[name].keys()))
            for name in lists.keys() & SCORES_OF.keys()
        },
        **scope.values,
        vector=parsed.vector_param,
        without_cosine=uuid_array_literal(tables.id_texts[row] for row in np.flatnonzero(np.isnan(cosine)).tolist()),
    )
    rows = rows_as_of(tables, scope, memory_rows(loaded["memories"]))
    cosine = query_cosines(cosine, loaded["cosines"])
    vectors, fingerprints = None, [NO_VECTOR] * len(tables)
    if "vectors" in loaded:
        vectors, fingerprints = load_candidate_vectors(tables, loaded["vectors"])
    tags = tags_by_memory(loaded.get("tags", ()))
    now = query.now
    scores = {name: retriever_scores(ranked, list_rows[name], cosine, name) for name, ranked in lists.items()}
    for name in loaded.keys() & SCORES_OF.keys():
        scores[name] = complete_scores(scores[name], tables, loaded[name], cosine, context.depth)
    match = maxsim_features(tables, loaded.get("tokens", ()), parsed, params)
    if np.isfinite(match["maxsim"]).any():
        people = people_of(query.namespace, rows, loaded.get("subjects"))
        match |= answer_fit(rows, parsed.expected, scores.get("entity"), match["term_coverage"], people)
    entity_scores = scores.get("entity", np.zeros(len(ids)))
    signals = Signals(
        ids=np.array(tables.id_texts, dtype="U36"),
        sort_keys=np.arange(len(ids)),
        type=category_codes(rows, "type", TYPES),
        kind=category_codes(rows, "kind", KINDS),
        level=category_codes(rows, "level", LEVELS),
        session=session_codes(rows),
        position=session_positions(places, tables),
        age_days=np.array([(now - row["created_at"]) / DAY for row in rows]),
        valid_hours=np.array([(now - (row["valid_from"] or row["created_at"])) / HOUR for row in rows]),
        hours_left=np.array([hours_until(row["valid_until"], now) for row in rows]),
        memory_score=np.array([row["memory_score"] for row in rows], dtype=float),
        protected=protected_by_policy(rows, loaded.get("policy")),
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
        intent=parsed.intent.level,
        emphasis=parsed.emphasis.name,
        **{name: np.array([row[name] for row in rows], dtype=float) for name in NUMBERS},
    )
    return Candidates(ids, rows, signals, fingerprints, loaded["contradictions"])


def protected_by_policy(rows: Sequence[MemoryRow], policies: Sequence[tuple[Any]] | None) -> Mask:
    """Which candidates the namespace's write policy protects from decay; none if the system does not read it."""
    if policies is None:
        return np.zeros(len(rows), bool)
    published: dict[str, Any] = next((params for (params,) in policies if params), {})
    policy = WritePolicyParams.of(published)
    belief, corroborations = (np.array([row[name] for row in rows], float) for name in ("belief", "corroborations"))
    return is_protected(belief, corroborations, protected=policy.belief_protected, needed=policy.belief_needed)


def hours_until(end: datetime | None, now: datetime) -> float:
    """Hours until a memory expires; infinity if never."""
    return float("inf") if end is None else (end - now) / HOUR


def statements_read_by(system: System, params: Params, plan: Plan) -> dict[str, str]:
    """The statements whose rows a system reads; the vectors only where candidates are compared with each other."""
    by_need = {name: sql for name, sql in STATEMENTS_BY_NEED.items() if name in system.optional_features}
    vectors = {"vectors": VECTORS} if system.reads_vectors(params, plan) else {}
    return STATEMENTS_FOR_ALL | {"cosines": COSINES} | by_need | vectors


def token_statement(parsed: ParsedQuery, scope: CandidateScope, params: Any) -> dict[str, str]:
    """The statement for token states, if the system reranks by MaxSim and the query has tokens."""
    if not isinstance(params, MaxSimParams) or parsed.tokens is None or not len(parsed.tokens):
        return {}
    return {"tokens": TOKENS.format(active=scope.active)}


def query_cosines(found: Array, looked_up: Sequence[tuple[list[float] | None]]) -> Array:
    """The query's cosine to each candidate, as a retriever found it or else looked up; 0 without a vector.

    Always computed by Postgres, so that a ranking with vectors and one without have the same.
    """
    cosine = found.copy()
    for (values,) in looked_up:
        cosine[np.isnan(found)] = [] if values is None else values
    return np.clip(cosine, -1.0, 1.0)


def rows_as_of(tables: CandidateTables, scope: CandidateScope, rows: list[MemoryRow]) -> list[MemoryRow]:
    """The rows as of the query's `as_of`, folded from their events; today's rows without one."""
    as_of = tables.query.as_of
    if as_of is None:
        return rows
    history = fold_events(tables.query.namespace, tables.ids, as_of)
    accesses = dict(tables.fetch({"accesses": ACCESSES}, hidden_since=list(scope.hidden_since))["accesses"])
    return [
        row | columns_from_events(history.get(row["id"], {})) | {"access_count": accesses.get(row["id"], 0)}
        for row in rows
    ]


def columns_from_events(event_values: Mapping[str, Any]) -> MemoryRow:
    """The values of events that are columns of a candidate's row."""
    return {
        name: datetime.fromisoformat(value) if name in ("valid_from", "valid_until") and value else value
        for name, value in event_values.items()
        if name in COLUMNS and name in HISTORY_COLUMNS
    }


def category_codes(rows: Sequence[MemoryRow], name: str, order: Sequence[str]) -> Codes:
    """A column of categories as their indexes."""
    codes = {category: index for index, category in enumerate(order)}
    return np.array([codes[row[name]] for row in rows], dtype=np.intp)


def session_codes(rows: Sequence[MemoryRow]) -> Codes:
    """Sessions numbered from 0; −1 for none."""
    numbers: dict[UUID | None, int] = {None: -1}
    return np.array([numbers.setdefault(row["session_id"], len(numbers) - 1) for row in rows], dtype=np.intp)


def session_positions(places: SessionPlaces, tables: CandidateTables) -> Codes:
    """The position of each candidate in its session; −1 if the system does not read it."""
    if not places.positions:
        return np.full(len(tables), -1, dtype=np.intp)
    return np.array([places.positions.get(id, -1) for id in tables.ids], dtype=np.intp)


def retriever_scores(ranked: RankedList, rows: list[int], cosine: Array, retriever: str) -> Array:
    """A retriever's scores of all candidates; infinity for those it did not find."""
    scores = np.full(len(cosine), np.inf)
    scores[rows] = cosine[rows] if retriever in BY_COSINE else list(ranked.values())
    return scores


def complete_scores(
    scores: Array, tables: CandidateTables, found_by_others: Sequence[tuple[UUID, float]], cosine: Array, depth: int
) -> Array:
    """A retriever's scores with those of candidates that only others found, as far as they belong in its list."""
    complete = scores.copy()
    for id, score in found_by_others:
        complete[tables.positions[id]] = score
    return np.where(list_ranks(complete, cosine) <= depth, complete, np.inf)


def list_ranks(scores: Array, cosine: Array) -> Array:
    """Ranks by score, then cosine, then id; infinity for what the retriever did not find."""
    return rank_rows(np.flatnonzero(np.isfinite(scores)), scores, cosine, np.arange(len(scores)))


def cluster_cosines(centroids: Sequence[tuple[UUID, bytes]], rows: Sequence[MemoryRow], parsed: ParsedQuery) -> Array:
    """The query's cosine to the centroid of each candidate's cluster; NaN without a cluster."""
    if not centroids:
        return np.full(len(rows), np.nan)
    cosines: dict[UUID | None, float] = {}
    for cluster, packed in centroids:
        centroid = np.asarray(Vector.from_binary(packed).to_list(), dtype=float)
        norm = float(np.linalg.norm(centroid))
        cosines[cluster] = float(centroid @ parsed.vector) / norm if norm else 0.0
    return np.array([cosines.get(row["cluster_id"], np.nan) for row in rows])


def returned_before(tables: CandidateTables, rows: Sequence[tuple[UUID]]) -> Mask:
    """Which candidates were returned earlier in the query's session."""
    returned = np.zeros(len(tables), dtype=bool)
    if tables.query.session:
        returned[[tables.positions[memory] for (memory,) in rows]] = True
    return returned


def candidate_edges(tables: CandidateTables, rows: Sequence[tuple[UUID, UUID, str, float]]) -> Edges:
    """The edges between candidates."""
    return Edges(
        source=np.array([tables.positions[source] for source, *_ in rows], dtype=np.intp),
        target=np.array([tables.positions[target] for _, target, *_ in rows], dtype=np.intp),
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
