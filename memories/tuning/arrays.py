"""A traced set as arrays, ready to be ranked under any setting of the scores."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar
from uuid import UUID

import numpy as np

from memories.models import JudgedQuery, MemoryVector, Namespace, TracedQuery
from memories.models.choices import QueryKind, Route
from memories.retrieval.packing import signals_of, unpacked
from memories.retrieval.planning import Planning
from memories.retrieval.query import Setting
from memories.tuning.tracing import DEPTH
from scoring.diversity import Vectors
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.stacking import stacked
from scoring.systems.system import System, rank_each
from scoring.term import Array, Codes, Mask

RANKINGS, CURVES = 64, 512  # that each set holds

T = TypeVar("T")


class Held:
    """The last results of something, no more than so many."""

    def __init__(self, most: int) -> None:
        self.most, self.known, self.lock = most, OrderedDict[Hashable, Any](), Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is held under a key, made where it is not."""
        with self.lock:
            if key in self.known:
                self.known.move_to_end(key)
                return self.known[key]  # type: ignore[no-any-return]
        made = make()
        with self.lock:
            self.known[key] = made
            while len(self.known) > self.most:
                self.known.popitem(last=False)
        return made


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
    # Results go with what they were made of, and hold no way back to it.
    rankings: Held = field(init=False, default_factory=lambda: Held(RANKINGS))
    curves: Held = field(init=False, default_factory=lambda: Held(CURVES))

    @cached_property
    def answerable(self) -> Mask:
        """Which queries have an answer that can come back: what lost its own measures nothing."""
        meant = np.array([query.kind == QueryKind.ANSWERABLE for query in self.queries], bool)
        return meant & (self.ideal > 0).any(axis=1)

    @cached_property
    def never_stored(self) -> Mask:
        """Which queries ask for what was never stored."""
        return np.array([query.kind == QueryKind.NEVER_STORED for query in self.queries], bool)

    def ranked(self, setting: Setting) -> tuple[Array, Array, Mask]:
        """What each query gives under a setting: grades by rank, −1 where it was not judged, places, and who answers.

        Places are those in the stacks; beyond the end of an answer both are absent (grade 0, place −1).
        """
        grades = np.zeros((len(self.queries), DEPTH))
        places = np.full((len(self.queries), DEPTH), -1)
        answered = np.zeros(len(self.queries), bool)
        for stack in self.stacks:
            top_k = min(DEPTH, stack.plan.top_k or DEPTH)
            params = setting.under(stack.plan)
            rows, abstained = rank_each(self.system, stack.signals, params, top_k=top_k, diversify=stack.plan.diversify)
            batches = stack.signals.batches
            batch = batches.of_each[rows]
            counts = np.bincount(batch, minlength=len(batches))
            place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            told = ~abstained[batch]
            where = stack.queries[batch[told]], place[told]
            grades[where], places[where] = stack.grades[rows[told]], rows[told]
            answered[stack.queries] = ~abstained & (counts > 0)
        return grades, places, answered


def graded(grades: Mapping[UUID, int], ids: Sequence[str]) -> Array:
    """The grade of each candidate; −1 where nobody has judged it."""
    known = {str(id): grade for id, grade in grades.items()}
    return np.array([known.get(id, -1) for id in ids], dtype=float)


def ideal(grades: Sequence[Mapping[UUID, int]]) -> Array:
    """The grades of each query, best first."""
    best = np.zeros((len(grades), max(map(len, grades), default=0)))
    for row, each in enumerate(grades):
        best[row, : len(each)] = sorted(each.values(), reverse=True)
    return best


def vectors_of(namespace: Namespace, rows: Sequence[TracedQuery]) -> Mapping[UUID, Vectors]:
    """The vector of every candidate, for the systems that look at likeness."""
    wanted = {id for row in rows for id in row.candidates}
    found = MemoryVector.objects.within(namespace).filter(
        embedder=namespace.embedder, route=Route.FULL, memory_id__in=wanted
    )
    return {id: np.asarray(vector, dtype=np.float32) for id, vector in found.values_list("memory_id", "vector")}


def stacks(
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
        signals, plan = signals_in(row, vectors), Planning.of(row.plan).plan
        key = (repr(plan), signals.intent, bool(system.alike(signals)[0]))
        plans[key] = plan
        alike[key].append((number, signals, graded(grades.get(row.query_id, {}), signals.ids.tolist())))
    return [
        Stack(
            plans[key],
            np.array([number for number, _, _ in some]),
            stacked([signals for _, signals, _ in some]),
            np.concatenate([grade for _, _, grade in some]),
        )
        for key, some in alike.items()
    ]


def signals_in(row: TracedQuery, vectors: Mapping[UUID, Any]) -> Signals:
    """What was known of a query's candidates."""
    packed, head = unpacked(bytes(row.signals))
    known = next(iter(vectors.values()), None)
    nowhere = None if known is None else np.eye(1, len(known), dtype=np.float32)[0]
    mine = None if known is None else np.array([vectors.get(id, nowhere) for id in row.candidates])
    return signals_of([str(id) for id in row.candidates], packed, head, mine)
