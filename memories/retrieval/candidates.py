"""What is known of the memories that some route found: from rows to signals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import Vector

from memories.id_arrays import Ids, array_of, halves, united, uuids, written
from memories.journey import Statement
from memories.retrieval.affinity import affinities, used_most
from memories.retrieval.asking import Found
from memories.retrieval.expecting import fitting
from memories.retrieval.facts import (
    ACCESSES,
    COLUMNS,
    COSINES,
    FOR_ALL,
    FOR_SOME,
    NOBODY,
    NUMBERS,
    TOKENS,
    Facts,
    rows_of,
)
from memories.retrieval.listed import Listed
from memories.retrieval.matching import matches
from memories.retrieval.past import told_by
from memories.retrieval.query import Query
from memories.retrieval.reading import Reading
from memories.retrieval.rows import ALWAYS, MICROSECOND, NEVER, Moments, Rows, moment
from memories.retrieval.scope import Scope
from memories.retrieval.sessions import Places, places_in_sessions
from memories.retrieval.vectors import MISSING, vectors_of
from memories.writing.standing import HISTORY
from scoring import signals as known
from scoring.fusion import placed
from scoring.signals import KINDS, LEVELS, TYPES, Edges, Signals
from scoring.systems.candidates import WordMatch
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

HOUR, DAY = (timedelta(**one) / MICROSECOND for one in ({"hours": 1}, {"days": 1}))
# Routes whose own score is the cosine that is known of every candidate anyway.
BY_COSINE = frozenset({"semantic", "vec_full"})
# What stands in a column where history tells of nothing.
ABSENT = {"memory_score": np.nan, "valid_from": ALWAYS, "valid_until": NEVER}
NONE = halves(NOBODY)
EDGE_KINDS = {kind: place for place, kind in enumerate(known.EDGES)}


@dataclass(frozen=True, eq=False)
class Candidates:
    """The memories that were found, in the order of their ids, as rows and as signals."""

    ids: Ids
    rows: Sequence[Mapping[str, Any]]
    signals: Signals
    marks: Sequence[bytes]  # by which their vectors are known again
    contradictions: Sequence[tuple[UUID, UUID]]  # pairs, one of each is among them

    def __len__(self) -> int:
        return len(self.rows)

    def with_list(self, name: str, ranks: Array, scores: Array | None = None) -> "Candidates":
        """The same candidates with one ranked list more, and its own scores where it has any."""
        ranked = {**self.signals.ranks, name: ranks}
        scored = {**self.signals.scores} if scores is None else {**self.signals.scores, name: scores}
        return replace(self, signals=replace(self.signals, ranks=ranked, scores=scored))


def candidates(
    query: Query, reading: Reading, scope: Scope, found: Found, params: Any, end: Sequence[Statement] = ()
) -> Candidates:
    """Load what a system may ask about the candidates; a fixed number of questions for any number of them.

    What ends their common moment goes along with the last of them; a past one takes more.
    """
    lists = found.scores
    ids, stand = united([listed.ids for listed in lists.values()])
    places = places_in_sessions(scope, uuids(ids)) if query.setting.system.conversations else Places()
    if places.beside:
        ids, stand = united([*(listed.ids for listed in lists.values()), array_of(places.beside)])
    facts, where = Facts(query, reading.embedder, ids), dict(zip(lists, stand, strict=False))
    asked = read_by(query.setting.system) | tokens_for(reading, scope, params) | used_most(query, params)
    near = np.full(len(ids), np.nan)  # until the database tells
    for route, listed in lists.items():
        cosines = listed.scores if route in BY_COSINE else listed.cosines
        if cosines is not None:
            near[where[route]] = cosines
    meant = {**scope.values, "vector": reading.sent, "far": ids[np.isnan(near)]}
    known = facts.ask(asked, () if query.as_of else end, **meant)
    rows = then(facts, scope, rows_of(known["memories"]))
    cosine, vectors, marks = meaning(facts, known, near, reading)
    tags = tags_of(known.get("tags", ()))
    now, created = moment(query.now), rows.column("created_at")
    scores = {route: column(listed, where[route], cosine, route) for route, listed in lists.items()}
    matched = matches(facts, known.get("tokens", ()), reading, params)
    if np.isfinite(matched["maxsim"]).any():
        matched |= fitting(rows, reading.expects, scores.get("entity"), matched["met"])
    signals = Signals(
        ids=written(ids),
        places=np.arange(len(ids)),
        type=coded(rows, "type", TYPES),
        kind=coded(rows, "kind", KINDS),
        level=coded(rows, "level", LEVELS),
        session=numbered(rows.column("session_id")),
        position=positions(places, facts),
        age_days=(now - created) / DAY,
        valid_hours=(now - since(rows)) / HOUR,
        hours_left=hours_left(rows.column("valid_until"), now),
        memory_score=rows.column("memory_score"),
        cosine=cosine,
        cluster_cosine=cluster_cosines(known.get("clusters", ()), rows, reading),
        **matched,
        entity_match=np.where(np.isfinite(named := scores.get("entity", np.zeros(len(ids)))), named, 0.0),
        affinity=affinities(facts, known.get("mentions", ()), tags, known.get("used most", ())),
        returned=returned(facts, known.get("returned", ())),
        ranks={route: places_of(listed, cosine) if len(lists[route]) else listed for route, listed in scores.items()},
        scores=scores,
        edges=edges_among(facts, known.get("edges", ())),
        vectors=vectors,
        tags=tag_matrix(facts, tags),
        intent=reading.intent,
        **{name: rows.column(name) for name in NUMBERS},
    )
    return Candidates(ids, rows, signals, marks, known["contradictions"])


def since(rows: Rows) -> Moments:
    """Since when each memory holds: as it says, or else since it was stored."""
    said: Moments = rows.column("valid_from")
    return np.where(said == ALWAYS, rows.column("created_at"), said)


def hours_left(until: Moments, now: int) -> Array:
    """How long each memory holds from now on; some hold for ever."""
    return np.where(until == NEVER, np.inf, (until - now) / HOUR)


def read_by(system: System) -> dict[str, str]:
    """The questions whose answers a system reads; who reads no vectors needs to know only how near they are."""
    near = {} if "vectors" in system.reads else {"cosines": COSINES}
    return {**FOR_ALL, **near, **{name: one for name, one in FOR_SOME.items() if name in system.reads}}


def tokens_for(reading: Reading, scope: Scope, params: Any) -> dict[str, str]:
    """The question for the states of words, where the query has some and the system matches them."""
    matched = isinstance(params, WordMatch) and reading.tokens is not None and len(reading.tokens)
    return {"tokens": TOKENS.format(standing=scope.standing)} if matched else {}


def meaning(
    facts: Facts, known: Mapping[str, Sequence[Any]], near: Array, reading: Reading
) -> tuple[Array, Array | None, Sequence[bytes]]:
    """The query's cosine to each candidate, 0 where there is no vector; and the vectors with their marks if read."""
    if "vectors" in known and len(facts):
        vectors, marks = vectors_of(facts, known["vectors"])
        cosine = np.clip(vectors @ reading.vector, -1.0, 1.0)
        cosine[[mark == MISSING for mark in marks]] = 0.0
        return cosine, vectors, marks
    for (far,) in known.get("cosines", ()):
        near[np.isnan(near)] = [] if far is None else far
    return np.clip(near, -1.0, 1.0), None, [MISSING] * len(facts)


