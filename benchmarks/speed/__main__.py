"""What an answer costs beside a bare search of the vector index, in namespaces of many memories, and over HTTP."""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402

django.setup()

import psutil  # noqa: E402
import psycopg  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from pgvector import Vector  # noqa: E402

from benchmarks.speed import serving, worlds  # noqa: E402
from memories.models import Namespace, Trace  # noqa: E402
from memories.models.choices import EMBEDDERS  # noqa: E402
from memories.providers.embedder import embedder  # noqa: E402
from memories.retrieval import tracing  # noqa: E402
from memories.retrieval.answer import told  # noqa: E402
from memories.retrieval.query import Query  # noqa: E402
from memories.retrieval.replaying import replay  # noqa: E402
from memories.retrieval.retrieve import Retrieval, retrieve  # noqa: E402
from memories.retrieval.settings import setting  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402

QUESTIONS = 300
TOP = 50  # of the bare search
MEGABYTE = 2**20


def main() -> None:
    """Load what is missing, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000], help="memories")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--http", action="store_true", help="also over HTTP, by one client and by four")
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"There is no data at {worlds.DATA}: nothing to ask.")
        return
    call_command("migrate", interactive=False, verbosity=0)
    for size in options.sizes:
        began = time.perf_counter()
        namespace = worlds.world(size)
        print(f"\n{size} memories, there after {time.perf_counter() - began:.0f} s; half and 95 of 100 answers, in ms")
        alone = bare(namespace)
        for system in options.systems:
            measure(namespace, system, alone)
        if options.http:
            serving.measure(namespace, worlds.questions(QUESTIONS))


def bare(namespace: Namespace) -> "np.ndarray[Any, Any]":
    """The nearest fifty by the index, through psycopg and nothing else; asked twice, the second time counts."""
    dimensions = EMBEDDERS[namespace.embedder]
    statement = f"""
        SELECT memory_id FROM memories_memoryvector WHERE embedder = '{namespace.embedder}' AND indexed
        ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {TOP}
    """
    vectors = [Vector(one).to_text() for one in embedder(namespace.embedder).embed(worlds.questions(QUESTIONS))]
    known = connection.get_connection_params()
    where = {name: known[name] for name in ("host", "port", "user", "password", "dbname") if known.get(name)}
    with psycopg.connect(**where, autocommit=True) as alone:
        alone.execute(f"SET hnsw.ef_search = {TOP}")
        for _ in range(2):
            took = [timed(lambda vector=vector: alone.execute(statement, [vector]).fetchall()) for vector in vectors]
    whole = quantiles(took)
    print(f"  a bare search       {whole[0]:7.2f} {whole[1]:7.2f}")
    return whole


def measure(namespace: Namespace, system: str, alone: "np.ndarray[Any, Any]") -> None:
    """Ask everything twice, explained and traced; the second time counts, without the time that embedding takes."""
    took: dict[str, list[float]] = defaultdict(list)
    late = 0
    for last in (False, True):
        for text in worlds.questions(QUESTIONS):
            query = Query(namespace=namespace, text=text, setting=setting(namespace, system=system, params={}))
            began = time.perf_counter()
            retrieval = retrieve(query)
            asked = time.perf_counter()
            answer = told(retrieval)
            explained = time.perf_counter()
            trace = tracing.write(retrieval, answer, key=None)
            ended = time.perf_counter()
            if last:
                stored = Trace.objects.within(namespace).get(id=trace)
                took["replay"].append(timed(lambda stored=stored, query=query: replay(stored, query.setting)))
                late += len(retrieval.found.late)
                told_by(retrieval, took)
                took["tell"].append(1000 * (explained - asked))
                took["trace"].append(1000 * (ended - explained))
                took["whole"].append(1000 * (ended - began) - retrieval.took_ms["embed"])
    whole, again = quantiles(took.pop("whole")), quantiles(took.pop("replay"))
    times = whole / alone
    print(
        f"  {system:18}  {whole[0]:7.2f} {whole[1]:7.2f}   {times[0]:.1f} × and {times[1]:.1f} × the bare search"
        f"{f'; {late} late' if late else ''}"
    )
    print("     ", ", ".join(f"{step} {some[0]:.1f}/{some[1]:.1f}" for step, some in by_step(took)), flush=True)
    print(f"      a replay {again[0]:.1f} {again[1]:.1f}")
    used = psutil.Process().memory_info().rss / MEGABYTE
    print(f"      this process holds {used:.0f} MB")


def told_by(retrieval: Retrieval, took: dict[str, list[float]]) -> None:
    """Add the steps of one retrieval."""
    for step, milliseconds in {**retrieval.took_ms, **retrieval.found.took_ms}.items():
        took[step].append(milliseconds)


def by_step(took: dict[str, list[float]]) -> list[tuple[str, Any]]:
    """Half and 95 of 100 of each step."""
    return [(step, quantiles(some)) for step, some in took.items()]


def quantiles(took: list[float]) -> "np.ndarray[Any, Any]":
    """What half, and 95 of 100, stay below."""
    return np.quantile(took, [0.5, 0.95])


def timed(work: Callable[[], object]) -> float:
    """How many milliseconds something takes."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
