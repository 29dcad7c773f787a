"""A judgement set retrieved once: each query's candidates and signals, stored to be ranked by any configuration."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.contracts.work import Step, Work
from memories.models import JudgedQuery, JudgementSet, Namespace, NamespaceStatistics, TracedQuery, TracedSet
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace_codec import pack_signals
from scoring.systems import SYSTEMS

DEPTH = 10  # evaluation depth: results per query
MAX_VARIANTS = 6  # traced sets stored per system, one per candidate configuration, newest first
ABANDONED_AFTER = timedelta(days=1)  # an unfinished traced set is deleted after this


class ProgressCallback(Protocol):
    """A progress callback; the keyword counts are added to the step's result."""

    def __call__(self, done: int, total: int | None = None, **counts: int) -> None: ...


def no_progress(done: int, total: int | None = None, **counts: int) -> None:
    """A progress callback that does nothing."""


def candidate_params(config: Config) -> dict[str, Any]:
    """The non-default parameters of a configuration that affect which candidates are retrieved."""
    declarations, defaults = config.system.params.declarations(), config.system.params().as_dict()
    return {
        name: value
        for name, value in sorted(config.given.items())
        if declarations[name].scope == "candidates" and value != defaults[name]
    }


def latest_traced_set(namespace: Namespace, judgement_set: JudgementSet, config: Config) -> TracedSet | None:
    """The newest finished traced set for a configuration's candidates, or None."""
    finished = TracedSet.objects.within(namespace).filter(judgement_set_id=judgement_set.id, ready_at__isnull=False)
    matching = finished.filter(system=config.system.name, params=candidate_params(config))
    return matching.order_by("begun_at", "id").last()


class Staleness(NamedTuple):
    """What changed since a judgement set was traced, and how many of its queries a retriever timed out on."""

    writes: int
    queries: int
    timed_out: int

    @property
    def current(self) -> bool:
        """Whether tracing it again would give the same result; every evaluation uses this rule."""
        return not self.writes and not self.queries


def staleness(traced_set: TracedSet) -> Staleness:
    """What changed since the set was traced."""
    rows = TracedQuery.objects.within(traced_set.namespace).filter(traced_set_id=traced_set.id)
    queries = JudgedQuery.objects.within(traced_set.namespace).filter(judgement_set_id=traced_set.judgement_set_id)
    return Staleness(
        write_count(traced_set.namespace) - traced_set.writes,
        queries.exclude(id__in=rows.values("query_id")).count(),
        rows.exclude(timed_out=[]).count(),
    )


def current_traced_set(namespace: Namespace, judgement_set: JudgementSet, config: Config) -> TracedSet | None:
    """The latest traced set, or None if the namespace or its queries have changed since."""
    latest = latest_traced_set(namespace, judgement_set, config)
    return latest if latest is not None and staleness(latest).current else None


