"""Latency of writes and retrievals in large namespaces, relative to a bare HNSW search in the same run."""

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django

django.setup()

import psutil
from django.core.management import call_command

from benchmarks.speed import http_load, seed, worlds
from benchmarks.speed.in_process import BareSearch, measure_agent, measure_reads, measure_writes
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.maintenance.index_recall import latest_index_recall
from memories.models import Namespace
from memories.models.choices import JobKind
from scoring.systems import SYSTEMS

MEGABYTE = 2**20


def main() -> None:
    """Load the worlds that are missing, and print a table for each, in the given order."""
    parser = argparse.ArgumentParser(description=__doc__)
    help_text = "memories; a size that is named again after a larger one is measured beside it"
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000], help=help_text)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--reads", action="store_true", help="also without writes in between, with replays")
    parser.add_argument("--entities", type=int, nargs="*", default=[], help="writes with so many entities")
    parser.add_argument("--http", action="store_true", help="also over HTTP, by one client and by four")
    parser.add_argument("--requests", type=int, default=1_200, help="of the mixed load over HTTP")
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
        search = BareSearch(namespace)
        with search.connected() as bare:
            for system in options.systems:
                measure_agent(namespace, system, bare)
                if options.reads:
                    measure_reads(namespace, system, bare)
        for entities in options.entities:
            measure_writes(namespace, entities)
        if options.http:
            http_load.measure_http(namespace, search, options.requests)
        print(f"  this process: {psutil.Process().memory_info().rss / MEGABYTE:.0f} MB")


def measure_effort(namespace: Namespace) -> str:
    """Measure the index and choose the search effort, as the worker does after indexing."""
    job = submit_job(namespace, JobKind.MEASURE, {}, by="benchmark")
    run_job(namespace.id, job.id)
    measured = latest_index_recall(namespace)
    return f"ef_search {measured.ef_search}, recall@10 {measured.recall:.3f}" if measured else "no index"


if __name__ == "__main__":
    main()
