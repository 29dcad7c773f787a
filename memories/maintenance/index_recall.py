"""Recall of the HNSW index, measured by a job: recent queries are answered by an exact scan, and by the index with
increasing effort until it finds what the write policy demands. The effort then serves the namespace."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.utils import timezone

from memories.contracts.work import Step, Work
from memories.db.pipeline import snapshot
from memories.models import Job, MemoryVector, Namespace, NamespaceStatistics, Trace
from memories.models.choices import JobKind, JobState, Route
from memories.models.vector import index_name
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import choose_plan, list_depth
from memories.retrieval.query import Query
from memories.retrieval.retrieve import database_settings, retriever_context
from memories.retrieval.retrievers import semantic
from memories.retrieval.retrievers.semantic import EF_SEARCH, MAX_EF_SEARCH, ef_search
from memories.writing.write_policy import current_write_policy
from scoring.calibration import index_alert
from scoring.specificity import Plan

SAMPLE_SIZE = 100  # queries per measurement; the standard error of recall@10 is then below .01
RECENT_TRACES = 500  # from which they are taken
EFFORTS = (EF_SEARCH, 125, 150, 200, 250, 300, 400, 600, MAX_EF_SEARCH)
GROWTH = 1.5  # of the namespace, after which it is measured again
RETRY = timedelta(days=1)  # after a measurement that failed
TOP = 10
SCAN_TIMEOUT_MS = 30_000
PLACEHOLDER_QUERY = "What is known?"  # its vector is replaced by a stored one


@dataclass(frozen=True)
class IndexRecall:
    """The last measurement of a namespace's index."""

    at: datetime
    recalls: Sequence[float]  # of each query
    real_queries: int  # the others are stored vectors
    threshold: float  # of the namespace's write policy
    ef_search: int = 0  # the least effort that reaches it; 0 in measurements before efforts were chosen
    by_effort: Mapping[str, float] = field(default_factory=dict)  # the mean recall of each effort tried

    @property
    def recall(self) -> float:
        """The mean over the queries."""
        return float(np.mean(self.recalls))

    @property
    def worst(self) -> float:
        """The lowest of a query."""
        return min(self.recalls)

    @property
    def alert(self) -> bool:
        """Whether the index misses too much."""
        return index_alert(self.recalls, threshold=self.threshold)


def uses_index(namespace: Namespace) -> bool:
    """Whether an index serves a namespace; others are scanned exactly."""
    name = index_name(namespace.id, namespace.embedder)
    return NamespaceStatistics.objects.filter(namespace=namespace, vector_index=name).exists()


def latest_index_recall(namespace: Namespace) -> IndexRecall | None:
    """The last measurement, if it measured anything."""
    done = Job.objects.within(namespace).filter(kind=JobKind.MEASURE, state=JobState.DONE)
    job = done.order_by("created_at", "id").last()
    result: dict[str, Any] = job.result.get("measure", {}) if job else {}
    if job is None or job.finished_at is None or not result.get("recalls"):
        return None
    recalls = result["recalls"]
    return IndexRecall(
        at=job.finished_at,
        recalls=recalls,
        real_queries=min(result["asked_before"], len(recalls)),
        threshold=current_write_policy(namespace).index_recall,
        ef_search=result.get("ef_search", 0),
        by_effort=result.get("by_effort", {}),
    )


def namespaces_with_index_alert() -> list[Namespace]:
    """The namespaces whose index finds less than their write policy demands."""
    measured = Job.objects.filter(kind=JobKind.MEASURE, state=JobState.DONE).values("namespace_id")
    return [
        namespace
        for namespace in Namespace.objects.filter(id__in=measured).order_by("id")
        if uses_index(namespace) and (latest := latest_index_recall(namespace)) and latest.alert
    ]


def namespaces_to_measure() -> list[Namespace]:
    """Those whose index was never measured, or not since their size, embedder, policy or queries changed."""
    indexed = NamespaceStatistics.objects.exclude(vector_index="")
    rows = indexed.select_related("namespace").order_by("namespace_id")
    return [row.namespace for row in rows if measurement_is_due(row.namespace, row.documents)]