def write_count(namespace: Namespace) -> int:
    """The namespace's write counter."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).only("writes").first()
    return statistics.writes if statistics else 0


def evaluation_query(namespace: Namespace, judged_query: JudgedQuery, config: Config) -> Query:
    """The retrieval query of a judged query."""
    return Query(
        namespace=namespace,
        text=judged_query.text,
        config=config,
        top_k=DEPTH,
        user=judged_query.user,
        as_of=judged_query.as_of,
    )


def trace_step(work: Work) -> None:
    """Trace the queries that are still missing; a resumed job keeps its rows."""
    fill_traced_set(job_traced_set(work, work.job.params), work.record_progress)


def ensure_traced_set(
    namespace: Namespace, judgement_set: JudgementSet, config: Config, progress: ProgressCallback = no_progress
) -> TracedSet:
    """A current traced set; traces the judgement set in this process if there is none."""
    if (existing := current_traced_set(namespace, judgement_set, config)) is not None:
        return existing
    traced_set = new_traced_set(namespace, judgement_set.id, config.system.name, candidate_params(config))
    traced_set.save(force_insert=True)
    fill_traced_set(traced_set, progress)
    latest = latest_traced_set(namespace, judgement_set, config)  # another process's, if it began later
    assert latest is not None
    return latest


def fill_traced_set(traced_set: TracedSet, progress: ProgressCallback) -> None:
    """Trace query by query, one transaction each; queries with a timed-out retriever are retried once."""
    namespace, config = traced_set.namespace, Config(SYSTEMS[traced_set.system], traced_set.params)
    judged_queries = list(
        JudgedQuery.objects.within(namespace).filter(judgement_set_id=traced_set.judgement_set_id).order_by("id")
    )
    rows = TracedQuery.objects.within(namespace).filter(traced_set_id=traced_set.id)
    done = set(rows.values_list("query_id", flat=True))
    for position, judged_query in enumerate(judged_queries, start=1):
        if judged_query.id in done:
            continue
        row = trace_query(evaluation_query(namespace, judged_query, config), traced_set.id, judged_query.id)
        with transaction.atomic():
            row.save(force_insert=True)
            progress(position, len(judged_queries), traced=1)
    for row in rows.exclude(timed_out=[]).select_related("query"):
        retried = trace_query(evaluation_query(namespace, row.query, config), traced_set.id, row.query_id)
        with transaction.atomic():
            if len(retried.timed_out) < len(row.timed_out):
                rows.filter(id=row.id).delete()
                retried.save(force_insert=True)
            progress(len(judged_queries), len(judged_queries), retried=1, timed_out=int(bool(retried.timed_out)))
    with transaction.atomic():
        traced_set.ready_at = timezone.now()
        traced_set.save(update_fields=["ready_at"])
        prune_traced_sets(traced_set)
        progress(len(judged_queries), len(judged_queries))


def new_traced_set(namespace: Namespace, judgement_set_id: UUID, system: str, params: Mapping[str, Any]) -> TracedSet:
    """An unsaved, empty traced set."""
    return TracedSet(
        namespace=namespace,
        judgement_set_id=judgement_set_id,
        system=system,
        params=params,
        writes=write_count(namespace),
    )


def job_traced_set(work: Work, params: Mapping[str, Any]) -> TracedSet:
    """The traced set a job fills: its own when resumed, otherwise a new one."""
    existing_id = work.step_result.get("traced_set")
    if existing_id and (existing := TracedSet.objects.within(work.namespace).filter(id=existing_id).first()):
        return existing
    traced_set = new_traced_set(work.namespace, UUID(params["set"]), params["system"], params["params"])
    with transaction.atomic():
        traced_set.save(force_insert=True)
        work.step_result["traced_set"] = str(traced_set.id)
        work.record_progress(0)
    return traced_set


def prune_traced_sets(traced_set: TracedSet) -> None:
    """Delete superseded traced sets, variants beyond the newest `MAX_VARIANTS`, and abandoned ones."""
    siblings = TracedSet.objects.within(traced_set.namespace).filter(judgement_set_id=traced_set.judgement_set_id)
    finished = siblings.filter(system=traced_set.system, ready_at__isnull=False)
    newest: dict[str, UUID] = {}
    for id, params in finished.order_by("-begun_at", "-id").values_list("id", "params"):
        newest.setdefault(json.dumps(params, sort_keys=True), id)
    finished.exclude(id__in=list(newest.values())[:MAX_VARIANTS]).delete()
    siblings.filter(ready_at__isnull=True, begun_at__lt=timezone.now() - ABANDONED_AFTER).exclude(
        id=traced_set.id
    ).delete()


def trace_query(query: Query, traced_set_id: UUID, query_id: UUID) -> TracedQuery:
    """Retrieve one query by all retrievers, since weights move later, and pack its candidates as a trace does."""
    retrieval = retrieve(replace(query, all_retrievers=True))
    assert retrieval.parsed is not None
    return TracedQuery(
        namespace=query.namespace,
        traced_set_id=traced_set_id,
        query_id=query_id,
        plan=retrieval.query_plan.to_dict(),
        candidates=[row["id"] for row in retrieval.candidates.rows],
        signals=pack_signals(retrieval.signals, retrieval.candidates.fingerprints, retrieval.parsed.embedder),
        timed_out=sorted(retrieval.fetched.timed_out),
    )


STEPS: dict[str, Step] = {"trace": trace_step}
