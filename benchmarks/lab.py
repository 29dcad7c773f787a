"""Latency of a slider move in the Lab: 200 candidates re-ranked from their trace, in process and over HTTP."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path

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
from django.core.management import call_command
from django.db.models import F, Func, IntegerField
from django.test import Client
from django.urls import reverse

from benchmarks.speed import http_load, seed, worlds
from memories.models import (
    Namespace,
    Trace,
)

MEMORIES, MOVES = 100_000, 100
CANDIDATES = 200
SERVER_TARGET, ROUND_TRIP_TARGET = 50, 100  # p95 in ms
SYSTEM, SLIDER, VALUES = "blend", "half_life_fact", range(30, 365, 7)
HTMX = {"HX-Request": "true", "HX-Target": "answer"}


def main() -> None:
    """Find a trace with many candidates, move the slider, print p50 and p95."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--moves", type=int, default=MOVES)
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"There is no data at {worlds.DATA} (set RECALL_BENCH_DATA to another path): nothing to rank.")
        return
    warnings.filterwarnings("ignore", "No directory at")  # of collected static files
    call_command("migrate", interactive=False, verbosity=0)
    namespace, user = seed.get_or_seed_world(options.memories)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    trace = largest_trace(namespace)
    print(f"{len(trace.candidates)} candidates of {options.memories:,}, {options.moves} moves; p50 and p95 in ms")
    moves = list(islice(slider_urls(namespace, trace), options.moves + 10))
    began = time.process_time()
    print_quantiles(
        "in process",
        [request_ms(lambda url: client.get(url, headers=HTMX).status_code, move) for move in moves],
        SERVER_TARGET,
    )
    print(f"  CPU                  {1000 * (time.process_time() - began) / len(moves):6.1f} on average")
    with http_load.server() as (_, port):
        connection = HTTPConnection("127.0.0.1", port)
        cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
        headers = HTMX | {"Cookie": cookie, "Accept-Encoding": "gzip"}

        def round_trip(move: str) -> int:
            connection.request("GET", move, headers=headers)
            response = connection.getresponse()
            response.read()
            return response.status

        print_quantiles("over HTTP", [request_ms(round_trip, move) for move in moves], ROUND_TRIP_TARGET)


def largest_trace(namespace: Namespace) -> Trace:
    """The trace of the system with the most candidates."""
    count = Func(F("candidates"), function="cardinality", output_field=IntegerField())
    traces = Trace.objects.within(namespace).filter(system=SYSTEM).annotate(count=count)
    return traces.filter(count__lte=CANDIDATES).order_by("-count")[0]


def slider_urls(namespace: Namespace, trace: Trace) -> Iterator[str]:
    """URLs of the Lab with successive slider values."""
    page = reverse("lab", args=[namespace.slug])
    return (f"{page}?trace={trace.id}&p.{SLIDER}={value}" for value in cycle(VALUES))


def request_ms(send: Callable[[str], int], move: str) -> float:
    """Latency of one request in ms."""
    began = time.perf_counter()
    status = send(move)
    took = 1000 * (time.perf_counter() - began)
    assert status == 200, status
    return took


def print_quantiles(label: str, times: list[float], target: int) -> None:
    """Print p50 and p95, without the ten warm-up requests."""
    p50, p95 = np.quantile(times[10:], [0.5, 0.95])
    print(f"  {label:18} {p50:6.1f} {p95:6.1f}   target {target}{'' if p95 < target else ': missed'}", flush=True)


if __name__ == "__main__":
    main()