def then(facts: Facts, scope: Scope, rows: Rows) -> Rows:
    """The rows of the candidates; of a past moment, with the numbers of then."""
    as_of = facts.query.as_of
    if as_of is None:
        return rows
    told = told_by(facts.query.namespace, facts.ids, as_of)
    used = dict(facts.ask({"accesses": ACCESSES}, gone=list(scope.gone))["accesses"])
    for place, id in enumerate(rows.ids):
        for name, value in told.get(id, {}).items():
            if name in COLUMNS and name in HISTORY:
                rows.column(name)[place] = as_stored(name, value)
        rows.column("access_count")[place] = used.get(id, 0)
    return rows


def as_stored(name: str, told: Any) -> Any:
    """What history tells of a column, as a candidate's columns have it."""
    if name in ABSENT and told is None:
        return ABSENT[name]
    return moment(datetime.fromisoformat(told)) if name in ("valid_from", "valid_until") else told


def coded(rows: Rows, name: str, order: Sequence[str]) -> Codes:
    """A word of each row as its place among the words that scoring knows."""
    codes = {word: place for place, word in enumerate(order)}
    return np.fromiter(map(codes.__getitem__, rows.column(name)), np.intp, len(rows))


def numbered(ids: Ids) -> Codes:
    """Equal ids as equal numbers from 0 on; −1 where there is none."""
    numbers = {NONE: -1}
    return np.fromiter((numbers.setdefault(id, len(numbers) - 1) for id in ids.tolist()), np.intp, len(ids))


