"""Recall of the HNSW index: recent queries are answered by the index and by an exact scan, as a job."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from memories.contracts.work import Step, Work
from memories.db.pipeline import snapshot
from memories.models import Job, MemoryVector, Namespace, NamespaceStatistics, Trace
from memories.models.choices import EMBEDDERS, JobKind, JobState, Route
from memories.models.vector import SCAN_BELOW
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import choose_plan, list_depth
from memories.retrieval.query import Query
from memories.retrieval.retrieve import database_settings, retriever_context
from memories.retrieval.retrievers import semantic
from memories.writing.write_policy import current_write_policy
from scoring.calibration import index_alert

SAMPLE_SIZE = 20  # queries per measurement
RECENT_TRACES = 200  # from which they are taken
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
    """Whether the index serves a namespace; small ones, and embedders without an index, are scanned exactly."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).only("documents").first()
    return statistics is not None and statistics.documents >= SCAN_BELOW and namespace.embedder in EMBEDDERS


def latest_index_recall(namespace: Namespace) -> IndexRecall | None:
    """The last measurement, if it measured anything."""
    done = Job.objects.within(namespace).filter(kind=JobKind.MEASURE, state=JobState.DONE)
    job = done.order_by("created_at", "id").last()
    result: dict[str, Any] = job.result.get("measure", {}) if job else {}
    if job is None or job.finished_at is None or not result.get("recalls"):
        return None
    recalls = result["recalls"]
    threshold = current_write_policy(namespace).index_recall
    return IndexRecall(job.finished_at, recalls, min(result["asked_before"], len(recalls)), threshold)


def namespaces_with_index_alert() -> list[Namespace]:
    """The namespaces whose index finds less than their write policy demands."""
    measured = Job.objects.filter(kind=JobKind.MEASURE, state=JobState.DONE).values("namespace_id")
    return [
        namespace
        for namespace in Namespace.objects.filter(id__in=measured).order_by("id")
        if uses_index(namespace) and (latest := latest_index_recall(namespace)) and latest.alert
    ]


def measure_index_recall(work: Work) -> None:
    """Answer each query both ways, and record the share of the exact top ten that the index finds."""
    if not uses_index(work.namespace):
        return
    texts = recent_query_texts(work.namespace)
    work.step_result.update(recalls=[], asked_before=len(texts))
    for number, (query, parsed) in enumerate(measured_queries(work.namespace, texts), start=1):
        recall = recall_at_top(query, parsed)
        if recall is not None:
            work.step_result["recalls"].append(recall)
        work.record_progress(number, SAMPLE_SIZE)


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


def recall_at_top(query: Query, parsed: ParsedQuery) -> float | None:
    """The share of the exact nearest that the index finds; None if there are none."""
    exact, approximate = (semantic_top(query, parsed, large=large) for large in (False, True))
    return len(set(exact) & set(approximate)) / len(exact) if exact else None


def semantic_top(query: Query, parsed: ParsedQuery, *, large: bool) -> list[UUID]:
    """The nearest memories by the semantic retriever, using the index if `large`, else a scan."""
    params = query.config.params_under(choose_plan(parsed, query.config).plan)
    with snapshot():
        # The depth of a retrieval: the index searches further the more is wanted.
        depth = list_depth(params, TOP)
        context = replace(retriever_context(query, parsed, params, depth), indexed=large)
        settings = {**database_settings(context), "statement_timeout": str(SCAN_TIMEOUT_MS)}
        fetched = fetch({"semantic": semantic.sql(context)}, settings)
    if fetched.timed_out:
        raise TimeoutError(f"A search {fetched.timed_out['semantic']}.")
    return list(fetched.lists["semantic"])[:TOP]


STEPS: dict[str, Step] = {"measure": measure_index_recall}
