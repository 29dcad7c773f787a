"""Whether a namespace works: its index, its retrievers, their times, long work, and what it all takes up."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from memories.jobs.submission import BusyError, submit_job
from memories.maintenance import index_recall, retriever_health, table_sizes
from memories.models import Job, Namespace, NamespaceStatistics
from memories.models.choices import EMBEDDERS, JobKind, Role
from memories.models.job import UNFINISHED
from memories.models.vector import SCAN_BELOW
from memories.pages.access import access_of, demanded, members_only
from memories.pages.jobs import jobs
from memories.providers.embedder import embedder
from memories.web.layout import render_page
from memories.writing.rebuild import embedder_error, unindexed_vectors

MOST_COUNTED = 10_000
LARGEST = 8  # tables that are listed
# What a member may start here.
STARTED = {JobKind.REFLECT: "Reflection", JobKind.INDEX: "Indexing", JobKind.MEASURE: "The measurement"}


@require_GET
@members_only
def health(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """All of it at a glance; htmx asks again for the work under way, and by itself for a trial of the embedder."""
    trial = tried(namespace) if "try" in request.GET else None
    if trial and getattr(request, "htmx", False):
        return render_page(request, "memories/health.html", {"trial": trial}, partial="tried")
    access = access_of(request, namespace)
    work = {"jobs": jobs(namespace), "may_start": access.allows(Role.WRITE)}
    if getattr(request, "htmx", False):
        return render_page(request, "memories/health.html", work, partial="work")
    traces = retriever_health.latest_traces(namespace)
    heard = retriever_health.health_by_retriever(traces)
    context = {
        **work,
        "trial": trial,
        "index": index(namespace),
        "traces": len(traces),
        "heard": heard,
        "silent": [one for one in heard if one.alert],
        "late": [one for one in heard if one.timed_out],
        "unfound": [one for one in heard if not one.with_results],
        "steps": timed(retriever_health.step_latencies(traces)),
        "embedder": embedding(namespace),
        "tables": tables(),
        "may_change": access.allows(Role.ADMIN),
    }
    return render_page(request, "memories/health.html", context)


@require_POST
@members_only
def start_job(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have long work done, and go back to where it can be watched."""
    access = demanded(request, namespace, Role.WRITE)
    kind = request.POST.get("kind", "")
    if kind not in STARTED:
        raise Http404(f"There is no such work: choose one of {', '.join(STARTED)}.")
    try:
        submit_job(namespace, JobKind(kind), {}, by=access.caller)
        messages.success(request, f"{STARTED[JobKind(kind)]} waits for a worker.")
    except BusyError as error:
        messages.warning(request, str(error))
    return redirect("health", namespace.slug)


def tried(namespace: Namespace) -> dict[str, Any]:
    """Load the embedder and let it embed a word, which may take its time."""
    wrong = embedder_error(namespace.embedder)
    return {"wrong": wrong, "dimensions": None if wrong else embedder(namespace.embedder).dimensions}


def index(namespace: Namespace) -> dict[str, Any]:
    """How the vectors are searched, and how much of the nearest that finds."""
    return {
        "used": index_recall.uses_index(namespace),
        "smallest": SCAN_BELOW,
        "ships": namespace.embedder in EMBEDDERS,
        "measured": index_recall.latest_index_recall(namespace),
        "alert": index_recall.MINIMUM_RECALL,
        "top": index_recall.TOP,
    }


def timed(steps: list[retriever_health.StepLatency]) -> list[dict[str, Any]]:
    """Steps with the lengths of their bars, all on one scale."""
    longest = max((step.p95 for step in steps), default=0) or 1
    return [{"step": step, "p50": 100 * step.p50 / longest, "p95": 100 * step.p95 / longest} for step in steps]


def embedding(namespace: Namespace) -> dict[str, Any]:
    """The embedder that serves, what it has embedded, and the one that is being changed to."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first()
    changing = Job.objects.within(namespace).filter(kind=JobKind.REEMBED, state__in=UNFINISHED).first()
    return {
        "name": namespace.embedder,
        "memories": statistics.documents if statistics else 0,
        "outside": unindexed_vectors(namespace)[: MOST_COUNTED + 1].count(),
        "most": MOST_COUNTED,
        "changing": changing,
    }


def tables() -> dict[str, Any]:
    """The largest tables, and all of them together."""
    all = table_sizes.all_table_sizes()
    largest = all[0].total if all else 1
    rows = [{"table": one, "width": 100 * one.total / largest} for one in all[:LARGEST]]
    return {
        "rows": rows,
        "others": len(all) - len(rows),
        "total": sum(one.total for one in all),
        "vectors": table_sizes.vector_index_sizes(),
    }
