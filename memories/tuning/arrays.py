"""A traced set as arrays, to be ranked under any score parameters."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
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
from scoring.params import Params
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.stacking import select_candidates, stack_signals
from scoring.systems.system import System, rank_batches
from scoring.term import Array, Codes, Mask
from scoring.without_retrievers import remaining_candidates, without_retrievers

MAX_RANKINGS, MAX_CURVES = 64, 512  # cached per set
MAX_REDUCED = 32  # stacks without some retrievers, cached per set

Ranked = tuple[Array, Array, Mask]  # grades by rank, rows in the stacks, which queries are answered


@dataclass(frozen=True, eq=False)
class Stack:
    """Queries with the same plan and scoring path, stacked."""

    plan: Plan
    queries: Codes  # indexes into the arrays' queries
    signals: Signals
    grades: Array  # per candidate, for its query


class StackPart(NamedTuple):
    """Some candidates of a stack that are scored alike."""

    signals: Signals
    batches: Codes  # positions of their queries in the stack
    rows: Codes  # their rows in the stack


def stack_without(stack: Stack, system: System, dropped: frozenset[str]) -> list[StackPart]:
    """A stack as if some retrievers had not been asked; queries that lose candidates may take another scoring path."""
    signals, batches = stack.signals, stack.signals.batches
    rows = remaining_candidates(signals, dropped)
    reduced = without_retrievers(signals, rows, dropped)
    batch_numbers = np.unique(batches.batch_index[rows])
    keys = system.batch_key(reduced)
    parts = []
    for key in (True, False):
        same_key = np.flatnonzero(keys == key)
        part_rows = np.flatnonzero(np.isin(reduced.batches.batch_index, same_key))
        if len(part_rows):
            part = reduced if len(part_rows) == len(rows) else select_candidates(reduced, part_rows)
            parts.append(StackPart(part, batch_numbers[same_key], rows[part_rows]))
    return parts


@dataclass(frozen=True, eq=False)
class Arrays:
    """Judged queries with their ideal grades and candidates."""

    system: System
    queries: Sequence[JudgedQuery]
    ideal: Array  # all grades of each query, best first
    stacks: Sequence[Stack]
    candidates: int
    # Evicted with the arrays they were computed from; they must not refer back to them.
    rankings: LRUCache[Hashable, Ranked] = field(init=False, default_factory=lambda: LRUCache(MAX_RANKINGS))
    curves: LRUCache[Hashable, Any] = field(init=False, default_factory=lambda: LRUCache(MAX_CURVES))
    reduced: LRUCache[Hashable, list[StackPart]] = field(init=False, default_factory=lambda: LRUCache(MAX_REDUCED))

    @cached_property
    def answerable(self) -> Mask:
        """Which queries have a relevant memory that can be returned."""
        answerable = np.array([query.kind == QueryKind.ANSWERABLE for query in self.queries], bool)
        return answerable & (self.ideal > 0).any(axis=1)

    @cached_property
    def unanswerable(self) -> Mask:
        """Which queries have an answer that was never stored."""
        return np.array([query.kind == QueryKind.UNANSWERABLE for query in self.queries], bool)

    def rank(self, config: Config) -> Ranked:
        """Rank every query: grades by rank (−1 if unjudged), rows in the stacks, and which queries are answered.

        Beyond the end of an answer, the grade is 0 and the row −1.
        """
        grades = np.zeros((len(self.queries), DEPTH))
        result_rows = np.full((len(self.queries), DEPTH), -1)
        answered = np.zeros(len(self.queries), bool)
        for stack in self.stacks:
            top_k = min(DEPTH, stack.plan.top_k or DEPTH)
            params = config.params_under(stack.plan)
            for part in self.active_parts(stack, params):
                ranked, abstained = rank_batches(
                    self.system, part.signals, params, top_k=top_k, diversify=stack.plan.diversify
                )
                queries, batch = stack.queries[part.batches], part.signals.batches.batch_index[ranked]
                counts = np.bincount(batch, minlength=len(queries))
                position = np.arange(len(ranked)) - np.repeat(np.cumsum(counts) - counts, counts)
                returned = ~abstained[batch] & (position < DEPTH)
                where, rows = (queries[batch[returned]], position[returned]), part.rows[ranked[returned]]
                grades[where], result_rows[where] = stack.grades[rows], rows
                answered[queries] = ~abstained & (counts > 0)
        return grades, result_rows, answered

    def active_parts(self, stack: Stack, params: Params) -> Sequence[StackPart]:
        """A stack as if only the retrievers with a weight had been asked, as in a live retrieval."""
        weighted = self.system.weighted_retrievers(params)
        dropped = frozenset(stack.signals.ranks) & (set(self.system.retrievers) - set(weighted))
        if not dropped:
            every_batch, every_row = np.arange(len(stack.queries)), np.arange(len(stack.signals))
            return [StackPart(stack.signals, every_batch, every_row)]
        key = id(stack), dropped
        return self.reduced.get_or_compute(key, lambda: stack_without(stack, self.system, dropped))


def candidate_grades(grades: Mapping[UUID, int], ids: Sequence[str]) -> Array:
    """The grade of each candidate; −1 if unjudged."""
    known = {str(id): grade for id, grade in grades.items()}
    return np.array([known.get(id, -1) for id in ids], dtype=float)


def ideal_grades(grades: Sequence[Mapping[UUID, int]]) -> Array:
    """The grades of each query, best first."""
    best = np.zeros((len(grades), max(map(len, grades), default=0)))
    for row, by_memory in enumerate(grades):
        best[row, : len(by_memory)] = sorted(by_memory.values(), reverse=True)
    return best


def candidate_vectors(namespace: Namespace, rows: Sequence[TracedQuery]) -> Mapping[UUID, Vectors]:
    """The vector of every candidate, for systems that compare candidates."""
    ids = {id for row in rows for id in row.candidates}
    stored = MemoryVector.objects.within(namespace).filter(
        embedder=namespace.embedder, route=Route.FULL, memory_id__in=ids
    )
    return {id: np.asarray(vector, dtype=np.float32) for id, vector in stored.values_list("memory_id", "vector")}


def build_stacks(
    system: System,
    rows: Sequence[TracedQuery],
    grades: Mapping[UUID, Mapping[UUID, int]],
    vectors: Mapping[UUID, Vectors],
) -> list[Stack]:
    """The queries with candidates, grouped by plan and scoring path."""
    groups: dict[Hashable, list[tuple[int, Signals, Array]]] = defaultdict(list)
    plans: dict[Hashable, Plan] = {}
    for index, row in enumerate(rows):
        if not row.candidates:
            continue
        signals, plan = unpack_signals(row, vectors), QueryPlan.from_dict(row.plan).plan
        features = tuple(getattr(signals, name) for name in system.query_features)
        key = (repr(plan), features, bool(system.batch_key(signals)[0]))
        plans[key] = plan
        groups[key].append((index, signals, candidate_grades(grades.get(row.query_id, {}), signals.ids.tolist())))
    return [
        Stack(
            plans[key],
            np.array([index for index, _, _ in group]),
            stack_signals([signals for _, signals, _ in group]),
            np.concatenate([grade for _, _, grade in group]),
        )
        for key, group in groups.items()
    ]


def unpack_signals(row: TracedQuery, vectors: Mapping[UUID, Any]) -> Signals:
    """The signals of a traced query."""
    packed, head = unpack_arrays(bytes(row.signals))
    any_vector = next(iter(vectors.values()), None)
    # For candidates without a vector.
    placeholder = None if any_vector is None else np.eye(1, len(any_vector), dtype=np.float32)[0]
    row_vectors = None if any_vector is None else np.array([vectors.get(id, placeholder) for id in row.candidates])
    return decode_signals([str(id) for id in row.candidates], packed, head, row_vectors)
