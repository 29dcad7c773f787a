"""Features of the candidates: a struct of arrays, one entry per candidate.

No clock and no database: the caller computes ages against its own `as_of`. Ranks count from 1, infinity is absent; an
infinite expiry means none; a missing memory score or cluster similarity is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scoring.batches import Batches
from scoring.diversity import BitSets, Vectors, pack_tags
from scoring.term import Array, Codes, Mask, Term, feature

TYPES = ("Entity", "Event", "Fact", "Preference", "Relation")
KINDS = ("working", "episodic", "semantic", "procedural", "general")
LEVELS = ("session", "turn", "fact", "summary")
EDGE_KINDS = (
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
MEMSENSE_RETRIEVERS = (
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
NO_EMPHASIS = "none"
EMPHASES = ("factual", "recent", "analytical")
CHECK_BLOCK_SIZE = 4096  # candidates validated per block, to bound the temporary array
UNIT_TOLERANCE = 0.01  # of a squared norm; half-precision storage loses a little


def column(neutral: float, dtype: type = float, *, stored: tuple[float, float] | None = None) -> Any:
    """An array field, filled with the neutral value if it is not passed.

    `stored` is the usual span of what is known of a memory whatever the query.
    """
    return field(default=None, metadata={"neutral": neutral, "dtype": dtype, "stored": stored})


@dataclass(frozen=True)
class Edges:
    """Typed edges between candidates, by row; `kind` indexes `EDGE_KINDS`."""

    source: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    target: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    kind: Codes = field(default_factory=lambda: np.empty(0, np.intp))
    weight: Array = field(default_factory=lambda: np.empty(0))

    @cached_property
    def undirected(self) -> tuple[Codes, Codes, Codes]:
        """Every edge in both directions, sorted by start: start, end and kind."""
        start, end = np.concatenate([self.source, self.target]), np.concatenate([self.target, self.source])
        order = np.argsort(start, kind="stable")
        return start[order], end[order], np.concatenate([self.kind, self.kind])[order]


@dataclass(frozen=True, kw_only=True, eq=False)
class Signals:
    """All features the scoring systems use for a batch of candidates."""

    ids: NDArray[Any]

    type: Codes = column(TYPES.index("Fact"), np.intp)
    kind: Codes = column(KINDS.index("general"), np.intp)
    level: Codes = column(LEVELS.index("fact"), np.intp)
    session: Codes = column(-1, np.intp)
    position: Codes = column(-1, np.intp)

    age_days: Array = column(0.0, stored=(0, 365))
    valid_hours: Array = column(0.0, stored=(-24, 8760))
    hours_left: Array = column(np.inf, stored=(-24, 48))

    confidence: Array = column(1.0, stored=(0, 1))
    belief: Array = column(5.0, stored=(0, 10))
    protected: Mask = column(False, np.bool_, stored=(0, 1))  # from decay, by the write policy
    provenance_depth: Array = column(0.0, stored=(0, 5))
    importance: Array = column(0.5, stored=(0, 1))
    quality: Array = column(0.5, stored=(0, 1))
    memory_score: Array = column(np.nan, stored=(0, 1))
    access_count: Array = column(0.0, stored=(0, 100))
    useful: Array = column(0.0, stored=(0, 10))
    not_useful: Array = column(0.0, stored=(0, 10))

    cosine: Array = column(0.0)
    cluster_cosine: Array = column(np.nan)
    maxsim: Array = column(np.inf)
    term_coverage: Array = column(1.0)
    uncovered_terms: Array = column(0.0)
    answer_entity_match: Array = column(1.0)
    answer_type_match: Mask = column(True, np.bool_)
    about_another: Mask = column(False, np.bool_)
    entity_match: Array = column(0.0)
    affinity: Array = column(0.0)
    returned: Mask = column(False, np.bool_)

    ranks: Mapping[str, Array] = field(default_factory=dict)
    scores: Mapping[str, Array] = field(default_factory=dict)
    edges: Edges = field(default_factory=Edges)
    vectors: Vectors | None = None
    tags: Mask | None = None
    intent: str = "MEDIUM"
    emphasis: str = NO_EMPHASIS
    lengths: Codes | None = None  # of the batches, if candidates of several queries are stacked
    vector_rows: Codes | None = None  # row of each candidate's vector, if several share one
    # Sort keys equivalent to the ids, if known: sorting many ids takes longer than scoring them.
    sort_keys: Codes | None = None

    def __post_init__(self) -> None:
        columns = []
        for name, (neutral, dtype) in self.columns().items():
            value = getattr(self, name)
            array = np.full(len(self), neutral, dtype) if value is None else np.asarray(value, dtype)
            object.__setattr__(self, name, array)
            columns.append((name, array, neutral))
        for kind, lists in (("rank", self.ranks), ("score", self.scores)):
            columns += [(f"{retriever} {kind}", values, np.inf) for retriever, values in lists.items()]
        self._check(columns)
        if self.vectors is not None:
            object.__setattr__(self, "vectors", np.asarray(self.vectors, np.float32))
        self._check_relations()

    @classmethod
    @cache
    def stored_spans(cls) -> Mapping[str, tuple[float, float]]:
        """The usual span of each column that is stored with a memory, by name."""
        return {field.name: span for field in fields(cls) if (span := field.metadata.get("stored"))}

    @classmethod
    @cache
    def columns(cls) -> Mapping[str, tuple[float, Any]]:
        """The neutral value and the dtype of each column, by name."""
        columns = ((field.name, field.metadata) for field in fields(cls))
        return {name: (metadata["neutral"], metadata["dtype"]) for name, metadata in columns if "neutral" in metadata}

    def _check(self, columns: Sequence[tuple[str, NDArray[Any], float]]) -> None:
        """Reject columns of the wrong length and values that are neither finite nor the column's absent marker."""
        shape = (len(self),)
        for name, column, _ in columns:
            if column.shape != shape:
                raise ValueError(f"{name} must have one value for each of {len(self)} candidates; got {column.shape}")
        floats = [entry for entry in columns if entry[1].dtype.kind == "f"]
        absent = np.array([[marker] for _, _, marker in floats])
        for start in range(0, len(self), CHECK_BLOCK_SIZE):
            values = np.array([column[start : start + CHECK_BLOCK_SIZE] for _, column, _ in floats])
            present = (values > -np.inf) & ((values < np.inf) | (absent == np.inf))
            valid = present | (np.isnan(values) & np.isnan(absent))
            if not valid.all():
                index, row = np.argwhere(~valid)[0].tolist()
                name, column, marker = floats[index]
                allowed = "a finite number" + ("" if np.isfinite(marker) else f", or {marker:g} where it is absent")
                got = f"{column[start + row]:g} for candidate {self.ids[start + row]}"
                raise ValueError(f"{name} must be {allowed}; got {got}")

    def _check_relations(self) -> None:
        """Reject vectors that are not unit length, and vectors, tags or edges that do not match the candidates."""
        count = len(self)
        if self.vectors is not None:
            if self.vector_rows is None and len(self.vectors) != count:
                raise ValueError(f"vectors must be one for each of {count} candidates; got {len(self.vectors)}")
            norms = np.einsum("ij,ij->i", self.vectors, self.vectors)
            if not (np.abs(norms - 1.0) < UNIT_TOLERANCE).all():
                raise ValueError("vectors must have length 1; got one that does not")
        if self.tags is not None and len(self.tags) != count:
            raise ValueError(f"tags must be one row for each of {count} candidates; got {len(self.tags)}")
        ends = np.concatenate([self.edges.source, self.edges.target])
        if ends.size and not (ends.min() >= 0 and ends.max() < count):
            raise ValueError(f"edges must join candidates 0 to {count - 1}; got one to {ends.max()}")

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def batches(self) -> Batches:
        """The batch of each query."""
        return Batches(np.array([len(self)]) if self.lengths is None else self.lengths)

    def vectors_of(self, rows: Codes) -> Vectors:
        """The vectors of some candidates."""
        assert self.vectors is not None
        return self.vectors[rows if self.vector_rows is None else self.vector_rows[rows]]

    @cached_property
    def id_ranks(self) -> Codes:
        """The rank of each candidate's id within its batch; breaks ties."""
        order = np.argsort(self.ids if self.sort_keys is None else self.sort_keys, kind="stable")
        ranks = np.empty(len(self), np.intp)
        if len(self.batches) == 1:
            ranks[order] = np.arange(len(self))
            return ranks
        order = order[np.argsort(self.batches.batch_index[order], kind="stable")]
        ranks[order] = np.arange(len(self)) - self.batches.starts[self.batches.batch_index[order]]
        return ranks

    @cached_property
    def tag_bits(self) -> BitSets | None:
        """The tags of each candidate as bit sets."""
        return None if self.tags is None else pack_tags(self.tags)

    def rank(self, retriever: str) -> Array:
        """The candidates' ranks in a retriever's list; infinity for a retriever that did not run."""
        return self.ranks[retriever] if retriever in self.ranks else np.full(len(self), np.inf)

    def rank_term(self, retriever: str) -> Term:
        """The ranks as a term; cached."""
        if retriever not in self._rank_terms:
            self._rank_terms[retriever] = feature(f"{retriever} rank", self.rank(retriever))
        return self._rank_terms[retriever]

    @cached_property
    def _rank_terms(self) -> dict[str, Term]:
        return {}

    def raw_scores(self, retriever: str) -> Array:
        """The retriever's raw scores; infinity where it did not return the candidate."""
        return self.scores[retriever] if retriever in self.scores else np.full(len(self), np.inf)

    def permute(self, order: Codes) -> Self:
        """The same candidates in another order."""
        inverse = np.argsort(order)
        columns = {name: getattr(self, name)[order] for name in self.columns()}
        edges = Edges(inverse[self.edges.source], inverse[self.edges.target], self.edges.kind, self.edges.weight)
        return type(self)(
            ids=self.ids[order],
            ranks={retriever: rank[order] for retriever, rank in self.ranks.items()},
            scores={retriever: score[order] for retriever, score in self.scores.items()},
            edges=edges,
            vectors=None if self.vectors is None else self.vectors[order],
            tags=None if self.tags is None else self.tags[order],
            intent=self.intent,
            emphasis=self.emphasis,
            **columns,
        )
