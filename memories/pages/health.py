"""The Health page: vector index, retrievers, latency, jobs and table sizes."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from memories.jobs.submission import BusyError, submit_job
from memories.maintenance import index_recall, retriever_health, table_sizes
from memories.maintenance.type_resolution import uncertain_facts
from memories.models import Job, Namespace, NamespaceStatistics
from memories.models.choices import JobKind, Role
from memories.models.job import UNFINISHED
from memories.models.vector import SCAN_BELOW, index_name
from memories.pages.access import access_of, members_only, require_role
from memories.pages.job_rows import load_job_rows
from memories.providers.embedder import embedder
from memories.web.layout import render_page
from memories.writing.rebuild import embedder_error, unindexed_vectors

MAX_UNINDEXED = 10_000  # vectors counted
MAX_TABLES = 8
STARTABLE_JOBS = {JobKind.REFLECT: "Reflection", JobKind.INDEX: "Indexing", JobKind.MEASURE: "The measurement"}


@require_GET
@members_only
def health_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The whole page; htmx polls the jobs, and loads the test of the embedder."""
    trial = embedder_test(namespace) if "try" in request.GET else None
    if trial and getattr(request, "htmx", False):
        return render_page(request, "memories/health.html", {"trial": trial}, partial="tried")
    access = access_of(request, namespace)
    work = {
        "jobs": load_job_rows(namespace),
        "may_start": access.allows(Role.WRITE),
        "uncertain": uncertain_facts(namespace).count(),
    }
    if getattr(request, "htmx", False):
        return render_page(request, "memories/health.html", work, partial="work")
    traces = retriever_health.latest_traces(namespace)
    retrievers = retriever_health.health_by_retriever(traces)
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first()
    index_sizes = table_sizes.vector_index_sizes()
    context = {
        **work,
        "trial": trial,
        "index": index_context(namespace, statistics, index_sizes),
        "traces": len(traces),
        "retrievers": retrievers,
        "without_results": [retriever for retriever in retrievers if retriever.alert],
        "timed_out": [retriever for retriever in retrievers if retriever.timed_out],
        "never_found": [retriever for retriever in retrievers if not retriever.with_results],
        "steps": latency_bars(retriever_health.step_latencies(traces)),
        "embedder": embedder_context(namespace, statistics),
        "tables": table_sizes_context(index_sizes),
    }
    return render_page(request, "memories/health.html", context)


@require_POST
@members_only
def start_health_job(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Submit a job and return to the page, which shows its progress."""
    access = require_role(request, namespace, Role.WRITE)
    kind = request.POST.get("kind", "")
    if kind not in STARTABLE_JOBS:
        raise Http404(f"kind must be one of {', '.join(STARTABLE_JOBS)}; got {kind!r}")
    try:
        submit_job(namespace, JobKind(kind), {}, by=access.caller)
        messages.success(request, f"{STARTABLE_JOBS[JobKind(kind)]} is queued.")
    except BusyError as error:
        messages.warning(request, str(error))
    return redirect("health", namespace.slug)


def embedder_test(namespace: Namespace) -> dict[str, Any]:
    """Load the embedder and embed a word; may be slow."""
    error = embedder_error(namespace.embedder)
    return {"error": error, "dimensions": None if error else embedder(namespace.embedder).dimensions}


def index_context(
    namespace: Namespace, statistics: NamespaceStatistics | None, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Whether the namespace has a vector index, its size, and its measured recall."""
    name = index_name(namespace.id, namespace.embedder)
    return {
        "used": statistics is not None and statistics.vector_index == name,
        "name": name,
        "size": sizes.get(name, 0),
        "smallest": SCAN_BELOW,
        "outgrown": statistics is not None and statistics.documents >= SCAN_BELOW,
        "measured": index_recall.latest_index_recall(namespace),
        "top": index_recall.TOP,
    }


def latency_bars(steps: list[retriever_health.StepLatency]) -> list[dict[str, Any]]:
    """Steps with the widths of their bars, all on one scale."""
    longest = max((step.p95 for step in steps), default=0) or 1
    return [{"step": step, "p50": 100 * step.p50 / longest, "p95": 100 * step.p95 / longest} for step in steps]


def embedder_context(namespace: Namespace, statistics: NamespaceStatistics | None) -> dict[str, Any]:
    """The current embedder, its vectors outside the index, and a pending change."""
    changing = Job.objects.within(namespace).filter(kind=JobKind.REEMBED, state__in=UNFINISHED).first()
    return {
        "name": namespace.embedder,
        "memories": statistics.documents if statistics else 0,
        "outside": unindexed_vectors(namespace)[: MAX_UNINDEXED + 1].count(),
        "most": MAX_UNINDEXED,
        "changing": changing,
    }


def table_sizes_context(index_sizes: Mapping[str, int]) -> dict[str, Any]:
    """The largest tables, and the total size."""
    tables = table_sizes.all_table_sizes()
    largest = tables[0].total if tables else 1
    rows = [{"table": table, "width": 100 * table.total / largest} for table in tables[:MAX_TABLES]]
    return {
        "rows": rows,
        "others": len(tables) - len(rows),
        "total": sum(table.total for table in tables),
        "indexes": index_sizes,
        "index_bytes": sum(index_sizes.values()),
    }
