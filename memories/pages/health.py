"""Whether a namespace works: its index, its retrievers, their times, long work, and what it all takes up."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from memories.health import index_recall, listening, sizes
from memories.jobs.submission import BusyError, submit_job
from memories.models import Job, Namespace, NamespaceStatistics
from memories.models.choices import EMBEDDERS, JobKind, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only, require_role
from memories.pages.job_rows import jobs
from memories.providers.embedder import embedder
from memories.writing.embedder_switch import embedder_error
from memories.writing.index_vectors import unindexed_vectors
from memories.writing.neighbours import SCAN_BELOW
from recall_site.layout import render_page

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
    traces = listening.last_traces(namespace)
    heard = listening.heard(traces)
    context = {
        **work,
        "trial": trial,
        "index": index(namespace),
        "traces": len(traces),
        "heard": heard,
        "silent": [one for one in heard if one.silent],
        "late": [one for one in heard if one.late],
        "unfound": [one for one in heard if not one.found],
        "steps": timed(listening.latency(traces)),
        "embedder": embedding(namespace),
        "tables": tables(),
        "may_change": access.allows(Role.ADMIN),
    }
    return render_page(request, "memories/health.html", context)


@require_POST
@members_only
def start_job(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have long work done, and go back to where it can be watched."""
    access = require_role(request, namespace, Role.WRITE)
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
        "used": index_recall.indexed(namespace),
        "smallest": SCAN_BELOW,
        "ships": namespace.embedder in EMBEDDERS,
        "measured": index_recall.last_measured(namespace),
        "alert": index_recall.ALERT,
        "top": index_recall.TOP,
    }


def timed(steps: list[listening.Step]) -> list[dict[str, Any]]:
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
    all = sizes.tables()
    largest = all[0].whole if all else 1
    rows = [{"table": one, "width": 100 * one.whole / largest} for one in all[:LARGEST]]
    return {
        "rows": rows,
        "others": len(all) - len(rows),
        "total": sum(one.whole for one in all),
        "vectors": sizes.vector_indexes(),
    }
