"""Namespaces of many memories: sentences of public data, and new ones made of their halves."""

import io
import itertools
import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection

from benchmarks.quality.worlds import DATA, rows
from memories.bulk.importing import Import
from memories.models import MemoryVector, Namespace
from memories.writing.indexing import due, outside

SLUG = "speed"
EMBEDDER = "wordllama-256"
BATCH, TOGETHER = 500, 1_000
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
SHORTEST, LONGEST = 20, 400  # characters of a sentence that is worth remembering
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SPAN = timedelta(days=730)


def sentences() -> list[tuple[str, str]]:
    """Who speaks, or nobody, and a sentence: everything that the public data have, in a mixed order."""
    said = [
        (one.get("speaker", ""), sentence)
        for name in ("locomo/memories", "longmemeval/memories", "beam/memories", "realmem/memories", "scifact/corpus")
        for one in rows(name)
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
        body = {"content": content, "source_level": "direct", "session": f"s{number // 20}"}
        named = {"entities": [who]} if who and who.lower() not in ("user", "assistant") else {}
        yield json.dumps(body | named | {"happened_at": happened.isoformat()})


def halves(who: str, one: str, other: str) -> tuple[str, str]:
    """A sentence that begins like one and ends like another."""
    first, second = one.split(), other.split()
    return who, " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])


def world(size: int, embedder: str = EMBEDDER) -> Namespace:
    """A namespace of this size, loaded where it is missing."""
    slug = f"{SLUG}-{size}"
    found = Namespace.objects.filter(slug=slug).first()
    if found:
        return found
    namespace = Namespace.objects.create(slug=slug, title=slug, embedder=embedder, clock=NOW)
    stream = io.BytesIO("\n".join(lines(size)).encode())
    for _ in Import.begun(namespace, slug, stream, restart=True, by="benchmark").run(BATCH, lambda told: None):
        pass
    indexed(namespace)
    return namespace


def indexed(namespace: Namespace) -> None:
    """Let all vectors of a large namespace into the index, as the worker does by night; then have everything seen."""
    waiting = outside(namespace) if namespace in due() else outside(namespace).none()
    while ids := list(waiting.order_by("id").values_list("id", flat=True)[:TOGETHER]):
        MemoryVector.objects.within(namespace).filter(id__in=ids).update(indexed=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def questions(count: int) -> list[str]:
    """Questions that people asked, of every kind."""
    asked = [
        one["question"] for name in ("locomo", "longmemeval", "realmem", "beam") for one in rows(f"{name}/queries")
    ]
    random.Random(13).shuffle(asked)
    return asked[:count]


__all__ = ["DATA", "questions", "world"]
