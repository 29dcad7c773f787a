"""Latency of writes and retrievals in this process, relative to a bare HNSW search."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import numpy as np
import psycopg
from django.db import connection
from pgvector import Vector

from benchmarks.speed import seed, worlds
from memories.contracts.new_memory import NewMemory
from memories.models import Entity, Namespace, Trace
from memories.models.vector import index_predicate
from memories.providers.embedder import embedder
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.replay import replay
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.trace import store_trace
from memories.writing.prepare import embed_texts
from memories.writing.remember import remember

QUERIES = 300
WARM_UP = 30
WRITES = 200
TOP_K = 50  # of the bare search
Timings = dict[str, list[float]]  # ms by step


class BareSearch:
    """The nearest fifty of a query by the namespace's HNSW index, through psycopg alone."""

    def __init__(self, namespace: Namespace) -> None:
        dimensions = embedder(namespace.embedder).dimensions
        self.statement = f"""
            SELECT memory_id FROM memories_memoryvector WHERE {index_predicate(namespace.id, namespace.embedder)}
            ORDER BY vector::halfvec({dimensions}) <=> %s::halfvec({dimensions}) LIMIT {TOP_K}
        """
        queries = worlds.benchmark_queries(WARM_UP + QUERIES)
        vectors = map(Vector, embedder(namespace.embedder).embed(queries))
        self.texts = {query: vector.to_text() for query, vector in zip(queries, vectors, strict=True)}

    @contextmanager
    def connected(self) -> Iterator[Callable[[str], float]]:
        """Times one search per call, over a connection of its own."""
        params = connection.get_connection_params()
        database = {name: params[name] for name in ("host", "port", "user", "password", "dbname") if params.get(name)}
        with psycopg.connect(**database, autocommit=True) as raw:
            raw.execute(f"SET hnsw.ef_search = {TOP_K}")
            yield lambda query: elapsed_ms(lambda: raw.execute(self.statement, [self.texts[query]]).fetchall())


def measure_agent(namespace: Namespace, system: str, bare: Callable[[str], float]) -> None:
    """An agent's workload: before every query one memory is written; every query is sent once, in a warm process."""
    took: Timings = defaultdict(list)
    new = worlds.new_memories(WARM_UP + QUERIES)
    for number, (query, memory) in enumerate(zip(worlds.benchmark_queries(WARM_UP + QUERIES), new, strict=True)):
        step: Timings = defaultdict(list)
        step["bare"].append(bare(query))
        step["write"].append(write(namespace, memory))
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


def measure_writes(namespace: Namespace, entities: int) -> None:
    """Writes where the namespace has this many entities; those added for it are removed again."""
    added = seed.grow_entities(namespace, entities)
    worlds.vacuum()
    took = [write(namespace, memory) for memory in worlds.new_memories(WARM_UP + WRITES)][WARM_UP:]
    p50, p95 = np.quantile(took, [0.5, 0.95])
    print(f"  one write, {Entity.objects.within(namespace).count():,} entities: {p50:.1f} / {p95:.1f} ms", flush=True)
    Entity.objects.within(namespace).filter(id__in=added).delete()


def write(namespace: Namespace, memory: NewMemory) -> float:
    """The milliseconds it takes to store a memory, embedding apart."""
    embedding = elapsed_ms(lambda: embed_texts(namespace.embedder, [memory.content]))
    return elapsed_ms(lambda: remember(namespace, [memory], by="benchmark")) - embedding


def answer(namespace: Namespace, text: str, system: str, took: Timings) -> tuple[Retrieval, UUID]:
    """Answer one query as the server does, explained and traced, and add how long its steps took."""
    query = Query(namespace=namespace, text=text, config=resolve_config(namespace, system=system, params={}))
    began = time.perf_counter()
    retrieval = retrieve(query)
    ranked = time.perf_counter()
    built = build_answer(retrieval)
    explained = time.perf_counter()
    trace = store_trace(retrieval, built, key=None, flush=False)
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
