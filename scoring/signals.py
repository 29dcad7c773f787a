"""What a system may know of its candidates: a struct of arrays, one entry per candidate.

Nothing here comes from a clock or a database; the caller measures ages against its own `as_of`. Ranks count from 1 and
infinity is absent; an expiry of infinity never comes; a memory score or cluster similarity that is not there is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scoring.batches import Batches
from scoring.diversity import Vectors, Words, packed
from scoring.term import Array, Codes, Mask, Term, given

TYPES = ("Entity", "Event", "Fact", "Preference", "Relation")
KINDS = ("working", "episodic", "semantic", "procedural", "general")
LEVELS = ("session", "turn", "fact", "summary")
EDGES = (
    "supports",
    "extends",
    "continuation",
    "detail_of",
    "summary_of",
    "similar",
    "references",
    "derived_from",
    "caused_by",
    "contradiction",
)
RETRIEVERS = ("semantic", "bm25", "entity", "temporal", "traversal")
ROUTES = (
    "vec_full",
    "vec_user",
    "vec_asst",
    "vec_next_user",
    "lexical",
    "facet_personal_info",
    "facet_preferences",
    "facet_events",
)
INTENTS = ("HIGH", "MEDIUM", "LOW")
AT_ONCE = 4096  # candidates whose columns are checked together: there are many columns, and mostly few candidates
UNIT_TOLERANCE = 0.01  # of a squared length; half-precision storage shortens vectors a little


def column(neutral: float, dtype: type = float) -> Any:
    """An array that holds one neutral value throughout unless it is given."""
    return field(default=None, metadata={"neutral": neutral, "dtype": dtype})


@dataclass(frozen=True)
class Edges:
    """Typed edges between candidates, by their positions; `kind` counts into `EDGES`."""

    source: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    target: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    kind: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    weight: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def both_ways(self) -> tuple[Codes, Codes, Codes]:
        """Every edge once in each direction, ordered by where it starts: start, end and kind."""
        start, end = np.concatenate([self.source, self.target]), np.concatenate([self.target, self.source])
        order = np.argsort(start, kind="stable")
        return start[order], end[order], np.concatenate([self.kind, self.kind])[order]


@dataclass(frozen=True, kw_only=True, eq=False)
class Signals:
    """Everything the scoring systems may ask about a batch of candidates."""

    ids: NDArray[Any]

    type: Codes = column(TYPES.index("Fact"), np.intp)
    kind: Codes = column(KINDS.index("general"), np.intp)
    level: Codes = column(LEVELS.index("fact"), np.intp)
    session: Codes = column(-1, np.intp)
    position: Codes = column(-1, np.intp)

    age_days: Array = column(0.0)
    valid_hours: Array = column(0.0)
    hours_left: Array = column(np.inf)

    confidence: Array = column(1.0)
    belief: Array = column(5.0)
    provenance_depth: Array = column(0.0)
    importance: Array = column(0.5)
    quality: Array = column(0.5)
    memory_score: Array = column(np.nan)
    access_count: Array = column(0.0)
    useful: Array = column(0.0)
    not_useful: Array = column(0.0)

    cosine: Array = column(0.0)
    cluster_cosine: Array = column(np.nan)
    maxsim: Array = column(np.inf)
    met: Array = column(1.0)
    unmet: Array = column(0.0)
    of_whom: Array = column(1.0)
    of_what: Mask = column(True, np.bool_)
    entity_match: Array = column(0.0)
    affinity: Array = column(0.0)
    returned: Mask = column(False, np.bool_)

    ranks: Mapping[str, Array] = field(default_factory=dict)
    scores: Mapping[str, Array] = field(default_factory=dict)
    edges: Edges = field(default_factory=Edges)
    vectors: Vectors | None = None
    tags: Mask | None = None
    intent: str = "MEDIUM"
    lengths: Codes | None = None  # of the batches, where the candidates are those of several queries
    vector_of: Codes | None = None  # the place of each candidate's vector, where several share one
    places: Codes | None = None  # by id, where they are known: to sort so many ids takes longer than to score them

    def __post_init__(self) -> None:
        columns = []
        for name, (neutral, dtype) in self.columns().items():
            value = getattr(self, name)
            whole = np.full(len(self), neutral, dtype) if value is None else np.asarray(value, dtype)
            object.__setattr__(self, name, whole)
            columns.append((name, whole, neutral))
        for kind, lists in (("rank", self.ranks), ("score", self.scores)):
            columns += [(f"{route} {kind}", listed, np.inf) for route, listed in lists.items()]
        self._check(columns)
        if self.vectors is not None:
            object.__setattr__(self, "vectors", np.asarray(self.vectors, np.float32))
        self._check_relations()

    @classmethod
    @cache
    def columns(cls) -> Mapping[str, tuple[float, Any]]:
        """The names of the columns, and what each holds: the neutral value and the kind."""
        known = ((one.name, one.metadata) for one in fields(cls))
        return {name: (said["neutral"], said["dtype"]) for name, said in known if "neutral" in said}

    def _check(self, columns: Sequence[tuple[str, NDArray[Any], float]]) -> None:
        """Refuse a column of another length, and values that are neither numbers nor the column's word for absent."""
        whole = (len(self),)
        for name, column, _ in columns:
            if column.shape != whole:
                raise ValueError(f"{name} must have one value for each of {len(self)} candidates; got {column.shape}")
        numbers = [one for one in columns if one[1].dtype.kind == "f"]
        absent = np.array([[word] for _, _, word in numbers])
        for start in range(0, len(self), AT_ONCE):
            values = np.array([column[start : start + AT_ONCE] for _, column, _ in numbers])
            there = (values > -np.inf) & ((values < np.inf) | (absent == np.inf))
            known = there | (np.isnan(values) & np.isnan(absent))
            if not known.all():
                place, row = np.argwhere(~known)[0].tolist()
                name, column, word = numbers[place]
                allowed = "a finite number" + ("" if np.isfinite(word) else f", or {word:g} where it is absent")
                got = f"{column[start + row]:g} for candidate {self.ids[start + row]}"
                raise ValueError(f"{name} must be {allowed}; got {got}")

    def _check_relations(self) -> None:
        """Refuse vectors that are not of length 1, tags of other candidates, and edges that lead nowhere."""
        n = len(self)
        if self.vectors is not None:
            if self.vector_of is None and len(self.vectors) != n:
                raise ValueError(f"vectors must be one for each of {n} candidates; got {len(self.vectors)}")
            lengths = np.einsum("ij,ij->i", self.vectors, self.vectors)
            if not (np.abs(lengths - 1.0) < UNIT_TOLERANCE).all():
                raise ValueError("vectors must have length 1; got one that has not")
        if self.tags is not None and len(self.tags) != n:
            raise ValueError(f"tags must be one row for each of {n} candidates; got {len(self.tags)}")
        ends = np.concatenate([self.edges.source, self.edges.target])
        if ends.size and not (ends.min() >= 0 and ends.max() < n):
            raise ValueError(f"edges must join candidates 0 to {n - 1}; got one to {ends.max()}")

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def batches(self) -> Batches:
        """The candidates of each query."""
        return Batches(np.array([len(self)]) if self.lengths is None else self.lengths)

    def vectors_of(self, rows: Codes) -> Vectors:
        """The vectors of some candidates."""
        assert self.vectors is not None
        return self.vectors[rows if self.vector_of is None else self.vector_of[rows]]

    @cached_property
    def by_id(self) -> Codes:
        """The place of each candidate of a batch in the order of its ids, the last word in every tie."""
        order = np.argsort(self.ids if self.places is None else self.places, kind="stable")
        place = np.empty(len(self), np.intp)
        if len(self.batches) == 1:
            place[order] = np.arange(len(self))
            return place
        order = order[np.argsort(self.batches.of_each[order], kind="stable")]
        place[order] = np.arange(len(self)) - self.batches.starts[self.batches.of_each[order]]
        return place

    @cached_property
    def tag_words(self) -> Words | None:
        """The tags of each candidate, as bits."""
        return None if self.tags is None else packed(self.tags)

    def rank(self, route: str) -> Array:
        """The candidates' places in one route's list; a route that was not asked found nobody."""
        return self.ranks[route] if route in self.ranks else np.full(len(self), np.inf)

    def placed(self, route: str) -> Term:
        """The same as a term, made once however often they are scored."""
        if route not in self._placed:
            self._placed[route] = given(f"{route} rank", self.rank(route))
        return self._placed[route]

    @cached_property
    def _placed(self) -> dict[str, Term]:
        return {}

    def raw(self, route: str) -> Array:
        """The route's own scores; infinity where it did not find the candidate."""
        return self.scores[route] if route in self.scores else np.full(len(self), np.inf)

    def permuted(self, order: Codes) -> Self:
        """The same candidates in another order."""
        place = np.argsort(order)
        moved = {name: getattr(self, name)[order] for name in self.columns()}
        edges = Edges(place[self.edges.source], place[self.edges.target], self.edges.kind, self.edges.weight)
        return type(self)(
            ids=self.ids[order],
            ranks={route: rank[order] for route, rank in self.ranks.items()},
            scores={route: score[order] for route, score in self.scores.items()},
            edges=edges,
            vectors=None if self.vectors is None else self.vectors[order],
            tags=None if self.tags is None else self.tags[order],
            intent=self.intent,
            **moved,
        )
