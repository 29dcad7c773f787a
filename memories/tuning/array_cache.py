"""Arrays of traced sets, cached per process; a set that has changed is refreshed only where it differs."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from django.contrib.postgres.aggregates import StringAgg
from django.db.models import TextField
from django.db.models.functions import MD5, Cast

from memories.db.lru_cache import LRUCache
from memories.models import JudgedQuery, JudgementSet, Namespace, TracedQuery, TracedSet
from memories.models.choices import Route
from memories.retrieval.query import Config
from memories.tuning import current_grades
from memories.tuning.arrays import Arrays, Stack, build_stacks, candidate_grades, candidate_vectors, ideal_grades
from memories.tuning.traced_sets import ProgressCallback, ensure_traced_set, no_progress, write_count
from scoring.systems import SYSTEMS

MAX_CACHED_SETS = 4
# Changes with any vector of a candidate: `written` is the number of the write that stored it.
VECTORS_FINGERPRINT_SQL = """
    SELECT count(*), max(written) FROM memories_memoryvector
    WHERE namespace_id = %(namespace)s AND embedder = %(embedder)s AND route = %(route)s AND memory_id IN (
        SELECT unnest(candidates) FROM memories_tracedquery
        WHERE namespace_id = %(namespace)s AND traced_set_id = %(traced)s
    )
"""

Grades = Mapping[UUID, Mapping[UUID, int]]


@dataclass(frozen=True)
class CachedArrays:
    """The arrays of a traced set, and the fingerprints that tell whether they are current."""

    write_fingerprint: Hashable  # of the namespace's writes and judgements
    content_fingerprint: Hashable  # of the candidates and their vectors
    grades: Grades
    arrays: Arrays


_cache = LRUCache[UUID, CachedArrays](MAX_CACHED_SETS)


def cached_arrays(traced_set: TracedSet) -> Arrays:
    """The arrays of a traced set with current judgements; the same object until something in them changes."""
    namespace = traced_set.namespace
    judgements = current_grades.judgement_sets_fingerprint(namespace, [traced_set.judgement_set_id])
    fingerprint = write_count(namespace), judgements
    cached = _cache.get(traced_set.id)
    if cached is None or cached.write_fingerprint != fingerprint:
        cached = refresh_arrays(traced_set, cached, fingerprint)
        _cache.put(traced_set.id, cached)
    return cached.arrays


def ensure_arrays(
    namespace: Namespace, judgement_set: JudgementSet, config: Config, progress: ProgressCallback = no_progress
) -> Arrays:
    """The arrays of a set as the namespace is now."""
    while True:
        try:
            return cached_arrays(ensure_traced_set(namespace, judgement_set, config, progress))
        except TracedSet.DoesNotExist:  # just replaced by a newer traced set
            continue


def refresh_arrays(traced_set: TracedSet, cached: CachedArrays | None, write_fingerprint: Hashable) -> CachedArrays:
    """Update cached arrays by what has changed; most writes touch no judged memory and no candidate."""
    content = candidates_fingerprint(traced_set)
    graded_set = current_grades.load_grades(traced_set.namespace, traced_set.judgement_set_id)
    queries = {graded.query.id: graded.query for graded in graded_set.queries}
    if cached is None or cached.content_fingerprint != content:
        return CachedArrays(
            write_fingerprint, content, graded_set.grades, build_arrays(traced_set, queries, graded_set.grades)
        )
    arrays = cached.arrays
    current_queries = [queries.get(query.id, query) for query in arrays.queries]
    if graded_set.grades == cached.grades and all(map(same_judged_query, arrays.queries, current_queries)):
        return replace(cached, write_fingerprint=write_fingerprint)
    changed = {id for id in queries if graded_set.grades[id] != cached.grades.get(id)}
    changed_arrays = replace(
        arrays,
        queries=current_queries,
        ideal=ideal_grades([graded_set.grades.get(query.id, {}) for query in current_queries]),
        stacks=[regrade_stack(stack, current_queries, graded_set.grades, changed) for stack in arrays.stacks],
    )
    return CachedArrays(write_fingerprint, content, graded_set.grades, changed_arrays)


def candidates_fingerprint(traced_set: TracedSet) -> Hashable:
    """Changes if the set has other rows, or its candidates other vectors."""
    rows = TracedQuery.objects.within(traced_set.namespace).filter(traced_set_id=traced_set.id)
    ids = StringAgg(Cast("id", TextField()), " ", order_by="id")
    row_ids: str | None = rows.aggregate(fingerprint=MD5(ids))["fingerprint"]
    if "vectors" not in SYSTEMS[traced_set.system].optional_features:
        return row_ids
    embedder = traced_set.namespace.embedder
    return (
        row_ids,
        embedder,
        *current_grades.fetch_judgement_rows(
            VECTORS_FINGERPRINT_SQL, traced_set.namespace, (), traced=traced_set.id, embedder=embedder, route=Route.FULL
        ),
    )


def build_arrays(traced_set: TracedSet, queries: Mapping[UUID, JudgedQuery], grades: Grades) -> Arrays:
    """Load a traced set as arrays."""
    namespace, system = traced_set.namespace, SYSTEMS[traced_set.system]
    traced = TracedQuery.objects.within(namespace).filter(traced_set_id=traced_set.id, query_id__in=list(queries))
    rows = list(traced.order_by("query_id"))
    # After reading its rows: if the set still exists, they were complete.
    TracedSet.objects.within(namespace).get(id=traced_set.id)
    vectors = candidate_vectors(namespace, rows) if "vectors" in system.optional_features else {}
    return Arrays(
        system=system,
        queries=[queries[row.query_id] for row in rows],
        ideal=ideal_grades([grades.get(row.query_id, {}) for row in rows]),
        stacks=build_stacks(system, rows, grades, vectors),
        candidates=sum(len(row.candidates) for row in rows),
    )


def same_judged_query(before: JudgedQuery, after: JudgedQuery) -> bool:
    """Whether nothing that evaluation reads of a query has changed."""
    return all(getattr(before, name) == getattr(after, name) for name in ("kind", "category", "split", "text"))


def regrade_stack(stack: Stack, queries: list[JudgedQuery], grades: Grades, changed: set[UUID]) -> Stack:
    """A stack with current grades for the queries whose grades have changed."""
    values, batches = stack.grades.copy(), stack.signals.batches
    for batch, index in enumerate(stack.queries.tolist()):
        if (query := queries[index].id) in changed:
            start = int(batches.starts[batch])
            rows = slice(start, start + int(batches.lengths[batch]))
            values[rows] = candidate_grades(grades.get(query, {}), stack.signals.ids[rows].tolist())
    return replace(stack, grades=values) if not np.array_equal(values, stack.grades) else stack
