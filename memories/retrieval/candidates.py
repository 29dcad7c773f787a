"""What is known of the memories that some route found: from rows to signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import Vector

from memories.db.id_arrays import Ids, format_ids, id_array, id_halves, to_uuids, unite_ids
from memories.db.pipeline import Statement
from memories.models.evidence import HISTORY_COLUMNS
from memories.retrieval.affinity import affinity_shares, affinity_statement
from memories.retrieval.as_of import fold_events
from memories.retrieval.candidate_sql import (
    ACCESSES,
    COLUMNS,
    COSINES,
    NIL_UUID,
    NUMBERS,
    STATEMENTS_BY_NEED,
    STATEMENTS_FOR_ALL,
    TOKENS,
    CandidateTables,
    memory_rows,
)
from memories.retrieval.candidate_vectors import NO_VECTOR, load_candidate_vectors
from memories.retrieval.expected_answer import answer_fit
from memories.retrieval.fetch import Fetched
from memories.retrieval.maxsim import maxsim_features
from memories.retrieval.memory_rows import ALWAYS, MICROSECOND, NEVER, MemoryRows, Timestamps, postgres_microseconds
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.query import Query
from memories.retrieval.ranked_list import RankedList
from memories.retrieval.scope import CandidateScope
from memories.retrieval.session_neighbours import SessionPlaces, session_places
from scoring import signals as known
from scoring.fusion import rank_rows
from scoring.signals import KINDS, LEVELS, TYPES, Edges, Signals
from scoring.systems.candidates import MaxSimParams
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

HOUR, DAY = (timedelta(**one) / MICROSECOND for one in ({"hours": 1}, {"days": 1}))
# Routes whose own score is the cosine that is known of every candidate anyway.
BY_COSINE = frozenset({"semantic", "vec_full"})
# What stands in a column where history tells of nothing.
NULL_VALUES = {"memory_score": np.nan, "valid_from": ALWAYS, "valid_until": NEVER}
NO_ID = id_halves(NIL_UUID)
EDGE_KINDS = {kind: place for place, kind in enumerate(known.EDGE_KINDS)}


@dataclass(frozen=True, eq=False)
class Candidates:
    """The memories that were found, in the order of their ids, as rows and as signals."""

    ids: Ids
    rows: Sequence[Mapping[str, Any]]
    signals: Signals
    fingerprints: Sequence[bytes]  # by which their vectors are known again
    contradictions: Sequence[tuple[UUID, UUID]]  # pairs, one of each is among them

    def __len__(self) -> int:
        return len(self.rows)

    def with_list(self, name: str, ranks: Array, scores: Array | None = None) -> "Candidates":
        """The same candidates with one ranked list more, and its own scores where it has any."""
        ranked = {**self.signals.ranks, name: ranks}
        scored = {**self.signals.scores} if scores is None else {**self.signals.scores, name: scores}
        return replace(self, signals=replace(self.signals, ranks=ranked, scores=scored))


def load_candidates(
    query: Query,
    parsed: ParsedQuery,
    scope: CandidateScope,
    fetched: Fetched,
    params: Any,
    end: Sequence[Statement] = (),
) -> Candidates:
    """Load what a system may ask about the candidates; a fixed number of questions for any number of them.

    What ends their common moment goes along with the last of them; a past one takes more.
    """
    lists = fetched.lists
    ids, stand = unite_ids([listed.ids for listed in lists.values()])
    places = session_places(scope, to_uuids(ids)) if query.config.system.ranks_conversations else SessionPlaces()
    if places.neighbours:
        ids, stand = unite_ids([*(listed.ids for listed in lists.values()), id_array(places.neighbours)])
    facts, where = CandidateTables(query, parsed.embedder, ids), dict(zip(lists, stand, strict=False))
    asked = (
        statements_read_by(query.config.system)
        | token_statement(parsed, scope, params)
        | affinity_statement(query, params)
    )
    near = np.full(len(ids), np.nan)  # until the database tells
    for route, listed in lists.items():
        cosines = listed.scores if route in BY_COSINE else listed.cosines
        if cosines is not None:
            near[where[route]] = cosines
    meant = {**scope.values, "vector": parsed.vector_param, "far": ids[np.isnan(near)]}
    known = facts.fetch(asked, () if query.as_of else end, **meant)
    rows = rows_as_of(facts, scope, memory_rows(known["memories"]))
    cosine, vectors, marks = query_cosines(facts, known, near, parsed)
    tags = tags_by_memory(known.get("tags", ()))
    now, created = postgres_microseconds(query.now), rows.column("created_at")
    scores = {route: retriever_scores(listed, where[route], cosine, route) for route, listed in lists.items()}
    matched = maxsim_features(facts, known.get("tokens", ()), parsed, params)
    if np.isfinite(matched["maxsim"]).any():
        matched |= answer_fit(rows, parsed.expected, scores.get("entity"), matched["met"])
    signals = Signals(
        ids=format_ids(ids),
        sort_keys=np.arange(len(ids)),
        type=category_codes(rows, "type", TYPES),
        kind=category_codes(rows, "kind", KINDS),
        level=category_codes(rows, "level", LEVELS),
        session=session_codes(rows.column("session_id")),
        position=session_positions(places, facts),
        age_days=(now - created) / DAY,
        valid_hours=(now - valid_since(rows)) / HOUR,
        hours_left=hours_left(rows.column("valid_until"), now),
        memory_score=rows.column("memory_score"),
        cosine=cosine,
        cluster_cosine=cluster_cosines(known.get("clusters", ()), rows, parsed),
        **matched,
        entity_match=np.where(np.isfinite(named := scores.get("entity", np.zeros(len(ids)))), named, 0.0),
        affinity=affinity_shares(facts, known.get("mentions", ()), tags, known.get("used most", ())),
        returned=returned_before(facts, known.get("returned", ())),
        ranks={route: list_ranks(listed, cosine) if len(lists[route]) else listed for route, listed in scores.items()},
        scores=scores,
        edges=candidate_edges(facts, known.get("edges", ())),
        vectors=vectors,
        tags=tag_matrix(facts, tags),
        intent=parsed.intent,
        **{name: rows.column(name) for name in NUMBERS},
    )
    return Candidates(ids, rows, signals, marks, known["contradictions"])


def valid_since(rows: MemoryRows) -> Timestamps:
    """Since when each memory holds: as it says, or else since it was stored."""
    said: Timestamps = rows.column("valid_from")
    return np.where(said == ALWAYS, rows.column("created_at"), said)


def hours_left(until: Timestamps, now: int) -> Array:
    """How long each memory holds from now on; some hold for ever."""
    return np.where(until == NEVER, np.inf, (until - now) / HOUR)


def statements_read_by(system: System) -> dict[str, str]:
    """The questions whose answers a system reads; who reads no vectors needs to know only how near they are."""
    near = {} if "vectors" in system.optional_features else {"cosines": COSINES}
    return {
        **STATEMENTS_FOR_ALL,
        **near,
        **{name: one for name, one in STATEMENTS_BY_NEED.items() if name in system.optional_features},
    }


def token_statement(parsed: ParsedQuery, scope: CandidateScope, params: Any) -> dict[str, str]:
    """The question for the states of words, where the query has some and the system matches them."""
    matched = isinstance(params, MaxSimParams) and parsed.tokens is not None and len(parsed.tokens)
    return {"tokens": TOKENS.format(standing=scope.active)} if matched else {}


def query_cosines(
    facts: CandidateTables, known: Mapping[str, Sequence[Any]], near: Array, parsed: ParsedQuery
) -> tuple[Array, Array | None, Sequence[bytes]]:
    """The query's cosine to each candidate, 0 where there is no vector; and the vectors with their marks if read."""
    if "vectors" in known and len(facts):
        vectors, marks = load_candidate_vectors(facts, known["vectors"])
        cosine = np.clip(vectors @ parsed.vector, -1.0, 1.0)
        cosine[[mark == NO_VECTOR for mark in marks]] = 0.0
        return cosine, vectors, marks
    for (far,) in known.get("cosines", ()):
        near[np.isnan(near)] = [] if far is None else far
    return np.clip(near, -1.0, 1.0), None, [NO_VECTOR] * len(facts)


