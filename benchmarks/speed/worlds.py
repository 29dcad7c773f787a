"""Namespaces of many memories: sentences of public data, and new ones made of their halves."""

import io
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from benchmarks.quality.worlds import DATA, read_rows
from memories.contracts.new_memory import NewMemory, Utterance
from memories.db.ids import uuid7
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.models import Entity, Memory, MemoryVector, Mention, Namespace, NamespaceStatistics
from memories.models.choices import JobKind
from memories.providers.embedder import embedder
from memories.text.name_index import store_entities
from memories.transfer.import_file import FileImport
from memories.transfer.planner_statistics import StatisticsRefresh
from memories.web.memory_body import validate_memories
from memories.writing import search_index
from memories.writing.bulk_copy import copy_rows, lightweight_row
from memories.writing.rebuild import namespaces_to_index
from scoring.dedup import normalize

SLUG, LOADING = "speed", "loading"
EMBEDDER = "wordllama-256"
BATCH, INDEX_SIZE, COPY_SIZE = 500, 1_000, 10_000
MAX_IMPORTED = 200_000  # larger namespaces are copied
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
MIN_CHARS, MAX_CHARS = 20, 400  # of a sentence
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SPAN = timedelta(days=730)


def sentences() -> list[tuple[str, str]]:
    """All sentences of the public data in random order, each with its speaker if known."""
    rows = [
        (row.get("speaker", ""), sentence)
        for name in ("locomo/memories", "longmemeval/memories", "beam/memories", "realmem/memories", "scifact/corpus")
        for row in read_rows(name)
        for sentence in SENTENCE.split(row["text"])
        if MIN_CHARS <= len(sentence) <= MAX_CHARS
    ]
    unique = list({sentence: (speaker, sentence) for speaker, sentence in rows}.values())
    random.Random(7).shuffle(unique)
    return unique


def generate_import_lines(count: int) -> Iterator[str]:
    """Lines of an import: the sentences as they are, then the first half of one with the second half of another."""
    rng, originals = random.Random(11), sentences()
    crossed = iter(lambda: cross_sentences(*rng.choice(originals), rng.choice(originals)[1]), None)
    for number, (who, content) in enumerate(itertools.islice(itertools.chain(originals, crossed), count)):
        happened = NOW - SPAN * rng.random()
        body = {"content": content, "type": "Fact", "source_level": "direct", "session": f"s{number // 20}"}
        entities = {"entities": [who]} if who and who.lower() not in ("user", "assistant") else {}
        yield json.dumps(body | entities | {"happened_at": happened.isoformat()})


def cross_sentences(who: str, head: str, tail: str) -> tuple[str, str]:
    """A sentence that begins like one and ends like another."""
    first, second = head.split(), tail.split()
    return who, " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])


def get_or_load_world(size: int, kind: str = SLUG) -> Namespace:
    """A namespace of this size, loaded if it does not exist; each kind has its own."""
    slug = f"{kind}-{size}"
    existing = Namespace.objects.filter(slug=slug).first()
    if existing and existing.title == slug:
        return existing
    if existing:
        existing.delete()  # left incomplete by an interrupted run
    namespace = Namespace.objects.create(slug=slug, title=LOADING, embedder=EMBEDDER, clock=NOW)
    (copy_world if size > MAX_IMPORTED else import_world)(namespace, size)
    Namespace.objects.filter(id=namespace.id).update(title=slug)
    return namespace


def import_world(namespace: Namespace, size: int) -> None:
    """Load a world through the import."""
    stream = io.BytesIO("\n".join(generate_import_lines(size)).encode())
    work = FileImport.begin(namespace, namespace.slug, stream, restart=True, by="benchmark", validate=validate_memories)
    for _ in work.run(BATCH, lambda outcomes: None):
        pass
    index_vectors(namespace)


def copy_world(namespace: Namespace, size: int) -> None:
    """Copy a world into the tables, since an import would take an hour; the HNSW index is built at the end."""
    NamespaceStatistics.objects.get_or_create(namespace=namespace)
    lines, model, growth = generate_import_lines(size), embedder(namespace.embedder), StatisticsRefresh()
    people: dict[str, Entity] = {}
    while batch := [json.loads(line) for line in itertools.islice(lines, COPY_SIZE)]:
        vectors = model.embed([item["content"] for item in batch])
        memories = [memory_row(namespace, item) for item in batch]
        with transaction.atomic():
            copy_rows(Memory, memories)
            copy_rows(
                MemoryVector,
                [
                    lightweight_row(
                        MemoryVector,
                        namespace_id=namespace.id,
                        memory_id=memory.id,
                        embedder=namespace.embedder,
                        vector=vector,
                        indexed=True,
                    )
                    for memory, vector in zip(memories, vectors, strict=True)
                ],
            )
            names = map(entity_name_of, batch)
            copy_mentions(namespace, people, list(zip([memory.id for memory in memories], names, strict=True)))
            search_index.index_postings(namespace, [memory.id for memory in memories])
        growth.add(len(memories))
    index_vectors(namespace)


def entity_name_of(item: dict[str, Any]) -> str:
    """The entity that a line names, if any."""
    return "".join(item.get("entities", ()))


def copy_mentions(namespace: Namespace, people: dict[str, Entity], names: Sequence[tuple[UUID, str]]) -> None:
    """Copy the mentions of memories, and the entities that occur for the first time."""
    known = set(people)
    for _, name in names:
        if name and name not in people:
            people[name] = Entity(namespace=namespace, name=name, normalised=normalize(name))
    store_entities(namespace, [entity for name, entity in people.items() if name not in known])
    rows = [Mention(namespace=namespace, memory_id=memory, entity_id=people[name].id) for memory, name in names if name]
    copy_rows(Mention, rows)


def memory_row(namespace: Namespace, item: dict[str, Any]) -> Memory:
    """A memory as an import would store it, without deduplication and history."""
    return Memory(
        namespace_id=namespace.id,
        type="Fact",
        content=item["content"],
        content_hash=sha256(str(uuid7()).encode()).digest(),
        source_strength=1.0,
        extractor_confidence=0.9,
        type_prior=0.8,
        confidence=0.8,
        happened_at=datetime.fromisoformat(item["happened_at"]),
        created_at=NOW,
    )


def index_vectors(namespace: Namespace) -> None:
    """Index all vectors of a large namespace, as the worker does."""
    if namespace in namespaces_to_index():
        run_job(namespace.id, submit_job(namespace, JobKind.INDEX, {}, by="benchmark").id)
    vacuum()


def vacuum() -> None:
    """Update visibility maps and planner statistics, as autovacuum would later."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def new_memories(count: int) -> list[NewMemory]:
    """New sentences about known entities, for an agent to write between queries; different in each run."""
    rng, originals = random.Random(), sentences()
    memories = []
    for _ in range(count):
        who, content = cross_sentences(*rng.choice(originals), rng.choice(originals)[1])
        entities = (who,) if who and who.lower() not in ("user", "assistant") else ()
        memories.append(NewMemory(content=content, type="Fact", utterances=(Utterance("direct"),), entities=entities))
    return memories


def benchmark_queries(count: int) -> list[str]:
    """Queries of the public data, of every category."""
    queries = [
        row["question"] for name in ("locomo", "longmemeval", "realmem", "beam") for row in read_rows(f"{name}/queries")
    ]
    random.Random(13).shuffle(queries)
    return queries[:count]


__all__ = ["DATA", "benchmark_queries", "get_or_load_world"]
