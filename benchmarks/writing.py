"""What storing costs beside embedding: facts in one batch of 1,000, with MiniLM and with wordllama."""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402
import psutil  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from memories.models import Namespace  # noqa: E402
from memories.providers.embedder import embedder  # noqa: E402
from memories.writing.new_memory import NewMemory, Said  # noqa: E402
from memories.writing.remember import remember  # noqa: E402

FACTS, ROUNDS = 1_000, 5  # the aim with MiniLM is 1.3 ×
LOCOMO = ROOT.parent / "shared" / "data" / "locomo" / "observations.jsonl"
DEMO = ROOT / "memories" / "demo" / "memories.jsonl"


def facts() -> list[str]:
    """Real observations where the benchmark data lies beside the project, else the demo's sentences with a number."""
    if LOCOMO.exists():
        return [json.loads(line)["text"] for line in LOCOMO.open()][:FACTS]
    said = [json.loads(line)["content"] for line in DEMO.open()]
    return [f"{said[place % len(said)]} ({place})" for place in range(FACTS)]


class Cost(NamedTuple):
    """What some work took: seconds on the clock, and seconds of processors, the database's among them."""

    clock: float
    processor: float


def main() -> None:
    """Time the embedding alone and all of the writing, by turns; print the ratio of the best of each."""
    call_command("migrate", interactive=False, verbosity=0)
    texts = facts()
    for name in ("all-MiniLM-L6-v2", "wordllama-256"):
        embedder(name).embed(texts[:16])
        # Other work on the machine only ever adds time, so the least is the truest.
        rounds = [(measured(partial(embedder(name).embed, texts)), remembered(name, texts)) for _ in range(ROUNDS)]
        alone, whole = (Cost(*map(min, zip(*costs, strict=True))) for costs in zip(*rounds, strict=True))
        print(f"{name}, {len(texts)} facts: embedding alone {alone.clock:.2f} s, remembering {whole.clock:.2f} s")
        print(
            f"  {whole.clock / alone.clock:.2f} × by the clock, {whole.processor / alone.processor:.2f} × by processors"
        )
        print(f"  {1000 * (whole.clock - alone.clock) / len(texts):.2f} ms a fact beside its embedding")


def measured(work: Callable[[], object]) -> Cost:
    """What some work takes here and in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        processes = [psutil.Process(), psutil.Process(cursor.fetchone()[0])]
    began, spent = time.perf_counter(), seconds(processes)
    work()
    return Cost(time.perf_counter() - began, seconds(processes) - spent)


def seconds(processes: list[psutil.Process]) -> float:
    """Processor time so far."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def remembered(name: str, texts: list[str]) -> Cost:
    """What it takes to remember in a new namespace."""
    namespace = Namespace.objects.create(slug=f"benchmark-{os.getpid()}", title="Benchmark", embedder=name)
    news = [NewMemory(content=text, said=(Said("direct"),), session="benchmark") for text in texts]
    try:
        return measured(partial(remember, namespace, news, by="benchmark"))
    finally:
        namespace.delete()


if __name__ == "__main__":
    main()
