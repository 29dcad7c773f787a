"""What an answer costs beside a bare search of the vector index, in namespaces of many memories, and over HTTP."""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

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

from benchmarks.speed import furnishing, serving, worlds  # noqa: E402
from memories.db.lru_cache import LRUCache  # noqa: E402
from memories.models import Namespace, Trace  # noqa: E402
from memories.models.choices import EMBEDDERS  # noqa: E402
from memories.providers.embedder import embedder  # noqa: E402
from memories.retrieval import postings  # noqa: E402
from memories.retrieval.answer import build_answer  # noqa: E402
from memories.retrieval.config import resolve_config  # noqa: E402
from memories.retrieval.query import Query  # noqa: E402
from memories.retrieval.replay import replay  # noqa: E402
from memories.retrieval.retrieve import Retrieval, retrieve  # noqa: E402
from memories.retrieval.retrievers import list_cache  # noqa: E402
from memories.retrieval.trace import store_trace  # noqa: E402
from recall_site.garbage import leave_what_is_loaded  # noqa: E402
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
    leave_what_is_loaded()  # as a worker of the site does
    for size in options.sizes:
        began = time.perf_counter()
        namespace = furnishing.related(worlds.world(size))
        print(f"\n{size} memories, there after {time.perf_counter() - began:.0f} s; half and 95 of 100 answers, in ms")
        with searching(namespace) as bare:
            for system in options.systems:
                measure(namespace, system, bare)
        if options.http:
            serving.measure(namespace, worlds.questions(QUESTIONS))


@contextmanager
def searching(namespace: Namespace) -> Iterator[Callable[[str], float]]:
    """How long the nearest fifty of a question take by the index, through psycopg and nothing else."""
    dimensions = EMBEDDERS[namespace.embedder]
    statement = f"""
        SELECT memory_id FROM memories_memoryvector WHERE embedder = '{namespace.embedder}' AND indexed
        ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {TOP}
    """
    questions = worlds.questions(QUESTIONS)
    vectors = map(Vector, embedder(namespace.embedder).embed(questions))
    texts = {question: vector.to_text() for question, vector in zip(questions, vectors, strict=True)}
    known = connection.get_connection_params()
    where = {name: known[name] for name in ("host", "port", "user", "password", "dbname") if known.get(name)}
    with psycopg.connect(**where, autocommit=True) as alone:
        alone.execute(f"SET hnsw.ef_search = {TOP}")
        yield lambda question: timed(lambda: alone.execute(statement, [texts[question]]).fetchall())


def measure(namespace: Namespace, system: str, bare: Callable[[str], float]) -> None:
    """Ask everything three times, explained and traced, each question right after its bare search; the third counts.

    What is asked for again is read to be kept the second time. Then once more with no word and no list kept, as right
    after somebody wrote them all. Always without the time of embedding.
    """
    took: dict[str, list[float]] = defaultdict(list)
    late = 0
    for last in (False, False, True):
        for text in worlds.questions(QUESTIONS):
            alone = bare(text)
            retrieval, trace = answer(namespace, text, system, took if last else defaultdict(list))
            if last:
                took["bare"].append(alone)
                late += len(retrieval.fetched.timed_out)
                stored = Trace.objects.within(namespace).get(id=trace)
                took["replay"].append(timed(lambda stored=stored, by=retrieval.query.config: replay(stored, by)))
    fresh: dict[str, list[float]] = defaultdict(list)
    for text in worlds.questions(QUESTIONS):
        postings.POSTINGS_CACHE, list_cache.LIST_CACHE = (
            LRUCache(postings.CACHE_BYTES),
            LRUCache(list_cache.CACHE_BYTES),
        )
        answer(namespace, text, system, fresh)
    whole, alone, again = (quantiles(took.pop(name)) for name in ("whole", "bare", "replay"))
    times, unkept = whole / alone, quantiles(fresh["whole"])
    print(f"  {system:12} {whole[0]:7.2f} {whole[1]:7.2f}   a bare search {alone[0]:.2f} {alone[1]:.2f}", end="   ")
    print(f"{times[0]:.1f} × and {times[1]:.1f} ×{f'; {late} late' if late else ''}")
    print("     ", ", ".join(f"{step} {some[0]:.1f}/{some[1]:.1f}" for step, some in by_step(took)), flush=True)
    print(f"      with nothing kept {unkept[0]:.1f} {unkept[1]:.1f}; a replay {again[0]:.1f} {again[1]:.1f}")
    used = psutil.Process().memory_info().rss / MEGABYTE
    print(f"      this process holds {used:.0f} MB")


def answer(namespace: Namespace, text: str, system: str, took: dict[str, list[float]]) -> tuple[Retrieval, UUID]:
    """Answer one question as the server does, and add how long its steps took."""
    query = Query(namespace=namespace, text=text, config=resolve_config(namespace, system=system, params={}))
    began = time.perf_counter()
    retrieval = retrieve(query)
    asked = time.perf_counter()
    answer = build_answer(retrieval)
    explained = time.perf_counter()
    trace = store_trace(retrieval, answer, key=None)
    ended = time.perf_counter()
    told_by(retrieval, took)
    took["tell"].append(1000 * (explained - asked))
    took["trace"].append(1000 * (ended - explained))
    took["whole"].append(1000 * (ended - began) - retrieval.took_ms["embed"])
    return retrieval, trace


def told_by(retrieval: Retrieval, took: dict[str, list[float]]) -> None:
    """Add the steps of one retrieval."""
    for step, milliseconds in {**retrieval.took_ms, **retrieval.fetched.took_ms}.items():
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
