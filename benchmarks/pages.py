"""What the first paint of every page costs the server, in a namespace of 100,000 memories; Memories in a million."""

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

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402
from django.conf import settings  # noqa: E402

# Files are served from where they lie, as nothing was collected.
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
django.setup()

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import QuerySet  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import URLPattern, URLResolver, get_resolver, reverse  # noqa: E402

from benchmarks.speed import furnishing, worlds  # noqa: E402
from benchmarks.speed.improving import improved  # noqa: E402
from memories.models import EntityEdge, Job, JudgementSet, Memory, Namespace, ProfileVersion, Trace  # noqa: E402
from memories.models.choices import JobKind, Status  # noqa: E402

MEMORIES, TIMES, AIM = 100_000, 20, 300  # milliseconds
BROWSED = 1_000_000  # memories, of which a person looks at some
APART = ("admin/", "api/v1/<slug:namespace>/")  # Django's own pages, and what agents call
# A page's name and more of its address: what a person does first there, and what is known to be dear.
STATES = {
    "memories": (
        "?q=garden",
        "?q=what+she+eats&by=meaning",
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
    "memories-memory": ("?query=Who+likes+gardens%3F",),
    "tune": ("?by=recall", "?by=recall&p.rrf_k=20"),
    "ablation": ("?show=1",),
    "optimise": ("?job={job}",),
    "calibrate": ("?p.merge_cost=2",),
}
# Whose id an address says, by how the page's name begins; else a memory's.
ABOUT = {"traces": "trace", "judgements": "set", "profiles": "version"}


class Took(NamedTuple):
    """What one address cost, in milliseconds."""

    half: float
    most: float  # of 95 in 100
    processor: float
    database: float  # of the processor's time, what the database's process used
    queries: int


def main() -> None:
    """Load what is missing, paint, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--browsed", type=int, default=BROWSED, help="memories of the namespace that Memories shows")
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--only", nargs="*", default=(), help="names of pages")
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"There is no data at {worlds.DATA} (RECALL_BENCH_DATA names another place): nothing to show.")
        return
    logging.disable(logging.WARNING)  # acts refuse to be looked at
    warnings.filterwarnings("ignore", "No directory at")  # of collected files
    call_command("migrate", interactive=False, verbosity=0)
    namespace, user = furnishing.furnished(options.memories)
    improved(namespace)
    client = Client(SERVER_NAME="127.0.0.1", raise_request_exception=True)
    client.force_login(user)
    paint(client, namespace, options.memories, options.times, options.only)
    if options.browsed and (not options.only or "memories" in options.only):
        paint(client, furnishing.furnished(options.browsed)[0], options.browsed, options.times, ("memories",))


def paint(client: Client, namespace: Namespace, memories: int, times: int, only: Collection[str]) -> None:
    """Open every page so many times, and print what that cost."""
    print(f"{memories:,} memories, {times} times each, in ms; aim {AIM}")
    print(f"{'':48} {'half':>7} {'95 %':>7} {'processor':>10} {'database':>9} {'queries':>8}")
    for name, address in addresses(client, namespace, only):
        one = measured(client, address, times)
        missed = "" if one.most < AIM else "  over the aim" if one.half < AIM else "  MISSED"
        figures = f"{one.half:7.1f} {one.most:7.1f} {one.processor:10.1f} {one.database:9.1f} {one.queries:8d}"
        print(f"{' '.join((name, *address.partition('?')[1:])):48.48} {figures}{missed}", flush=True)


def addresses(client: Client, namespace: Namespace, only: Collection[str]) -> Iterator[tuple[str, str]]:
    """Every page of the site by its name, as it opens and in the states that are known to be dear."""
    known = known_in(namespace)
    for pattern in pages(get_resolver()):
        name = str(pattern.name)
        wanted = {argument: value_of(argument, name, known) for argument in pattern.pattern.converters}
        address = reverse(name, kwargs=wanted)
        if (not only or name in only) and is_page(client.get(address)):
            yield name, address
            yield from ((name, address + state.format(**known)) for state in STATES.get(name, ()))


def pages(resolver: URLResolver) -> Iterator[URLPattern]:
    """The patterns of everything that has a name, without what is no page of ours."""
    for entry in resolver.url_patterns:
        if str(entry.pattern) in APART:
            continue
        if isinstance(entry, URLResolver):
            yield from pages(entry)
        elif entry.name:
            yield entry


def known_in(namespace: Namespace) -> dict[str, Any]:
    """What addresses are made of; the entity is the one with the most edges, the memory the newest."""
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
        "version": first_of(ProfileVersion.objects.within(namespace)),
        "job": first_of(Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE)),
    }


def value_of(argument: str, page: str, known: dict[str, Any]) -> Any:
    """What an address says in a place; an id is that of what the page is about."""
    about = next((thing for name, thing in ABOUT.items() if page.startswith(name)), "memory")
    return known[about] if argument == "id" else known[argument]


def first_of(rows: QuerySet[Any]) -> UUID:
    """The id of the first of some rows; where there is none, one that nothing has."""
    return rows.order_by("id").values_list("id", flat=True).first() or UUID(int=0)


def is_page(answer: HttpResponse) -> bool:
    """Whether an answer is a page: neither an act, which asks for a POST, nor data, nor the way to another page."""
    return answer.status_code == 200 and answer["Content-Type"].startswith("text/html")


def measured(client: Client, address: str, times: int) -> Took:
    """Open an address once to warm up, once to count its questions, then so many times."""
    client.get(address, follow=True)
    with CaptureQueriesContext(connection) as asked:
        client.get(address, follow=True)
    queries = len(asked)  # before another request forgets them
    connection.ensure_connection()
    database = psutil.Process(connection.connection.info.backend_pid)
    before, began = used(database), time.process_time()
    took = []
    for _ in range(times):
        since = time.perf_counter()
        answer = client.get(address, follow=True)
        took.append(1000 * (time.perf_counter() - since))
        assert answer.status_code == 200, (address, answer.status_code)
    there = 1000 * (used(database) - before) / times
    here = 1000 * (time.process_time() - began) / times
    half, most = np.quantile(took, [0.5, 0.95])
    return Took(half, most, here + there, there, queries)


def used(process: psutil.Process) -> float:
    """How many seconds of the processor a process has had."""
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
