"""`/metrics` for Prometheus: requests, what `memories.db.counters` counts, and the state of the queue."""

import time
from collections.abc import Iterator
from typing import Any

import psutil
from django.conf import settings
from django.db import Error
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from procrastinate.contrib.django.models import ProcrastinateJob
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memories.db import counters
from memories.models import Job
from recall_site.middleware import View
from recall_site.problems import problem

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
WAITING = ("todo", "doing")

requests = Counter("recall_requests", "Requests that were answered.", ["route", "method", "status"])
seconds = Histogram("recall_request_seconds", "Until an answer began.", ["route", "method"], buckets=counters.FAST)


def count_requests(get_response: View) -> View:
    """Count each request by the name of its address, and how long its answer took."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        route = request.resolver_match.view_name if request.resolver_match else "none"
        method = request.method if request.method in METHODS else "other"
        requests.labels(route, method, response.status_code).inc()
        seconds.labels(route, method).observe(time.perf_counter() - began)
        return response

    return middleware


@never_cache
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Tell all numbers, of every process of this machine."""
    if settings.RECALL_METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        if not constant_time_compare(given, f"Bearer {settings.RECALL_METRICS_TOKEN}"):
            response = problem(401, "Send the header Authorization: Bearer with the site's RECALL_METRICS_TOKEN.")
            response["WWW-Authenticate"] = 'Bearer realm="metrics"'
            return response
    elif not from_here(request):
        return problem(403, "Without RECALL_METRICS_TOKEN metrics are told on the site's own machine alone.")
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(settings.METRICS))  # type: ignore[no-untyped-call]
    registry.register(Database())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def from_here(request: HttpRequest) -> bool:
    """Whether a program of this machine asks for itself, and not a proxy for somebody else."""
    return request.META.get("REMOTE_ADDR") in LOOPBACK and not any(name in request.headers for name in FORWARDED)


class Database(Collector):
    """What the database knows: whether it answers, the queue, and long work."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Ask it; where it is away, only that is told."""
        try:
            queue: dict[Any, int] = dict(counts(ProcrastinateJob.objects.filter(status__in=WAITING), "status"))
            jobs = list(counts(Job.objects.all(), "kind", "state"))
        except Error:
            yield GaugeMetricFamily("recall_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("recall_database_up", "Whether the database answers.", 1)
        waiting = GaugeMetricFamily("recall_queue_jobs", "Jobs that wait or run.", labels=["status"])
        for status in WAITING:
            waiting.add_metric([status], queue.get(status, 0))
        yield waiting
        known = GaugeMetricFamily("recall_jobs", "Long work that was asked for.", labels=["kind", "state"])
        for kind, state, count in jobs:
            known.add_metric([kind, state], count)
        yield known


def counts(rows: Any, *columns: str) -> Any:
    """How many rows there are of each kind."""
    return rows.order_by().values_list(*columns).annotate(count=Count("*"))


def sweep() -> None:
    """Drop what processes have counted that are gone; Prometheus knows that a site which starts counts from 0."""
    for file in settings.METRICS.glob("*_*.db"):
        if not psutil.pid_exists(int(file.stem.rpartition("_")[2])):
            file.unlink(missing_ok=True)
