"""`/metrics` for Prometheus: requests, what `memories.db.counters` counts, the queue and index alerts."""

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
from memories.maintenance.index_recall import namespaces_with_index_alert
from memories.models import Job
from memories.web.middleware import View
from memories.web.problems import problem

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LOOPBACK = ("127.0.0.1", "::1")
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
WAITING = ("todo", "doing")

requests = Counter("recall_requests", "Requests that were answered.", ["route", "method", "status"])
seconds = Histogram(
    "recall_request_seconds", "Until an answer began.", ["route", "method"], buckets=counters.FAST_BUCKETS
)


def count_requests(get_response: View) -> View:
    """Count requests and their duration by URL name, method and status."""

    def middleware(request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = get_response(request)
        route = request.resolver_match.view_name if request.resolver_match else "none"
        method = request.method if request.method in METHODS else "other"
        requests.labels(route, method, response.status_code).inc()
        seconds.labels(route, method).observe(time.perf_counter() - started)
        return response

    return middleware


@never_cache
@require_safe
def metrics_view(request: HttpRequest) -> HttpResponse:
    """The metrics of all processes on this machine."""
    if settings.RECALL_METRICS_TOKEN:
        authorization = request.headers.get("Authorization", "")
        if not constant_time_compare(authorization, f"Bearer {settings.RECALL_METRICS_TOKEN}"):
            response = problem(401, "Send the header Authorization: Bearer with the site's RECALL_METRICS_TOKEN.")
            response["WWW-Authenticate"] = 'Bearer realm="metrics"'
            return response
    elif not is_local(request):
        return problem(403, "Without RECALL_METRICS_TOKEN only programs on the site's own machine may read metrics.")
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(settings.METRICS))  # type: ignore[no-untyped-call]
    registry.register(DatabaseCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def is_local(request: HttpRequest) -> bool:
    """Whether the request comes from this machine and was not forwarded by a proxy."""
    return request.META.get("REMOTE_ADDR") in LOOPBACK and not any(name in request.headers for name in FORWARDED)


class DatabaseCollector(Collector):
    """Gauges read from the database: whether it is up, the queue, jobs, and index alerts."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Query it; if it is down, report only that."""
        try:
            queue: dict[Any, int] = dict(count_by(ProcrastinateJob.objects.filter(status__in=WAITING), "status"))
            jobs = list(count_by(Job.objects.all(), "kind", "state"))
            index_alerts = len(namespaces_with_index_alert())
        except Error:
            yield GaugeMetricFamily("recall_database_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("recall_database_up", "Whether the database answers.", 1)
        waiting = GaugeMetricFamily("recall_queue_jobs", "Jobs waiting or running.", labels=["status"])
        for status in WAITING:
            waiting.add_metric([status], queue.get(status, 0))
        yield waiting
        by_state = GaugeMetricFamily("recall_jobs", "Jobs by kind and state.", labels=["kind", "state"])
        for kind, state, count in jobs:
            by_state.add_metric([kind, state], count)
        yield by_state
        yield GaugeMetricFamily(
            "recall_index_alerts", "Namespaces whose vector index finds less than their policy demands.", index_alerts
        )


def count_by(rows: Any, *columns: str) -> Any:
    """The number of rows per value of some columns."""
    return rows.order_by().values_list(*columns).annotate(count=Count("*"))


def drop_stale_counters() -> None:
    """Delete the files of dead processes; Prometheus handles counters that restart at 0."""
    for file in settings.METRICS.glob("*_*.db"):
        if not psutil.pid_exists(int(file.stem.rpartition("_")[2])):
            file.unlink(missing_ok=True)
