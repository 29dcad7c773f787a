"""Reflection: time of each step over many memories, on the first run and on an incremental one."""

import os
import sys
import time
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django

django.setup()

import numpy as np
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from memories.contracts.work import Work
from memories.db.ids import id_timestamp
from memories.maintenance.reflect import STEPS
from memories.maintenance.reflection_scope import CLOCK_SKEW, in_batches
from memories.models import (
    Entity,
    Job,
    Memory,
    MemorySource,
    MemoryVector,
    Mention,
    Namespace,
    ScoreEvent,
)
from memories.models.choices import JobKind, JobState, Route
from memories.providers.embedder import embedder
from memories.text.name_index import store_entities
from memories.writing import (
    search_index,
)
from memories.writing.bulk_copy import copy_rows
from memories.writing.lock import lock_namespace
from scoring.dedup import content_hash

MEMORIES, NIGHTLY = 20_000, 200
EMBEDDER = "wordllama-256"
THINGS = ("gateway", "ledger", "tracker", "scheduler", "invoice service", "search index", "mail relay", "cache")
VERBS = ("keeps", "sends", "stores", "drops", "retries", "counts", "copies", "reads")
OBJECTS = ("connections", "requests", "rows", "messages", "files", "events", "tokens", "pages")
WHEN = ("at night", "on Mondays", "after a deploy", "under load", "before lunch", "in winter", "during a drill")


def generate_sentences(count: int, names: list[str]) -> list[tuple[str, int, int]]:
    """Random sentences about two entities each, and which two; the first entity occurs in every tenth."""
    rng = np.random.default_rng(5)
    result = []
    for _ in range(count):
        first = 0 if rng.random() < 0.1 else int(rng.integers(len(names)))
        second = int(rng.integers(len(names)))
        verb, what, when = (str(rng.choice(words)) for words in (VERBS, OBJECTS, WHEN))
        text = f"{names[first]} {verb} {rng.integers(2, 99)} {what} for {names[second]} {when}"
        result.append((text, first, second))
    return result


def fill(namespace: Namespace, count: int) -> None:
    """Insert memories as rows, bypassing the write path."""
    names = [f"{thing} {number}" for number in range(max(1, count // 160)) for thing in THINGS]
    entities = [Entity(namespace=namespace, name=name, normalised=name) for name in names]
    sentences = generate_sentences(count, names)
    vectors = embedder(EMBEDDER).embed([text for text, _, _ in sentences])
    store_entities(namespace, entities)
    numbers = {"source_strength": 0.95, "extractor_confidence": 0.8, "type_prior": 0.8, "confidence": 0.7}
    for batch in in_batches(range(count), 2_000):
        memories, rows = [], {MemoryVector: [], Mention: [], MemorySource: [], ScoreEvent: []}
        for index in batch:
            text, first, second = sentences[index]
            memory = Memory(namespace=namespace, type="Fact", content=text, subject_id=entities[first].id, **numbers)
            memory.happened_at = memory.created_at - timedelta(days=index % 90)
            memory.content_hash = content_hash("Fact", names[first], str(index), text)
            memories.append(memory)
            key = {"namespace": namespace, "memory_id": memory.id}
            rows[MemoryVector].append(
                MemoryVector(**key, route=Route.FULL, embedder=EMBEDDER, vector=vectors[index].tolist())
            )
            rows[Mention] += [Mention(**key, entity_id=entities[entity].id) for entity in {first, second}]
            source = MemorySource(**key, source=f"s{index}", level="direct", strength=0.95)
            source.observed_at = memory.created_at
            rows[MemorySource].append(source)
            rows[ScoreEvent].append(ScoreEvent(**key, cause="stored", after={"status": "active", "belief": 5.0}))
        with transaction.atomic():
            lock_namespace(namespace)
            copy_rows(Memory, memories)
            for table, table_rows in rows.items():
                copy_rows(table, table_rows)
            search_index.index_postings(namespace, [memory.id for memory in memories])


def run_reflection(namespace: Namespace, title: str) -> None:
    """Run every step once; print the time and the counts of each."""
    job = Job.objects.create(namespace=namespace, kind=JobKind.REFLECT, by="benchmark", started_at=timezone.now())
    work = Work(namespace, job)
    print(title)
    for name, step in STEPS.items():
        work.begin_step(name)
        began = time.perf_counter()
        step(work)
        took = time.perf_counter() - began
        counts = {key: value for key, value in work.step_result.items() if isinstance(value, int) and value}
        print(f"  {name:15} {took:7.2f} s  {counts}")
    Job.objects.within(namespace).filter(id=job.id).update(state=JobState.DONE)


def main() -> None:
    """Fill a namespace and reflect twice: on everything, then on a few new memories."""
    call_command("migrate", interactive=False, verbosity=0)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MEMORIES
    namespace = Namespace.objects.create(slug=f"benchmark-{os.getpid()}", title="Benchmark", embedder=EMBEDDER)
    try:
        began = time.perf_counter()
        fill(namespace, count)
        # Entities that are registered after the memories that mention them.
        late = ("deploy", "drill")
        store_entities(namespace, [Entity(namespace=namespace, name=name, normalised=name) for name in late])
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        print(f"{count:,} memories stored in {time.perf_counter() - began:.0f} s")
        run_reflection(namespace, "first run")
        recent = Memory.objects.within(namespace).filter(level="fact").order_by("-id")[NIGHTLY]
        Job.objects.within(namespace).update(started_at=id_timestamp(recent.id) + CLOCK_SKEW)
        run_reflection(namespace, f"incremental run, {NIGHTLY} new")
    finally:
        namespace.delete()


if __name__ == "__main__":
    main()
