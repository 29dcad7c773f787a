"""A traced set as arrays, ready to be ranked under any setting of the scores."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from memories.db.lru_cache import LRUCache
from memories.models import JudgedQuery, MemoryVector, Namespace, TracedQuery
from memories.models.choices import QueryKind, Route
from memories.retrieval.plan import QueryPlan
from memories.retrieval.query import Config
from memories.retrieval.trace_codec import decode_signals, unpack_arrays
from memories.tuning.traced_sets import DEPTH
from scoring.diversity import Vectors
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.stacking import stack_signals
from scoring.systems.system import System, rank_batches
from scoring.term import Array, Codes, Mask

MAX_RANKINGS, MAX_CURVES = 64, 512  # cached per set

Ranked = tuple[Array, Array, Mask]  # grades by rank, places in the stacks, which queries are answered


@dataclass(frozen=True, eq=False)
class Stack:
    """Queries that are planned and scored alike, as one."""

    plan: Plan
    queries: Codes  # their places among all
    signals: Signals
    grades: Array  # of each candidate for its query


@dataclass(frozen=True, eq=False)
class Arrays:
    """Judged queries, what they should give, and the candidates that each of them has."""

    system: System
    queries: Sequence[JudgedQuery]
    ideal: Array  # the grades of all that was judged for each query, best first
    stacks: Sequence[Stack]
    candidates: int
    # Evicted with the arrays they were computed from; they must not refer back to them.
    rankings: LRUCache[Hashable, Ranked] = field(init=False, default_factory=lambda: LRUCache(MAX_RANKINGS))
    curves: LRUCache[Hashable, Any] = field(init=False, default_factory=lambda: LRUCache(MAX_CURVES))

    @cached_property
    def answerable(self) -> Mask:
        """Which queries have an answer that can come back: what lost its own measures nothing."""
        meant = np.array([query.kind == QueryKind.ANSWERABLE for query in self.queries], bool)
        return meant & (self.ideal > 0).any(axis=1)

    @cached_property
    def unanswerable(self) -> Mask:
        """Which queries ask for what was never stored."""
        return np.array([query.kind == QueryKind.UNANSWERABLE for query in self.queries], bool)

    def rank(self, config: Config) -> Ranked:
        """What each query gives under a setting: grades by rank, −1 where it was not judged, places, and who answers.

        Places are those in the stacks; beyond the end of an answer both are absent (grade 0, place −1).
        """
        grades = np.zeros((len(self.queries), DEPTH))
        places = np.full((len(self.queries), DEPTH), -1)
        answered = np.zeros(len(self.queries), bool)
        for stack in self.stacks:
            top_k = min(DEPTH, stack.plan.top_k or DEPTH)
            params = config.params_under(stack.plan)
            rows, abstained = rank_batches(
                self.system, stack.signals, params, top_k=top_k, diversify=stack.plan.diversify
            )
            batches = stack.signals.batches
            batch = batches.batch_index[rows]
            counts = np.bincount(batch, minlength=len(batches))
            place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            told = ~abstained[batch]
            where = stack.queries[batch[told]], place[told]
            grades[where], places[where] = stack.grades[rows[told]], rows[told]
            answered[stack.queries] = ~abstained & (counts > 0)
        return grades, places, answered


def candidate_grades(grades: Mapping[UUID, int], ids: Sequence[str]) -> Array:
    """The grade of each candidate; −1 where nobody has judged it."""
    known = {str(id): grade for id, grade in grades.items()}
    return np.array([known.get(id, -1) for id in ids], dtype=float)


def ideal_grades(grades: Sequence[Mapping[UUID, int]]) -> Array:
    """The grades of each query, best first."""
    best = np.zeros((len(grades), max(map(len, grades), default=0)))
    for row, each in enumerate(grades):
        best[row, : len(each)] = sorted(each.values(), reverse=True)
    return best


def candidate_vectors(namespace: Namespace, rows: Sequence[TracedQuery]) -> Mapping[UUID, Vectors]:
    """The vector of every candidate, for the systems that look at likeness."""
    wanted = {id for row in rows for id in row.candidates}
    found = MemoryVector.objects.within(namespace).filter(
        embedder=namespace.embedder, route=Route.FULL, memory_id__in=wanted
    )
    return {id: np.asarray(vector, dtype=np.float32) for id, vector in found.values_list("memory_id", "vector")}


def build_stacks(
    system: System,
    rows: Sequence[TracedQuery],
    grades: Mapping[UUID, Mapping[UUID, int]],
    vectors: Mapping[UUID, Vectors],
) -> list[Stack]:
    """The queries that have candidates, together as far as they are scored alike."""
    alike: dict[Hashable, list[tuple[int, Signals, Array]]] = defaultdict(list)
    plans: dict[Hashable, Plan] = {}
    for number, row in enumerate(rows):
        if not row.candidates:
            continue
        signals, plan = unpack_signals(row, vectors), QueryPlan.from_dict(row.plan).plan
        key = (repr(plan), signals.intent, bool(system.batch_key(signals)[0]))
        plans[key] = plan
        alike[key].append((number, signals, candidate_grades(grades.get(row.query_id, {}), signals.ids.tolist())))
    return [
        Stack(
            plans[key],
            np.array([number for number, _, _ in some]),
            stack_signals([signals for _, signals, _ in some]),
            np.concatenate([grade for _, _, grade in some]),
        )
        for key, some in alike.items()
    ]


def unpack_signals(row: TracedQuery, vectors: Mapping[UUID, Any]) -> Signals:
    """What was known of a query's candidates."""
    packed, head = unpack_arrays(bytes(row.signals))
    known = next(iter(vectors.values()), None)
    nowhere = None if known is None else np.eye(1, len(known), dtype=np.float32)[0]
    mine = None if known is None else np.array([vectors.get(id, nowhere) for id in row.candidates])
    return decode_signals([str(id) for id in row.candidates], packed, head, mine)
