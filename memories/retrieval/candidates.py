"""What is known of the memories that some route found: from rows to signals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np

from memories.models import Cluster, DailyAccess, Memory, MemoryEdge, MemoryTag, SessionReturn
from memories.models.choices import ChunkLevel, EdgeKind, Kind, MemoryType
from memories.retrieval.affinity import affinities
from memories.retrieval.asking import Found
from memories.retrieval.coverage import coverages
from memories.retrieval.past import told_by
from memories.retrieval.query import Query
from memories.retrieval.reading import Reading
from memories.retrieval.scope import Scope
from memories.retrieval.sessions import Places, places_in_sessions
from memories.retrieval.vectors import MISSING, maxsims, vectors_of
from memories.writing.standing import HISTORY
from scoring.fusion import ranked
from scoring.signals import EDGES, KINDS, LEVELS, TYPES, Edges, Signals
from scoring.term import Array, Mask

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
COLUMNS = (
    *("id", "type", "kind", "level", "content", "subject_id", "session_id", "cluster_id", "created_at", "happened_at"),
    *("confidence", "belief", "provenance_depth", "importance", "quality", "memory_score", "access_count"),
    *("useful", "not_useful", "valid_from", "valid_until", "type_uncertain", "status"),
)
# Routes whose own score is the cosine that is known of every candidate anyway, and better than an index tells it.
BY_COSINE = ("semantic", "vec_full")


@dataclass(frozen=True, eq=False)
class Candidates:
    """The memories that were found, in the order of their ids, as rows and as signals."""

    rows: Sequence[Mapping[str, Any]]
    signals: Signals
    marks: Sequence[bytes]  # by which their vectors are known again

    def __len__(self) -> int:
        return len(self.rows)

    def with_list(self, name: str, ranks: Array) -> "Candidates":
        """The same candidates with one ranked list more."""
        return replace(self, signals=replace(self.signals, ranks={**self.signals.ranks, name: ranks}))


def candidates(query: Query, reading: Reading, scope: Scope, found: Found) -> Candidates:
    """Load what every system may ask about the candidates; a fixed number of questions for any number of them."""
    ids = sorted({memory for scores in found.scores.values() for memory in scores})
    places = places_in_sessions(scope, ids) if query.setting.system.conversations else Places()
    rows = load(query, sorted({*ids, *places.beside}))
    ids = [row["id"] for row in rows]
    vectors, marks = vectors_of(query.namespace, ids, reading.embedder)
    cosine = np.clip(vectors @ reading.vector, -1.0, 1.0)
    cosine[[mark == MISSING for mark in marks]] = 0.0
    tags = tags_of(query, ids)
    names = np.array([str(id) for id in ids])
    scores = {route: column(ids, cosine, route, found.scores[route]) for route in found.scores}
    signals = Signals(
        ids=names,
        type=coded(rows, "type", MemoryType.values, TYPES),
        kind=coded(rows, "kind", Kind.values, KINDS),
        level=coded(rows, "level", ChunkLevel.values, LEVELS),
        session=numbered([row["session_id"] for row in rows]),
        position=np.array([places.positions.get(id, -1) for id in ids], dtype=np.intp),
        age_days=np.array([(query.now - row["created_at"]) / DAY for row in rows]),
        valid_hours=np.array([(query.now - (row["valid_from"] or row["created_at"])) / HOUR for row in rows]),
        hours_left=np.array(
            [np.inf if row["valid_until"] is None else (row["valid_until"] - query.now) / HOUR for row in rows]
        ),
        memory_score=np.array([np.nan if row["memory_score"] is None else row["memory_score"] for row in rows]),
        cosine=cosine,
        cluster_cosine=cluster_cosines(query, rows, reading),
        maxsim=maxsims(query.namespace, ids, reading),
        coverage=coverages(query, reading, scope, ids),
        entity_match=np.array([found.scores.get("entity", {}).get(id, 0.0) for id in ids]),
        affinity=affinities(query, ids, tags),
        returned=returned(query, ids),
        ranks={route: rank(signals_scores, cosine) for route, signals_scores in scores.items()},
        scores=scores,
        edges=edges_among(query, ids),
        vectors=vectors if len(ids) else None,
        tags=tag_matrix(ids, tags),
        intent=reading.intent,
        **{name: np.array([float(row[name]) for row in rows]) for name in PLAIN},
    )
    return Candidates(rows, signals, marks)


PLAIN = (
    *("confidence", "belief", "provenance_depth", "importance", "quality"),
    *("access_count", "useful", "not_useful"),
)


def load(query: Query, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """The rows of the candidates; of a past moment, with the numbers of then."""
    found = Memory.objects.within(query.namespace).filter(id__in=ids).order_by("id")
    rows = list(found.values(*COLUMNS))
    if query.as_of is None:
        return rows
    told = told_by(query.namespace, ids, query.as_of)
    used = accesses_by(query, ids)
    for row in rows:
        then = {name: value for name, value in told.get(row["id"], {}).items() if name in row and name in HISTORY}
        for name in ("valid_from", "valid_until"):
            if isinstance(then.get(name), str):
                then[name] = query.as_of.fromisoformat(then[name])
        row.update(then, access_count=used.get(row["id"], 0))
    return rows


def accesses_by(query: Query, ids: Sequence[UUID]) -> dict[UUID, int]:
    """How often each memory had been accessed by the end of a past day."""
    counted: dict[UUID, int] = {}
    days = DailyAccess.objects.within(query.namespace).filter(memory_id__in=ids, day__lte=query.now.date())
    for memory, count in days.values_list("memory_id", "count"):
        counted[memory] = counted.get(memory, 0) + count
    return counted


def coded(rows: Sequence[Mapping[str, Any]], name: str, allowed: Sequence[str], order: Sequence[str]) -> Any:
    """A word of each row as its place among the words that scoring knows."""
    codes = {word: order.index(word) for word in allowed}
    return np.array([codes[row[name]] for row in rows], dtype=np.intp)


def numbered(values: Sequence[Any]) -> Any:
    """Equal values as equal numbers from 0 on; −1 where there is none."""
    known = {value: number for number, value in enumerate(sorted({value for value in values if value}))}
    return np.array([known.get(value, -1) for value in values], dtype=np.intp)


def column(ids: Sequence[UUID], cosine: Array, route: str, scores: Mapping[UUID, float]) -> Array:
    """A route's own scores of all candidates; infinity where it did not find one."""
    if route in BY_COSINE:
        return np.array([cosine[place] if id in scores else np.inf for place, id in enumerate(ids)])
    return np.array([scores.get(id, np.inf) for id in ids])