def rows_as_of(facts: CandidateTables, scope: CandidateScope, rows: MemoryRows) -> MemoryRows:
    """The rows of the candidates; of a past moment, with the numbers of then."""
    as_of = facts.query.as_of
    if as_of is None:
        return rows
    told = fold_events(facts.query.namespace, facts.ids, as_of)
    used = dict(facts.fetch({"accesses": ACCESSES}, gone=list(scope.hidden_since))["accesses"])
    for place, id in enumerate(rows.ids):
        for name, value in told.get(id, {}).items():
            if name in COLUMNS and name in HISTORY_COLUMNS:
                rows.column(name)[place] = stored_value(name, value)
        rows.column("access_count")[place] = used.get(id, 0)
    return rows


def stored_value(name: str, value: Any) -> Any:
    """What history tells of a column, as a candidate's columns have it."""
    if name in NULL_VALUES and value is None:
        return NULL_VALUES[name]
    return postgres_microseconds(datetime.fromisoformat(value)) if name in ("valid_from", "valid_until") else value


def category_codes(rows: MemoryRows, name: str, order: Sequence[str]) -> Codes:
    """A word of each row as its place among the words that scoring knows."""
    codes = {word: place for place, word in enumerate(order)}
    return np.fromiter(map(codes.__getitem__, rows.column(name)), np.intp, len(rows))


