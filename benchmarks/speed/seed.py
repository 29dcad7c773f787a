"""What a namespace in use has besides its memories: names, relations, tags, a past, questions and traces."""

import random
from collections.abc import Iterable, Sequence
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model

from benchmarks.speed import worlds
from memories.db.ids import uuid7
from memories.models import (
    ApiKey,
    Entity,
    EntityEdge,
    JudgedQuery,
    JudgementSet,
    Membership,
    Memory,
    MemoryTag,
    Mention,
    Namespace,
)
from memories.models.choices import Grounding, MemoryType, Role, Status
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import store_trace
from memories.tuning.splits import split_of
from memories.web.api_keys import make_key
from memories.writing.bulk_copy import copy_rows
from scoring.systems import SYSTEMS

KIND, READER = "pages", "page-reader"
ENTITIES, EDGES, TAGS, REJECTED, TRACES, QUERIES, KEYS = 5_000, 40_000, 300, 2_000, 300, 500, 30
ACQUAINTED = 40  # relations of each who is named in the public data
PREDICATES = ("works at", "knows", "owns", "lives in", "part of", "reports to", "depends on", "likes", "met", "built")
RARE = 1_000  # one memory of so many is unsure
# Ages over two years, types and confidence as they come in life; hashes decide, so that each run makes the same.
LIVED_IN = """
    UPDATE memories_memory SET
        created_at = coalesce(happened_at, created_at),
        type = (%(types)s::text[])[1 + abs(hashint8(place)) %% 5],
        confidence = CASE WHEN place %% %(rare)s = 0 THEN .3 ELSE .5 + abs(hashint8(place + 1)) %% 1000 * .00045 END,
        access_count = abs(hashint8(place + 2)) %% 20
    FROM (
        SELECT id AS numbered, row_number() OVER (ORDER BY id) AS place
        FROM memories_memory WHERE namespace_id = %(namespace)s
    ) AS every
    WHERE namespace_id = %(namespace)s AND id = numbered
"""


def furnished(size: int) -> tuple[Namespace, User]:
    """A namespace of so many memories that is lived in, and an administrator of it; made where it is missing."""
    namespace = worlds.world(size, KIND)
    user, _ = User.objects.get_or_create(username=READER, defaults={"password": "!"})  # nobody signs in with that
    Membership.objects.get_or_create(namespace=namespace, user=user, defaults={"role": Role.ADMIN})
    if not JudgementSet.objects.within(namespace).exists():
        with transaction.atomic():
            furnish(namespace, random.Random(17))
        ask(namespace)
        worlds.tidy()
    return namespace, user


def related(namespace: Namespace) -> Namespace:
    """A namespace with a graph around whom its questions name; drawn where it is missing."""
    if not EntityEdge.objects.within(namespace).exists():
        with transaction.atomic():
            memories = list(Memory.objects.within(namespace).order_by("id").values_list("id", flat=True))
            relate(namespace, random.Random(17), memories)
        worlds.tidy()
    return namespace


def furnish(namespace: Namespace, chance: random.Random) -> None:
    """Everything but the traces."""
    with connection.cursor() as cursor:
        cursor.execute(LIVED_IN, {"namespace": namespace.id, "types": MemoryType.values, "rare": RARE})
    memories = list(Memory.objects.within(namespace).order_by("id").values_list("id", flat=True))
    relate(namespace, chance, memories)
    tags = ({"tag": f"tag-{often(chance, TAGS)}", "memory_id": memory} for memory in memories)
    poured(namespace, MemoryTag, tags)
    reject(namespace)
    asked = JudgementSet.objects.create(namespace=namespace, name="asked")
    texts = worlds.questions(QUERIES)
    queries = [{"judgement_set_id": asked.id, "text": text, "split": split_of(text)} for text in texts]
    poured(namespace, JudgedQuery, queries)
    keys = [(f"agent {place}", make_key()) for place in range(KEYS)]
    poured(namespace, ApiKey, [{"name": name, "hash": key.hash, "prefix": key.prefix} for name, key in keys])


def relate(namespace: Namespace, chance: random.Random, memories: Sequence[UUID]) -> None:
    """Names in each memory, and relations between them."""
    people = list(Entity.objects.within(namespace).order_by("id").values_list("id", flat=True))
    ids = [uuid7() for _ in range(ENTITIES)]
    names = [{"id": id, "name": f"Name {place}", "normalised": f"name {place}"} for place, id in enumerate(ids)]
    poured(namespace, Entity, names)
    mentions = ({"memory_id": memory, "entity_id": ids[often(chance, ENTITIES)]} for memory in memories)
    poured(namespace, Mention, mentions)
    sources = people * ACQUAINTED + [ids[often(chance, ENTITIES)] for _ in range(EDGES)]
    edges = [
        {
            "source_id": source,
            "predicate": chance.choice(PREDICATES),
            "target_id": ids[often(chance, ENTITIES)],
            "confidence": round(0.5 + chance.random() / 2, 2),
            "memory_id": memory,
            "created_at": namespace.now,
        }
        for source, memory in zip(sources, chance.sample(memories, min(len(sources), len(memories))), strict=False)
    ]
    poured(namespace, EntityEdge, edges)


def reject(namespace: Namespace) -> None:
    """Memories that grounding dropped."""
    rows = []
    for place in range(REJECTED):
        told_by = {"content": f"Somebody may have said so {place} times", "happened_at": worlds.NOW.isoformat()}
        row = worlds.row_of(namespace, told_by)
        row.status, row.grounding, row.reason = Status.REJECTED, Grounding.PARTIAL, "only partly grounded"
        rows.append(row)
    copy_rows(Memory, rows)


def ask(namespace: Namespace) -> None:
    """Leave traces, as agents do."""
    for place, text in enumerate(worlds.questions(TRACES)):
        by = resolve_config(namespace, system=list(SYSTEMS)[place % len(SYSTEMS)], params={})
        retrieval = retrieve(Query(namespace=namespace, text=text, config=by))
        store_trace(retrieval, build_answer(retrieval), key=None)


def often(chance: random.Random, count: int) -> int:
    """A place among many, the first ones far more often than the last."""
    return int(count * chance.random() ** 3)


def poured(namespace: Namespace, table: type[Model], rows: Iterable[dict[str, object]]) -> None:
    """Rows of a namespace, many at once."""
    left = iter(rows)
    while some := list(islice(left, worlds.POURED)):
        copy_rows(table, [table(namespace_id=namespace.id, **row) for row in some])
