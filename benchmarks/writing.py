"""Cost of storing relative to embedding: 1,000 facts in one batch, with MiniLM and wordllama."""

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

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django
import psutil

django.setup()

from django.core.management import call_command
from django.db import connection

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Namespace
from memories.providers.embedder import embedder
from memories.writing.remember import remember

FACTS, ROUNDS = 1_000, 5  # target with MiniLM: 1.3 ×
LOCOMO = ROOT.parent / "shared" / "data" / "locomo" / "observations.jsonl"
DEMO = ROOT / "memories" / "demo" / "memories.jsonl"


def load_facts() -> list[str]:
    """LoCoMo's observations if the data is there, else numbered sentences of the demo."""
    if LOCOMO.exists():
        return [json.loads(line)["text"] for line in LOCOMO.open()][:FACTS]
    sentences = [json.loads(line)["content"] for line in DEMO.open()]
    return [f"{sentences[index % len(sentences)]} ({index})" for index in range(FACTS)]


class Cost(NamedTuple):
    """Wall and CPU seconds, CPU including the database."""

    clock: float
    processor: float


def main() -> None:
    """Time embedding alone and the whole write, alternating; print the ratio of the best of each."""
    call_command("migrate", interactive=False, verbosity=0)
    texts = load_facts()
    for name in ("all-MiniLM-L6-v2", "wordllama-256"):
        embedder(name).embed(texts[:16])
        # Other load only adds time, so the minimum is the best estimate.
        rounds = [
            (measure_cost(partial(embedder(name).embed, texts)), remember_cost(name, texts)) for _ in range(ROUNDS)
        ]
        alone, whole = (Cost(*map(min, zip(*costs, strict=True))) for costs in zip(*rounds, strict=True))
        print(f"{name}, {len(texts)} facts: embedding alone {alone.clock:.2f} s, remembering {whole.clock:.2f} s")
        print(f"  {whole.clock / alone.clock:.2f} × wall time, {whole.processor / alone.processor:.2f} × CPU time")
        print(f"  {1000 * (whole.clock - alone.clock) / len(texts):.2f} ms per fact in addition to embedding")


def measure_cost(work: Callable[[], object]) -> Cost:
    """Cost of a call, here and in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        processes = [psutil.Process(), psutil.Process(cursor.fetchone()[0])]
    began, spent = time.perf_counter(), cpu_seconds(processes)
    work()
    return Cost(time.perf_counter() - began, cpu_seconds(processes) - spent)


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU time so far."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def remember_cost(name: str, texts: list[str]) -> Cost:
    """Cost of storing facts in a new namespace."""
    namespace = Namespace.objects.create(slug=f"benchmark-{os.getpid()}", title="Benchmark", embedder=name)
    facts = [NewMemory(content=text, utterances=(Utterance("direct"),), session="benchmark") for text in texts]
    try:
        return measure_cost(partial(remember, namespace, facts, by="benchmark"))
    finally:
        namespace.delete()


if __name__ == "__main__":
    main()
