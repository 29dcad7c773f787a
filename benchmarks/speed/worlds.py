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
from memories.models import Entity, Memory, MemoryVector, Mention, Namespace, NamespaceStatistics
from memories.providers.embedder import embedder
from memories.transfer.import_file import FileImport
from memories.transfer.planner_statistics import StatisticsRefresh
from memories.web.memory_body import validate_memories
from memories.writing import search_index
from memories.writing.bulk_copy import copy_rows, lightweight_row
from memories.writing.rebuild import namespaces_to_index, unindexed_vectors
from scoring.dedup import normalize

SLUG, LOADING = "speed", "loading"
EMBEDDER = "wordllama-256"
BATCH, TOGETHER, POURED = 500, 1_000, 10_000
IMPORTED = 200_000  # the largest namespace that is imported line by line
HNSW = "memoryvector_wordllama_256"
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
SHORTEST, LONGEST = 20, 400  # characters of a sentence that is worth remembering
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SPAN = timedelta(days=730)


def sentences() -> list[tuple[str, str]]:
    """Who speaks, or nobody, and a sentence: everything that the public data have, in a mixed order."""
    said = [
        (one.get("speaker", ""), sentence)
        for name in ("locomo/memories", "longmemeval/memories", "beam/memories", "realmem/memories", "scifact/corpus")
        for one in read_rows(name)
        for sentence in SENTENCE.split(one["text"])
        if SHORTEST <= len(sentence) <= LONGEST
    ]
    unique = list({sentence: (who, sentence) for who, sentence in said}.values())
    random.Random(7).shuffle(unique)
    return unique


def lines(count: int) -> Iterator[str]:
    """Lines of an import: the sentences as they are, then the first half of one with the second half of another."""
    chance, said = random.Random(11), sentences()
    made = itertools.chain(said, iter(lambda: halves(*chance.choice(said), chance.choice(said)[1]), None))
    for number, (who, content) in enumerate(itertools.islice(made, count)):
        happened = NOW - SPAN * chance.random()
        body = {"content": content, "type": "Fact", "source_level": "direct", "session": f"s{number // 20}"}
        named = {"entities": [who]} if who and who.lower() not in ("user", "assistant") else {}
        yield json.dumps(body | named | {"happened_at": happened.isoformat()})


def halves(who: str, one: str, other: str) -> tuple[str, str]:
    """A sentence that begins like one and ends like another."""
    first, second = one.split(), other.split()
    return who, " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])


def world(size: int, kind: str = SLUG) -> Namespace:
    """A namespace of this size, loaded where it is missing; what another kind adds to it stays its own."""
    slug = f"{kind}-{size}"
    found = Namespace.objects.filter(slug=slug).first()
    if found and found.title == slug:
        return found
    if found:
        found.delete()  # half of it, left by a run that was stopped
    namespace = Namespace.objects.create(slug=slug, title=LOADING, embedder=EMBEDDER, clock=NOW)
    (poured if size > IMPORTED else imported)(namespace, size)
    Namespace.objects.filter(id=namespace.id).update(title=slug)
    return namespace


def imported(namespace: Namespace, size: int) -> None:
    """Line by line, as anybody would."""
    stream = io.BytesIO("\n".join(lines(size)).encode())
    work = FileImport.begin(namespace, namespace.slug, stream, restart=True, by="benchmark", validate=validate_memories)
    for _ in work.run(BATCH, lambda told: None):
        pass
    indexed(namespace)


def poured(namespace: Namespace, size: int) -> None:
    """Straight into the tables, as an import of so many would take an hour; the vectors are indexed at the end."""
    stored = connection.cursor()
    stored.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [HNSW])
    [(made,)] = stored.fetchall()
    stored.execute(f"DROP INDEX {HNSW}")
    NamespaceStatistics.objects.get_or_create(namespace=namespace)
    all, model, growth = lines(size), embedder(namespace.embedder), StatisticsRefresh()
    people: dict[str, Entity] = {}
    while some := [json.loads(line) for line in itertools.islice(all, POURED)]:
        vectors = model.embed([one["content"] for one in some])
        memories = [row_of(namespace, one) for one in some]
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
            mention(namespace, people, list(zip([memory.id for memory in memories], map(who_in, some), strict=True)))
            search_index.index_postings(namespace, [memory.id for memory in memories])
        growth.add(len(memories))
    stored.execute("SET maintenance_work_mem = '4GB'")
    stored.execute(made)
    tidy()


def who_in(one: dict[str, Any]) -> str:
    """Whom a line names, or nobody."""
    return "".join(one.get("entities", ()))


def mention(namespace: Namespace, people: dict[str, Entity], said: Sequence[tuple[UUID, str]]) -> None:
    """Let memories mention whom their lines name; who is named for the first time becomes known."""
    known = set(people)
    for _, name in said:
        if name and name not in people:
            people[name] = Entity(namespace=namespace, name=name, normalised=normalize(name))
    copy_rows(Entity, [one for name, one in people.items() if name not in known])
    rows = [Mention(namespace=namespace, memory_id=memory, entity_id=people[name].id) for memory, name in said if name]
    copy_rows(Mention, rows)


def row_of(namespace: Namespace, one: dict[str, Any]) -> Memory:
    """A memory as an import would have stored it, without what dedup and history add."""
    return Memory(
        namespace_id=namespace.id,
        type="Fact",
        content=one["content"],
        content_hash=sha256(str(uuid7()).encode()).digest(),
        source_strength=1.0,
        extractor_confidence=0.9,
        type_prior=0.8,
        confidence=0.8,
        happened_at=datetime.fromisoformat(one["happened_at"]),
        created_at=NOW,
    )


def indexed(namespace: Namespace) -> None:
    """Let all vectors of a large namespace into the index, as the worker does by night; then have everything seen."""
    waiting = (
        unindexed_vectors(namespace) if namespace in namespaces_to_index() else unindexed_vectors(namespace).none()
    )
    while ids := list(waiting.order_by("id").values_list("id", flat=True)[:TOGETHER]):
        MemoryVector.objects.within(namespace).filter(id__in=ids).update(indexed=True)
    tidy()


def tidy() -> None:
    """Have the database see how its tables are, as it does by itself after a while."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def new_memories(count: int) -> list[NewMemory]:
    """What an agent writes while it asks: sentences no world holds yet, about whom the worlds know, each run others."""
    chance, said = random.Random(), sentences()
    memories = []
    for _ in range(count):
        who, content = halves(*chance.choice(said), chance.choice(said)[1])
        entities = (who,) if who and who.lower() not in ("user", "assistant") else ()
        memories.append(NewMemory(content=content, type="Fact", utterances=(Utterance("direct"),), entities=entities))
    return memories


def questions(count: int) -> list[str]:
    """Questions that people asked, of every kind."""
    asked = [
        one["question"] for name in ("locomo", "longmemeval", "realmem", "beam") for one in read_rows(f"{name}/queries")
    ]
    random.Random(13).shuffle(asked)
    return asked[:count]


__all__ = ["DATA", "questions", "world"]
