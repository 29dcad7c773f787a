"""Server time of the first paint of every page with 100,000 memories, and of Memories with a million."""

import argparse
import logging
import os
import sys
import time
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django
from django.conf import settings

# Static files are not collected here.
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
django.setup()

import numpy as np
import psutil
from django.core.management import call_command
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from benchmarks.speed import seed, worlds
from benchmarks.speed.seed_tuning import seed_tuning
from memories.models import (
    EntityEdge,
    Job,
    JudgementSet,
    Memory,
    Namespace,
    ProfileVersion,
    Trace,
)
from memories.models.choices import JobKind, Status

MEMORIES, REPEATS, TARGET = 100_000, 20, 300  # milliseconds
LARGE_MEMORIES = 1_000_000  # memories, for the Memories page
EXCLUDED = ("admin/", "api/v1/<slug:namespace>/")  # Django's admin, and the API
# Query strings per page: common and expensive states.
STATES = {
    "memories": (
        "?q=garden",
        "?q=what+she+eats&by=semantic",
        "?confidence=unsure",
        "?confidence=unsure&type=Event",
        "?age=older",
        "?tag=tag-299",
        "?entity={entity}",
        "?status=rejected",
    ),
    "lab": ("?query=Who+likes+gardens%3F", "?trace={trace}"),
    "decay": ("?system=memorysync", "?system=contextdb"),
    "dedup": ("?compare=1",),
    "graph": ("?entity={entity}", "?predicate=knows", "?p.least_confidence=0.95"),
    "traces": ("?q=music", "?slower_than=100000", "?since=2020-01-01T00:00"),
    "guards": ("?example=1",),
    "memories-memory": ("?q=Who+likes+gardens%3F",),
    "thresholds": ("?recall.rrf_k=30&policy.dedup_duplicate=0.9",),
    "thresholds-effects": ("?recall.rrf_k=30&policy.dedup_duplicate=0.9",),
    "tune": ("?by=recall", "?by=recall&p.rrf_k=20"),
    "ablation": ("?show=1",),
    "optimise": ("?job={job}",),
    "calibrate": ("?p.merge_cost=2",),
}
# What an id in a URL refers to, by prefix of the page's name; a memory by default.
ID_KINDS = {"traces": "trace", "judgements": "set", "profiles": "version"}


class PageCost(NamedTuple):
    """Cost of one URL in ms."""

    p50: float
    p95: float
    cpu: float
    database_cpu: float  # share of the CPU time spent in the database
    queries: int


