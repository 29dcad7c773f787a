"""Queries that the thresholds of retrieval decide on: their ten best memories, and their plans."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import numpy as np

from memories.models import JudgedQuery, JudgementSet, Namespace, Trace
from memories.pages.thresholds.populations import (
    Counted,
    DecisionLabels,
    NothingToCount,
    Population,
    Values,
    cached_population,
    cached_until_write,
)
from memories.retrieval.config import resolve_config
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import choose_plan
from memories.retrieval.query import Config
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays, build_stacks, candidate_vectors, ideal_grades
from memories.tuning.judgement_sets import UnknownJudgementSetError, choose_judgement_set
from memories.tuning.measurement import measure_config
from memories.tuning.query_sampling import hash_rank
from memories.tuning.traced_sets import evaluation_query, latest_traced_set, trace_query
from scoring.term import Codes

RETRIEVED_QUERIES = 40  # retrieved here, where the judged queries were not traced for a system
PARSED_QUERIES = 100
RECENT_TRACES = 400  # of which the distinct queries stand in for judged ones
ANSWER_LABELS = DecisionLabels(of=lambda places: () if max(places) >= 0 else ("without an answer",))
NO_QUERIES = NothingToCount("No query was judged or traced here.", "Run one in the Lab", "lab")


class QuerySource:
    """The judged queries of a namespace, else those it was asked lately."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.judgement_set: JudgementSet | None = None
        try:
            self.judgement_set = choose_judgement_set(namespace)
            queries = list(JudgedQuery.objects.within(namespace).filter(judgement_set_id=self.judgement_set.id))
        except UnknownJudgementSetError:
            queries = recent_queries(namespace)
        self.queries: Sequence[JudgedQuery] = sorted(queries, key=lambda query: hash_rank(query.text, query.user))

    @property
    def unit(self) -> tuple[str, str]:
        """What the queries are, one and several."""
        return ("judged query", "judged queries") if self.judgement_set else ("recent query", "recent queries")


def recent_queries(namespace: Namespace) -> list[JudgedQuery]:
    """The distinct queries of the latest traces, unsaved."""
    traces = Trace.objects.within(namespace).filter(shadow=False, request__as_of=None).order_by("-id")
    rows = traces.values_list("query", "request__user")[:RECENT_TRACES]
    return [JudgedQuery(namespace=namespace, text=text, user=user or "") for text, user in dict.fromkeys(rows)]


def ranked_queries(namespace: Namespace, start: Config) -> Counted:
    """Queries by their ten best memories: those that were traced for the system, else a sample retrieved now."""
    source = QuerySource(namespace)
    if not source.queries:
        return NO_QUERIES
    arrays = query_arrays(source, start)
    return ranking_population(source, arrays, np.arange(len(arrays.queries)))


def diversified_queries(namespace: Namespace, start: Config) -> Counted:
    """Those of them that MMR diversifies."""
    source = QuerySource(namespace)
    if not source.queries:
        return NO_QUERIES
    arrays = query_arrays(source, start)
    reads_vectors = start.system.reads_vectors
    stacks = [stack.queries for stack in arrays.stacks if reads_vectors(start.params_under(stack.plan), stack.plan)]
    if not stacks:
        reason = f"MMR runs for none of {len(arrays.queries)} {source.unit[1]}."
        return NothingToCount(reason, "It runs where the plan is exploratory", "lab")
    return ranking_population(source, arrays, np.sort(np.concatenate(stacks)))


def ranking_population(source: QuerySource, arrays: Arrays, rows: Codes) -> Population:
    """All queries of the arrays, or those diversified; the decision on each is its ten best memories in order."""
    total = len(source.queries)

    def decide(values: Values) -> list[tuple[int, ...]]:
        places = measure_config(arrays, Config(arrays.system, dict(values))).places[rows]
        return list(map(tuple, places.tolist()))

    kind = ""
    if len(rows) < len(arrays.queries):
        sampled = f", in a sample of {len(arrays.queries):,} of {total:,}" if len(arrays.queries) < total else ""
        kind, total = f"that MMR diversifies{sampled}", len(rows)
    coarser = ("get other memories", frozenset)
    return Population(*source.unit, len(rows), total, decide, ANSWER_LABELS, kind, coarser)


def query_arrays(source: QuerySource, start: Config) -> Arrays:
    """The queries with their candidates: as traced for the judged set, else of a sample retrieved now."""
    if source.judgement_set is not None:
        traced = latest_traced_set(source.namespace, source.judgement_set, start)
        if traced is not None:
            return cached_arrays(traced)
    key = ("retrieved", start.system.name, tuple(sorted(start.given.items())))
    return cached_until_write(source.namespace, key, lambda: retrieve_sample(source, start))


def retrieve_sample(source: QuerySource, start: Config) -> Arrays:
    """Retrieve a sample of the queries, as tracing a judged set does."""
    queries = source.queries[:RETRIEVED_QUERIES]
    rows = [trace_query(evaluation_query(source.namespace, query, start), uuid4(), query.id) for query in queries]
    vectors = candidate_vectors(source.namespace, rows) if "vectors" in start.system.optional_features else {}
    return Arrays(
        system=start.system,
        queries=queries,
        ideal=ideal_grades([{} for _ in rows]),
        stacks=build_stacks(start.system, rows, {}, vectors),
        candidates=sum(len(row.candidates) for row in rows),
    )


@cached_population
def planned_queries(namespace: Namespace, start: Config) -> Counted:
    """Queries by the plan that their specificity, entities and time window select."""
    source = QuerySource(namespace)
    if not source.queries:
        return NO_QUERIES
    parsed = parse_sample(source)

    def decide(values: Values) -> list[str]:
        config = Config(start.system, dict(values))
        return [choose_plan(one, config).plan.name for one in parsed]

    return Population(*source.unit, len(parsed), len(source.queries), decide, DecisionLabels(of=lambda plan: (plan,)))


def parse_sample(source: QuerySource) -> list[ParsedQuery]:
    """A sample of the queries, parsed; without their token states, which no plan reads."""
    namespace, config = source.namespace, resolve_config(source.namespace, params={})
    return [
        replace(understand(evaluation_query(namespace, query, config)), tokens=None)
        for query in source.queries[:PARSED_QUERIES]
    ]