def positions(places: Places, facts: Facts) -> Codes:
    """Where each candidate stands in its session; −1 where nobody asked."""
    if not places.positions:
        return np.full(len(facts), -1, dtype=np.intp)
    return np.array([places.positions.get(id, -1) for id in facts.ids], dtype=np.intp)


def column(listed: Listed, places: Codes, cosine: Array, route: str) -> Array:
    """A route's own scores of all candidates; infinity where it did not find one."""
    whole = np.full(len(cosine), np.inf)
    whole[places] = cosine[places] if route in BY_COSINE else listed.scores
    return whole


def places_of(scores: Array, cosine: Array) -> Array:
    """Places in a route's list: falling score, then cosine, then id; what it did not find has none."""
    return placed(np.flatnonzero(np.isfinite(scores)), scores, cosine, np.arange(len(scores)))


def cluster_cosines(centroids: Sequence[tuple[UUID, bytes]], rows: Rows, reading: Reading) -> Array:
    """The query's cosine to the middle of each candidate's cluster; NaN where it has none."""
    if not centroids:
        return np.full(len(rows), np.nan)
    near: dict[tuple[int, int], float] = {}
    for cluster, centroid in centroids:
        middle = np.asarray(Vector.from_binary(centroid).to_list(), dtype=float)
        length = float(np.linalg.norm(middle))
        near[halves(cluster)] = float(middle @ reading.vector) / length if length else 0.0
    return np.array([near.get(cluster, np.nan) for cluster in rows.column("cluster_id").tolist()])


def returned(facts: Facts, rows: Sequence[tuple[UUID]]) -> Mask:
    """Which candidates were returned earlier in the same session; without a session none was."""
    whole = np.zeros(len(facts), dtype=bool)
    if facts.query.session:
        whole[[facts.places[memory.int] for (memory,) in rows]] = True
    return whole


def edges_among(facts: Facts, rows: Sequence[tuple[UUID, UUID, str, float]]) -> Edges:
    """The edges that join candidates."""
    return Edges(
        source=np.array([facts.places[source.int] for source, *_ in rows], dtype=np.intp),
        target=np.array([facts.places[target.int] for _, target, *_ in rows], dtype=np.intp),
        kind=np.array([EDGE_KINDS[kind] for *_, kind, _ in rows], dtype=np.intp),
        weight=np.array([weight for *_, weight in rows], dtype=float),
    )


def tags_of(rows: Iterable[tuple[UUID, str]]) -> dict[UUID, set[str]]:
    """The tags of each candidate."""
    tags: dict[UUID, set[str]] = {}
    for memory, tag in rows:
        tags.setdefault(memory, set()).add(tag)
    return tags


def tag_matrix(facts: Facts, tags: Mapping[UUID, set[str]]) -> Mask:
    """One row for each candidate, one column for each tag."""
    if not tags:
        return np.zeros((len(facts), 0), bool)
    names = {tag: place for place, tag in enumerate(sorted({tag for some in tags.values() for tag in some}))}
    matrix = np.zeros((len(facts), len(names)), bool)
    for place, id in enumerate(facts.ids):
        matrix[place, [names[tag] for tag in tags.get(id, ())]] = True
    return matrix