def main() -> None:
    """Create missing data, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--browsed", type=int, default=LARGE_MEMORIES, help="memories for the Memories page")
    parser.add_argument("--times", type=int, default=REPEATS)
    parser.add_argument("--only", nargs="*", default=(), help="names of pages")
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"There is no data at {worlds.DATA} (set RECALL_BENCH_DATA to another path): nothing to measure.")
        return
    logging.disable(logging.WARNING)  # actions reject GET
    warnings.filterwarnings("ignore", "No directory at")  # of collected static files
    call_command("migrate", interactive=False, verbosity=0)
    namespace, user = seed.get_or_seed_world(options.memories)
    seed_tuning(namespace)
    client = Client(SERVER_NAME="127.0.0.1", raise_request_exception=True)
    client.force_login(user)
    measure_pages(client, namespace, options.memories, options.times, options.only)
    if options.browsed and (not options.only or "memories" in options.only):
        measure_pages(client, seed.get_or_seed_world(options.browsed)[0], options.browsed, options.times, ("memories",))


def measure_pages(client: Client, namespace: Namespace, memories: int, repeats: int, only: Collection[str]) -> None:
    """Request every page repeatedly and print its cost."""
    print(f"{memories:,} memories, {repeats} requests each, in ms; target {TARGET}")
    print(f"{'':48} {'p50':>7} {'p95':>7} {'CPU':>10} {'database':>9} {'queries':>8}")
    for name, address in page_urls(client, namespace, only):
        cost = measure_url(client, address, repeats)
        missed = "" if cost.p95 < TARGET else "  p95 over target" if cost.p50 < TARGET else "  MISSED"
        columns = f"{cost.p50:7.1f} {cost.p95:7.1f} {cost.cpu:10.1f} {cost.database_cpu:9.1f} {cost.queries:8d}"
        print(f"{' '.join((name, *address.partition('?')[1:])):48.48} {columns}{missed}", flush=True)


def page_urls(client: Client, namespace: Namespace, only: Collection[str]) -> Iterator[tuple[str, str]]:
    """Name and URL of every page, plain and in its expensive states."""
    known = url_values(namespace)
    for pattern in page_patterns(get_resolver()):
        name = str(pattern.name)
        arguments = {argument: url_argument(argument, name, known) for argument in pattern.pattern.converters}
        address = reverse(name, kwargs=arguments)
        if (not only or name in only) and is_page(client.get(address)):
            yield name, address
            yield from ((name, address + state.format(**known)) for state in STATES.get(name, ()))


def page_patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    """Named URL patterns, without the excluded prefixes."""
    for entry in resolver.url_patterns:
        if str(entry.pattern) in EXCLUDED:
            continue
        if isinstance(entry, URLResolver):
            yield from page_patterns(entry)
        elif entry.name:
            yield entry


def url_values(namespace: Namespace) -> dict[str, Any]:
    """Values for URL arguments; the entity with the most edges, the newest memory."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE)
    edge = EntityEdge.objects.within(namespace).order_by("source_id").first()
    return {
        "namespace": namespace.slug,
        "system": "recall",
        "act": "forget",
        "user": 0,
        "memory": active.order_by("-created_at", "id").values_list("id", flat=True)[0],
        "trace": Trace.objects.within(namespace).order_by("-id").values_list("id", flat=True)[0],
        "entity": edge and edge.source_id,
        "set": JudgementSet.objects.within(namespace).earliest("id").id,
        "version": first_id(ProfileVersion.objects.within(namespace)),
        "job": first_id(Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE)),
    }


def url_argument(argument: str, page: str, values: dict[str, Any]) -> Any:
    """The value of a URL argument; an id refers to what the page shows."""
    kind = next((kind for prefix, kind in ID_KINDS.items() if page.startswith(prefix)), "memory")
    return values[kind] if argument == "id" else values[argument]


def first_id(rows: QuerySet[Any]) -> UUID:
    """The id of the first row; a nil id if there is none."""
    return rows.order_by("id").values_list("id", flat=True).first() or UUID(int=0)


def is_page(response: HttpResponse) -> bool:
    """Whether a response is an HTML page: not an action (POST), data or a redirect."""
    return response.status_code == 200 and response["Content-Type"].startswith("text/html")


def measure_url(client: Client, url: str, repeats: int) -> PageCost:
    """Request a URL once to warm up, once to count its SQL queries, then repeatedly."""
    client.get(url, follow=True)
    with CaptureQueriesContext(connection) as captured:
        client.get(url, follow=True)
    queries = len(captured)  # before another request resets them
    connection.ensure_connection()
    database = psutil.Process(connection.connection.info.backend_pid)
    before, began = process_cpu_seconds(database), time.process_time()
    took = []
    for _ in range(repeats):
        since = time.perf_counter()
        response = client.get(url, follow=True)
        took.append(1000 * (time.perf_counter() - since))
        assert response.status_code == 200, (url, response.status_code)
    database_ms = 1000 * (process_cpu_seconds(database) - before) / repeats
    python_ms = 1000 * (time.process_time() - began) / repeats
    p50, p95 = np.quantile(took, [0.5, 0.95])
    return PageCost(p50, p95, python_ms + database_ms, database_ms, queries)


def process_cpu_seconds(process: psutil.Process) -> float:
    """CPU seconds used by a process."""
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