def rank(scores: Array, cosine: Array) -> Array:
    """Places in a route's list: falling score, then cosine, then id; what it did not find has none."""
    there = np.isfinite(scores)
    # A cosine may be negative, and a place in the list is a place all the same.
    lifted = np.where(there, scores - scores[there].min(initial=0.0) + 1.0, 0.0)
    return ranked(lifted, cosine, np.arange(len(scores)))


def cluster_cosines(query: Query, rows: Sequence[Mapping[str, Any]], reading: Reading) -> Array:
    """The query's cosine to the middle of each candidate's cluster; NaN where it has none."""
    wanted = {row["cluster_id"] for row in rows if row["cluster_id"]}
    stored = Cluster.objects.within(query.namespace).filter(id__in=wanted, embedder=reading.embedder) if wanted else []
    near: dict[UUID, float] = {}
    for cluster in stored:
        centroid = np.asarray(cluster.centroid, dtype=float)
        length = float(np.linalg.norm(centroid))
        near[cluster.id] = float(centroid @ reading.vector) / length if length else 0.0
    return np.array([near.get(row["cluster_id"], np.nan) for row in rows])


def returned(query: Query, ids: Sequence[UUID]) -> Mask:
    """Which candidates were returned earlier in the same session."""
    if not query.session:
        return np.zeros(len(ids), bool)
    before = SessionReturn.objects.within(query.namespace).filter(
        user=query.user, session=query.session, memory_id__in=list(ids), returned_at__lte=query.now
    )
    known = set(before.values_list("memory_id", flat=True))
    return np.array([id in known for id in ids], dtype=bool)


def edges_among(query: Query, ids: Sequence[UUID]) -> Edges:
    """The edges that join candidates."""
    places = {id: place for place, id in enumerate(ids)}
    found = MemoryEdge.objects.within(query.namespace).filter(
        source_id__in=list(ids), target_id__in=list(ids), created_at__lte=query.now
    )
    rows = list(found.order_by("id").values_list("source_id", "target_id", "kind", "weight"))
    kinds = {kind: EDGES.index(kind) for kind in EdgeKind.values}
    return Edges(
        source=np.array([places[source] for source, *_ in rows], dtype=np.intp),
        target=np.array([places[target] for _, target, *_ in rows], dtype=np.intp),
        kind=np.array([kinds[kind] for *_, kind, _ in rows], dtype=np.intp),
        weight=np.array([weight for *_, weight in rows], dtype=float),
    )


def tags_of(query: Query, ids: Sequence[UUID]) -> dict[UUID, set[str]]:
    """The tags of each candidate."""
    tags: dict[UUID, set[str]] = {}
    stored = MemoryTag.objects.within(query.namespace).filter(memory_id__in=list(ids))
    for memory, tag in stored.values_list("memory_id", "tag"):
        tags.setdefault(memory, set()).add(tag)
    return tags


def tag_matrix(ids: Sequence[UUID], tags: Mapping[UUID, set[str]]) -> Mask:
    """One row for each candidate, one column for each tag."""
    names = {tag: place for place, tag in enumerate(sorted({tag for some in tags.values() for tag in some}))}
    matrix = np.zeros((len(ids), len(names)), bool)
    for place, id in enumerate(ids):
        matrix[place, [names[tag] for tag in tags.get(id, ())]] = True
    return matrix