def measurement_is_due(namespace: Namespace, documents: int) -> bool:
    """Whether the last measurement no longer describes the index."""
    last = Job.objects.within(namespace).filter(kind=JobKind.MEASURE).order_by("created_at", "id").last()
    if last is None or last.state == JobState.FAILED:
        return last is None or last.created_at < timezone.now() - RETRY
    if last.state != JobState.DONE:
        return False
    result = last.result.get("measure", {})
    facts = measured_facts(namespace)
    if any(result.get(name) != fact for name, fact in facts.items()) or documents >= GROWTH * result["documents"]:
        return True
    # Stored vectors are easier to find than what people ask.
    return bool(result["asked_before"] < SAMPLE_SIZE <= len(recent_query_texts(namespace)))


def measured_facts(namespace: Namespace) -> dict[str, Any]:
    """What a measurement depends on besides the vectors."""
    params = resolve_config(namespace, params={}).params_under(Plan("all"))
    return {
        "embedder": namespace.embedder,
        "threshold": current_write_policy(namespace).index_recall,
        "depth": list_depth(params, TOP),
    }


def measure_index_recall(work: Work) -> None:
    """Record the share of the exact top ten that the index finds by the least effort that is enough, and serve it."""
    namespace = work.namespace
    if not uses_index(namespace):
        return
    texts, facts = recent_query_texts(namespace), measured_facts(namespace)
    facts["documents"] = NamespaceStatistics.objects.get(namespace=namespace).documents
    work.step_result.update(facts, recalls=[], asked_before=len(texts))
    exact_tops = []
    for number, (query, parsed) in enumerate(measured_queries(namespace, texts), start=1):
        if exact := semantic_top(query, parsed, effort=None):
            exact_tops.append((query, parsed, exact))
        work.record_progress(number, SAMPLE_SIZE)
    if not exact_tops:
        return
    by_effort: dict[int, list[float]] = {}
    for effort in sorted({max(effort, facts["depth"]) for effort in EFFORTS}):
        by_effort[effort] = [
            len(set(exact) & set(semantic_top(query, parsed, effort=effort))) / len(exact)
            for query, parsed, exact in exact_tops
        ]
        if not index_alert(by_effort[effort], threshold=facts["threshold"]):
            break
    chosen = max(by_effort)
    means = {str(effort): float(np.mean(recalls)) for effort, recalls in by_effort.items()}
    work.step_result.update(recalls=by_effort[chosen], ef_search=chosen, by_effort=means)
    with transaction.atomic():
        work.record_progress(SAMPLE_SIZE, SAMPLE_SIZE)
        NamespaceStatistics.objects.filter(namespace=namespace).update(ef_search=chosen)


def recent_query_texts(namespace: Namespace) -> list[str]:
    """The latest distinct queries."""
    recent = Trace.objects.within(namespace).filter(shadow=False).order_by("-id").values_list("query", flat=True)
    return list(dict.fromkeys(recent[:RECENT_TRACES]))[:SAMPLE_SIZE]


def measured_queries(namespace: Namespace, texts: list[str]) -> Iterator[tuple[Query, ParsedQuery]]:
    """The given queries, filled up with random stored vectors."""
    config = resolve_config(namespace, params={})
    for text in texts:
        query = Query(namespace=namespace, text=text, config=config)
        yield query, understand(query)
    stored = MemoryVector.objects.within(namespace).filter(embedder=namespace.embedder, route=Route.FULL, active=True)
    missing = SAMPLE_SIZE - len(texts)
    vectors = list(stored.order_by("?").values_list("vector", flat=True)[:missing]) if missing else []
    if not vectors:
        return
    query = Query(namespace=namespace, text=PLACEHOLDER_QUERY, config=config)
    parsed = understand(query)
    for vector in vectors:
        yield query, replace(parsed, vector=np.asarray(vector, dtype=float))


def semantic_top(query: Query, parsed: ParsedQuery, *, effort: int | None) -> list[UUID]:
    """The nearest memories by the semantic retriever, using the index with some effort, or a scan."""
    params = query.config.params_under(choose_plan(parsed, query.config).plan)
    with snapshot():
        # The depth of a retrieval: the index searches further the more is wanted.
        depth = list_depth(params, TOP)
        context = retriever_context(query, parsed, params, depth)
        context = replace(context, indexed=effort is not None, ef_search=ef_search(effort or 0, depth))
        settings = {**database_settings(context), "statement_timeout": str(SCAN_TIMEOUT_MS)}
        fetched = fetch({"semantic": semantic.sql(context)}, settings)
    if fetched.timed_out:
        raise TimeoutError(f"A search {fetched.timed_out['semantic']}.")
    return list(fetched.lists["semantic"])[:TOP]


STEPS: dict[str, Step] = {"measure": measure_index_recall}
