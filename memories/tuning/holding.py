"""The arrays of traced sets that a process holds: of a set that changes, only what has changed is loaded again."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from uuid import UUID

import numpy as np
from django.contrib.postgres.aggregates import StringAgg
from django.db.models import TextField
from django.db.models.functions import MD5, Cast

from memories.judging import current
from memories.models import JudgedQuery, JudgementSet, Namespace, TracedQuery, TracedSet
from memories.models.choices import Route
from memories.retrieval.query import Setting
from memories.tuning.arrays import Arrays, Stack, graded, ideal, stacks, vectors_of
from memories.tuning.tracing import Tell, fresh, silent, writes_of
from scoring.systems import SYSTEMS

KEPT = 4  # sets that a process holds
# What a vector of a candidate is today: a new one has the number of the write that made it.
VECTORS = """
    SELECT count(*), max(written) FROM memories_memoryvector
    WHERE namespace_id = %(namespace)s AND embedder = %(embedder)s AND route = %(route)s AND memory_id IN (
        SELECT unnest(candidates) FROM memories_tracedquery
        WHERE namespace_id = %(namespace)s AND traced_set_id = %(traced)s
    )
"""

Grades = Mapping[UUID, Mapping[UUID, int]]


@dataclass(frozen=True)
class Loaded:
    """A set as it was loaded, and by what one sees whether that still holds."""

    looked: Hashable  # while this is the same, nothing was written or judged
    asked: Hashable  # while this is the same, candidates and vectors are
    grades: Grades
    arrays: Arrays


_loaded: dict[UUID, Loaded] = {}  # the last used last
_lock = Lock()


def arrays(traced: TracedSet) -> Arrays:
    """The arrays of a traced set with the judgements that hold now; the same ones until something in them changes."""
    namespace = traced.namespace
    looked = writes_of(namespace), current.mark(namespace, [traced.judgement_set_id])
    with _lock:
        known = _loaded.get(traced.id)
    if known is None or known.looked != looked:
        known = renewed(traced, known, looked)
    with _lock:
        _loaded.pop(traced.id, None)
        _loaded[traced.id] = known
        for old in list(_loaded)[:-KEPT]:
            del _loaded[old]
    return known.arrays


def fresh_arrays(namespace: Namespace, judged: JudgementSet, setting: Setting, tell: Tell = silent) -> Arrays:
    """The arrays of a set as the namespace is now."""
    while True:
        try:
            return arrays(fresh(namespace, judged, setting, tell))
        except TracedSet.DoesNotExist:  # a later asking has just taken its place
            continue


def renewed(traced: TracedSet, known: Loaded | None, looked: Hashable) -> Loaded:
    """What is held with what has changed in it: most writes touch nothing that was judged or found."""
    asked = asked_of(traced)
    now = current.grades(traced.namespace, traced.judgement_set_id)
    queries = {one.query.id: one.query for one in now.queries}
    if known is None or known.asked != asked:
        return Loaded(looked, asked, now.grades, loaded(traced, queries, now.grades))
    whole = known.arrays
    mine = [queries.get(query.id, query) for query in whole.queries]
    if now.grades == known.grades and all(map(same, whole.queries, mine)):
        return replace(known, looked=looked)
    changed = {id for id in queries if now.grades[id] != known.grades.get(id)}
    again = replace(
        whole,
        queries=mine,
        ideal=ideal([now.grades.get(query.id, {}) for query in mine]),
        stacks=[regraded(stack, mine, now.grades, changed) for stack in whole.stacks],
    )
    return Loaded(looked, asked, now.grades, again)


def asked_of(traced: TracedSet) -> Hashable:
    """By what one sees that a set has other rows, or its candidates other vectors."""
    rows = TracedQuery.objects.within(traced.namespace).filter(traced_set_id=traced.id)
    mark: str | None = rows.aggregate(mark=MD5(StringAgg(Cast("id", TextField()), " ", order_by="id")))["mark"]
    if "vectors" not in SYSTEMS[traced.system].reads:
        return mark
    embedder = traced.namespace.embedder
    return (
        mark,
        embedder,
        *current.asked(VECTORS, traced.namespace, (), traced=traced.id, embedder=embedder, route=Route.FULL),
    )


def loaded(traced: TracedSet, queries: Mapping[UUID, JudgedQuery], grades: Grades) -> Arrays:
    """The whole of a set."""
    namespace, system = traced.namespace, SYSTEMS[traced.system]
    found = TracedQuery.objects.within(namespace).filter(traced_set_id=traced.id, query_id__in=list(queries))
    rows = list(found.order_by("query_id"))
    # Looked up after its rows: what is still there then was whole before.
    TracedSet.objects.within(namespace).get(id=traced.id)
    vectors = vectors_of(namespace, rows) if "vectors" in system.reads else {}
    return Arrays(
        system=system,
        queries=[queries[row.query_id] for row in rows],
        ideal=ideal([grades.get(row.query_id, {}) for row in rows]),
        stacks=stacks(system, rows, grades, vectors),
        candidates=sum(len(row.candidates) for row in rows),
    )


def same(one: JudgedQuery, other: JudgedQuery) -> bool:
    """Whether a query counts as it did."""
    return (one.kind, one.category, one.part, one.text) == (other.kind, other.category, other.part, other.text)


def regraded(stack: Stack, queries: list[JudgedQuery], grades: Grades, changed: set[UUID]) -> Stack:
    """The same candidates; those of queries whose grades have changed by what they are now."""
    values, batches = stack.grades.copy(), stack.signals.batches
    for place, number in enumerate(stack.queries.tolist()):
        if (query := queries[number].id) in changed:
            start = int(batches.starts[place])
            mine = slice(start, start + int(batches.lengths[place]))
            values[mine] = graded(grades.get(query, {}), stack.signals.ids[mine].tolist())
    return replace(stack, grades=values) if not np.array_equal(values, stack.grades) else stack
