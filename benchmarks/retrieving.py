"""What an answer costs: every system live, step by step, and a replay, in a namespace of many memories."""

import argparse
import io
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from importing import lines  # noqa: E402

from memories.bulk.importing import Import  # noqa: E402
from memories.models import Namespace, Trace  # noqa: E402
from memories.retrieval import tracing  # noqa: E402
from memories.retrieval.answer import told  # noqa: E402
from memories.retrieval.query import Query  # noqa: E402
from memories.retrieval.replaying import replay  # noqa: E402
from memories.retrieval.retrieve import retrieve  # noqa: E402
from memories.retrieval.settings import setting  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402

MEMORIES, BATCH, ROUNDS = 20_000, 500, 5
QUERIES = (
    "Who repaired a rusty bicycle in Lisbon?",
    "What did Maya Brandt design because customers had complained?",
    "Which telescope was sold last winter?",
    "violin",
    "What happened in Kyoto on Monday?",
    "Who works with the antique piano from Oslo?",
)


def main() -> None:
    """Import, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    options = parser.parse_args()
    call_command("migrate", interactive=False, verbosity=0)
    slug = f"benchmark-{os.getpid()}"
    namespace = Namespace.objects.create(slug=slug, title="Benchmark", embedder="wordllama-256")
    try:
        stream = io.BytesIO("\n".join(lines(options.memories)).encode())
        for _ in Import.begun(namespace, slug, stream, restart=True, by="benchmark").run(BATCH, lambda told: None):
            pass
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        print(f"{options.memories} memories; milliseconds, half of the answers and 95 of 100 are faster")
        for system in SYSTEMS:
            measure(namespace, system)
    finally:
        namespace.delete()


def measure(namespace: Namespace, system: str) -> None:
    """Ask each query some times, then replay its trace."""
    took: dict[str, list[float]] = defaultdict(list)
    late = 0
    for text in QUERIES:
        query = Query(namespace=namespace, text=text, setting=setting(namespace, system=system, params={}))
        for _ in range(ROUNDS):
            began = time.perf_counter()
            retrieval = retrieve(query)
            took["live"].append(1000 * (time.perf_counter() - began))
            late += len(retrieval.found.late)
            for step, milliseconds in {**retrieval.took_ms, **retrieval.found.took_ms}.items():
                took[step].append(milliseconds)
        trace = Trace.objects.within(namespace).get(id=tracing.write(retrieval, told(retrieval), key=None))
        for _ in range(ROUNDS):
            began = time.perf_counter()
            replay(trace, query.setting)
            took["replay"].append(1000 * (time.perf_counter() - began))
    shown = {step: f"{np.quantile(some, 0.5):.0f}/{np.quantile(some, 0.95):.0f}" for step, some in took.items()}
    first = "  ".join(f"{step} {shown.pop(step)}" for step in ("live", "replay"))
    print(f"{system:11} {first}{f'  {late} late' if late else ''}")
    print(f"            {', '.join(f'{step} {value}' for step, value in shown.items())}", flush=True)


if __name__ == "__main__":
    main()
