"""Latency of writes and retrievals in large namespaces, relative to a bare HNSW search in the same run."""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django

django.setup()

import psutil
import psycopg
from django.core.management import call_command
from django.db import connection
from pgvector import Vector

from benchmarks.speed import http_load, seed, worlds
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.maintenance.index_recall import latest_index_recall
from memories.models import Namespace, Trace
from memories.models.choices import JobKind
from memories.models.vector import index_predicate
from memories.providers.embedder import embedder
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.replay import replay
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.trace import store_trace
from memories.writing.remember import remember
from scoring.systems import SYSTEMS

QUERIES = 300
WARM_UP = 30
TOP_K = 50  # of the bare search
MEGABYTE = 2**20
Timings = dict[str, list[float]]  # ms by step


def main() -> None:
    """Load the worlds that are missing, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000], help="memories")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--http", action="store_true", help="also over HTTP, by one client and by four")
    options = parser.parse_args()
    if not worlds.DATA.exists():
        print(f"No data at {worlds.DATA}.")
        return
    call_command("migrate", interactive=False, verbosity=0)
    for size in options.sizes:
        began = time.perf_counter()
        namespace = seed.ensure_graph(worlds.get_or_load_world(size))
        worlds.index_vectors(namespace)
        effort = measure_effort(namespace)
        print(f"\n{size:,} memories, loaded in {time.perf_counter() - began:.0f} s; {effort}; ms, embedding apart")
        print(f"  {'':12} {'workload':10} {'p50':>7} {'p95':>7}   {'bare p50':>8} {'p95':>7}   ratio p50, p95")
        with bare_search(namespace) as bare:
            for system in options.systems:
                measure_agent(namespace, system, bare)
                measure_reads(namespace, system, bare)
        if options.http:
            http_load.measure_http(namespace, worlds.benchmark_queries(QUERIES))
        print(f"  this process: {psutil.Process().memory_info().rss / MEGABYTE:.0f} MB")


def measure_effort(namespace: Namespace) -> str:
    """Measure the index and choose the search effort, as the worker does after indexing."""
    job = submit_job(namespace, JobKind.MEASURE, {}, by="benchmark")
    run_job(namespace.id, job.id)
    measured = latest_index_recall(namespace)
    return f"ef_search {measured.ef_search}, recall@10 {measured.recall:.3f}" if measured else "no index"


@contextmanager
def bare_search(namespace: Namespace) -> Iterator[Callable[[str], float]]:
    """Times the nearest fifty of a query by the HNSW index, through psycopg alone."""
    dimensions = embedder(namespace.embedder).dimensions
    statement = f"""
        SELECT memory_id FROM memories_memoryvector WHERE {index_predicate(namespace.id, namespace.embedder)}
        ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {TOP_K}
    """
    queries = worlds.benchmark_queries(WARM_UP + QUERIES)
    vectors = map(Vector, embedder(namespace.embedder).embed(queries))
    texts = {query: vector.to_text() for query, vector in zip(queries, vectors, strict=True)}
    params = connection.get_connection_params()
    database = {name: params[name] for name in ("host", "port", "user", "password", "dbname") if params.get(name)}
    with psycopg.connect(**database, autocommit=True) as raw:
        raw.execute(f"SET hnsw.ef_search = {TOP_K}")
        yield lambda query: elapsed_ms(lambda: raw.execute(statement, [texts[query]]).fetchall())


def measure_agent(namespace: Namespace, system: str, bare: Callable[[str], float]) -> None:
    """An agent's workload: before every query one memory is written; every query is sent once, in a warm process."""
    took: Timings = defaultdict(list)
    new = worlds.new_memories(WARM_UP + QUERIES)
    for number, (query, memory) in enumerate(zip(worlds.benchmark_queries(WARM_UP + QUERIES), new, strict=True)):
        step: Timings = defaultdict(list)
        step["bare"].append(bare(query))
        step["write"].append(elapsed_ms(lambda memory=memory: remember(namespace, [memory], by="benchmark")))
        answer(namespace, query, system, step)
        if number >= WARM_UP:
            for name, values in step.items():
                took[name] += values
    print_latencies(system, "agent", took)


def measure_reads(namespace: Namespace, system: str, bare: Callable[[str], float]) -> None:
    """No writes in between, and a replay of every trace."""
    took: Timings = defaultdict(list)
    for query in worlds.benchmark_queries(QUERIES):
        took["bare"].append(bare(query))
        retrieval, trace_id = answer(namespace, query, system, took)
        trace = Trace.objects.within(namespace).get(id=trace_id)
        took["replay"].append(elapsed_ms(lambda trace=trace, config=retrieval.query.config: replay(trace, config)))
    print_latencies(system, "reads", took)


def answer(namespace: Namespace, text: str, system: str, took: Timings) -> tuple[Retrieval, UUID]:
    """Answer one query as the server does, explained and traced, and add how long its steps took."""
    query = Query(namespace=namespace, text=text, config=resolve_config(namespace, system=system, params={}))
    began = time.perf_counter()
    retrieval = retrieve(query)
    ranked = time.perf_counter()
    built = build_answer(retrieval)
    explained = time.perf_counter()
    trace = store_trace(retrieval, built, key=None)
    ended = time.perf_counter()
    for step, ms in {**retrieval.took_ms, **retrieval.fetched.took_ms}.items():
        took[step].append(ms)
    took["answer"].append(1000 * (explained - ranked))
    took["trace"].append(1000 * (ended - explained))
    took["whole"].append(1000 * (ended - began) - retrieval.took_ms["embed"])
    took["timed out"].append(len(retrieval.fetched.timed_out))
    return retrieval, trace


def print_latencies(system: str, workload: str, took: Timings) -> None:
    """Print p50 and p95 of the whole, their ratios to the bare search, and of every step."""
    timed_out = int(sum(took.pop("timed out")))
    whole, bare = (np.quantile(took.pop(name), [0.5, 0.95]) for name in ("whole", "bare"))
    ratio = whole / bare
    print(f"  {system:12} {workload:10} {whole[0]:7.2f} {whole[1]:7.2f}   {bare[0]:8.2f} {bare[1]:7.2f}", end="   ")
    print(f"{ratio[0]:.1f} ×, {ratio[1]:.1f} ×{f'; {timed_out} timed out' if timed_out else ''}")
    steps = ((step, np.quantile(values, [0.5, 0.95])) for step, values in took.items())
    print("     ", ", ".join(f"{step} {p50:.1f}/{p95:.1f}" for step, (p50, p95) in steps), flush=True)


def elapsed_ms(work: Callable[[], object]) -> float:
    """Time of a call in ms."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