def session_codes(ids: Ids) -> Codes:
    """Equal ids as equal numbers from 0 on; −1 where there is none."""
    numbers = {NO_ID: -1}
    return np.fromiter((numbers.setdefault(id, len(numbers) - 1) for id in ids.tolist()), np.intp, len(ids))


def session_positions(places: SessionPlaces, facts: CandidateTables) -> Codes:
    """Where each candidate stands in its session; −1 where nobody asked."""
    if not places.positions:
        return np.full(len(facts), -1, dtype=np.intp)
    return np.array([places.positions.get(id, -1) for id in facts.ids], dtype=np.intp)


def retriever_scores(ranked: RankedList, places: Codes, cosine: Array, retriever: str) -> Array:
    """A route's own scores of all candidates; infinity where it did not find one."""
    whole = np.full(len(cosine), np.inf)
    whole[places] = cosine[places] if retriever in BY_COSINE else ranked.scores
    return whole


def list_ranks(scores: Array, cosine: Array) -> Array:
    """Places in a route's list: falling score, then cosine, then id; what it did not find has none."""
    return rank_rows(np.flatnonzero(np.isfinite(scores)), scores, cosine, np.arange(len(scores)))


def cluster_cosines(centroids: Sequence[tuple[UUID, bytes]], rows: MemoryRows, parsed: ParsedQuery) -> Array:
    """The query's cosine to the middle of each candidate's cluster; NaN where it has none."""
    if not centroids:
        return np.full(len(rows), np.nan)
    near: dict[tuple[int, int], float] = {}
    for cluster, centroid in centroids:
        middle = np.asarray(Vector.from_binary(centroid).to_list(), dtype=float)
        length = float(np.linalg.norm(middle))
        near[id_halves(cluster)] = float(middle @ parsed.vector) / length if length else 0.0
    return np.array([near.get(cluster, np.nan) for cluster in rows.column("cluster_id").tolist()])


def returned_before(facts: CandidateTables, rows: Sequence[tuple[UUID]]) -> Mask:
    """Which candidates were returned earlier in the same session; without a session none was."""
    whole = np.zeros(len(facts), dtype=bool)
    if facts.query.session:
        whole[[facts.positions[memory.int] for (memory,) in rows]] = True
    return whole


def candidate_edges(facts: CandidateTables, rows: Sequence[tuple[UUID, UUID, str, float]]) -> Edges:
    """The edges that join candidates."""
    return Edges(
        source=np.array([facts.positions[source.int] for source, *_ in rows], dtype=np.intp),
        target=np.array([facts.positions[target.int] for _, target, *_ in rows], dtype=np.intp),
        kind=np.array([EDGE_KINDS[kind] for *_, kind, _ in rows], dtype=np.intp),
        weight=np.array([weight for *_, weight in rows], dtype=float),
    )


def tags_by_memory(rows: Iterable[tuple[UUID, str]]) -> dict[UUID, set[str]]:
    """The tags of each candidate."""
    tags: dict[UUID, set[str]] = {}
    for memory, tag in rows:
        tags.setdefault(memory, set()).add(tag)
    return tags


def tag_matrix(facts: CandidateTables, tags: Mapping[UUID, set[str]]) -> Mask:
    """One row for each candidate, one column for each tag."""
    if not tags:
        return np.zeros((len(facts), 0), bool)
    names = {tag: place for place, tag in enumerate(sorted({tag for some in tags.values() for tag in some}))}
    matrix = np.zeros((len(facts), len(names)), bool)
    for place, id in enumerate(facts.ids):
        matrix[place, [names[tag] for tag in tags.get(id, ())]] = True
    return matrix
