"""What moving a slider in the Lab costs: 200 candidates ranked again from their trace, in the server and over HTTP."""

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

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402
from django.conf import settings  # noqa: E402

# Files are served from where they lie, as nothing was collected.
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
django.setup()

import numpy as np  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db.models import F, Func, IntegerField  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

from benchmarks.speed import furnishing, serving, worlds  # noqa: E402
from memories.models import Namespace, Trace  # noqa: E402

MEMORIES, MOVES = 100_000, 100
CANDIDATES = 200
SERVER, ROUND_TRIP = 50, 100  # milliseconds, that 95 of 100 moves stay below
SYSTEM, SLIDER, VALUES = "blend", "half_life_fact", range(30, 365, 7)
HTMX = {"HX-Request": "true", "HX-Target": "answer"}


def main() -> None:
    """Find a trace with many candidates, move, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--moves", type=int, default=MOVES)
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"There is no data at {worlds.DATA} (RECALL_BENCH_DATA names another place): nothing to rank.")
        return
    warnings.filterwarnings("ignore", "No directory at")  # of collected files
    call_command("migrate", interactive=False, verbosity=0)
    namespace, user = furnishing.furnished(options.memories)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    trace = largest(namespace)
    print(
        f"{len(trace.candidates)} candidates of {options.memories:,}, {options.moves} moves; half and 95 of 100, in ms"
    )
    moves = list(islice(addresses(namespace, trace), options.moves + 10))
    began = time.process_time()
    tell("in the server", [timed(lambda at: client.get(at, headers=HTMX).status_code, move) for move in moves], SERVER)
    print(f"  of the processor     {1000 * (time.process_time() - began) / len(moves):6.1f} on average")
    with serving.server() as (_, port):
        connection = HTTPConnection("127.0.0.1", port)
        cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
        sent = HTMX | {"Cookie": cookie, "Accept-Encoding": "gzip"}

        def round_trip(move: str) -> int:
            connection.request("GET", move, headers=sent)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        tell("over HTTP", [timed(round_trip, move) for move in moves], ROUND_TRIP)


def largest(namespace: Namespace) -> Trace:
    """The trace with the most candidates that a system which fuses lists has left."""
    count = Func(F("candidates"), function="cardinality", output_field=IntegerField())
    traces = Trace.objects.within(namespace).filter(system=SYSTEM).annotate(count=count)
    return traces.filter(count__lte=CANDIDATES).order_by("-count")[0]


def addresses(namespace: Namespace, trace: Trace) -> Iterator[str]:
    """The Lab with a slider at one place after the other."""
    page = reverse("lab", args=[namespace.slug])
    return (f"{page}?trace={trace.id}&p.{SLIDER}={value}" for value in cycle(VALUES))


def timed(ask: Callable[[str], int], move: str) -> float:
    """How many milliseconds an answer takes."""
    began = time.perf_counter()
    status = ask(move)
    took = 1000 * (time.perf_counter() - began)
    assert status == 200, status
    return took


def tell(where: str, took: list[float], aim: int) -> None:
    """Print half and 95 of 100, without the first ten, which warm up."""
    half, most = np.quantile(took[10:], [0.5, 0.95])
    print(f"  {where:18} {half:6.1f} {most:6.1f}   aim {aim}{'' if most < aim else ': missed'}", flush=True)


if __name__ == "__main__":
    main()
