"""Seeds a namespace with what one in use has besides memories: entities, edges, tags, ages, judged queries, traces."""

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
from memories.text.name_index import store_entities
from memories.tuning.splits import split_of
from memories.web.api_keys import make_key
from memories.writing.bulk_copy import copy_rows
from scoring.systems import SYSTEMS

KIND, READER = "pages", "page-reader"
ENTITIES, EDGES, TAGS, REJECTED, TRACES, QUERIES, KEYS = 5_000, 40_000, 300, 2_000, 300, 500, 30
EDGES_PER_PERSON = 40  # of each person in the public data
PREDICATES = ("works at", "knows", "owns", "lives in", "part of", "reports to", "depends on", "likes", "met", "built")
RARE = 1_000  # one in this many memories has a low confidence
# Ages over two years, mixed types and confidences; derived from hashes, so that every run is the same.
VARY_MEMORIES_SQL = """
    UPDATE memories_memory SET
        created_at = coalesce(happened_at, created_at),
        type = (%(types)s::text[])[1 + abs(hashint8(place)) %% 5],
        confidence = CASE WHEN place %% %(rare)s = 0 THEN .3 ELSE .5 + abs(hashint8(place + 1)) %% 1000 * .00045 END,
        access_count = abs(hashint8(place + 2)) %% 20
    FROM (
        SELECT id AS numbered, row_number() OVER (ORDER BY id) AS place
        FROM memories_memory WHERE namespace_id = %(namespace)s
    ) AS numbered_memories
    WHERE namespace_id = %(namespace)s AND id = numbered
"""


def get_or_seed_world(size: int) -> tuple[Namespace, User]:
    """A seeded namespace of this size and one of its admins."""
    namespace = worlds.get_or_load_world(size, KIND)
    user, _ = User.objects.get_or_create(username=READER, defaults={"password": "!"})  # nobody signs in with that
    Membership.objects.get_or_create(namespace=namespace, user=user, defaults={"role": Role.ADMIN})
    if not JudgementSet.objects.within(namespace).exists():
        with transaction.atomic():
            seed_namespace(namespace, random.Random(17))
        seed_traces(namespace)
        worlds.vacuum()
    return namespace, user


def ensure_graph(namespace: Namespace) -> Namespace:
    """Seed a graph around the people that queries name, unless the namespace has one."""
    if not EntityEdge.objects.within(namespace).exists():
        with transaction.atomic():
            memories = list(Memory.objects.within(namespace).order_by("id").values_list("id", flat=True))
            seed_graph(namespace, random.Random(17), memories)
        worlds.vacuum()
    return namespace


def seed_namespace(namespace: Namespace, rng: random.Random) -> None:
    """Everything but the traces."""
    with connection.cursor() as cursor:
        cursor.execute(VARY_MEMORIES_SQL, {"namespace": namespace.id, "types": MemoryType.values, "rare": RARE})
    memories = list(Memory.objects.within(namespace).order_by("id").values_list("id", flat=True))
    seed_graph(namespace, rng, memories)
    tags = ({"tag": f"tag-{skewed_index(rng, TAGS)}", "memory_id": memory} for memory in memories)
    copy_in_batches(namespace, MemoryTag, tags)
    seed_rejected(namespace)
    judgement_set = JudgementSet.objects.create(namespace=namespace, name="queries")
    texts = worlds.benchmark_queries(QUERIES)
    queries = [{"judgement_set_id": judgement_set.id, "text": text, "split": split_of(text)} for text in texts]
    copy_in_batches(namespace, JudgedQuery, queries)
    keys = [(f"agent {place}", make_key()) for place in range(KEYS)]
    copy_in_batches(namespace, ApiKey, [{"name": name, "hash": key.hash, "prefix": key.prefix} for name, key in keys])


def seed_graph(namespace: Namespace, rng: random.Random, memories: Sequence[UUID]) -> None:
    """An entity mentioned in each memory, and edges between entities."""
    people = list(Entity.objects.within(namespace).order_by("id").values_list("id", flat=True))
    ids = [uuid7() for _ in range(ENTITIES)]
    store_entities(
        namespace,
        [
            Entity(namespace=namespace, id=id, name=f"Name {place}", normalised=f"name {place}")
            for place, id in enumerate(ids)
        ],
    )
    mentions = ({"memory_id": memory, "entity_id": ids[skewed_index(rng, ENTITIES)]} for memory in memories)
    copy_in_batches(namespace, Mention, mentions)
    sources = people * EDGES_PER_PERSON + [ids[skewed_index(rng, ENTITIES)] for _ in range(EDGES)]
    edges = [
        {
            "source_id": source,
            "predicate": rng.choice(PREDICATES),
            "target_id": ids[skewed_index(rng, ENTITIES)],
            "confidence": round(0.5 + rng.random() / 2, 2),
            "memory_id": memory,
            "created_at": namespace.now,
        }
        for source, memory in zip(sources, rng.sample(memories, min(len(sources), len(memories))), strict=False)
    ]
    copy_in_batches(namespace, EntityEdge, edges)


def grow_entities(namespace: Namespace, count: int) -> list[UUID]:
    """Add entities until the namespace has this many; the ids of those added."""
    stored = Entity.objects.within(namespace).count()
    entities = [
        Entity(namespace=namespace, name=f"Name {place}", normalised=f"name {place}") for place in range(stored, count)
    ]
    with transaction.atomic():
        store_entities(namespace, entities)
    return [entity.id for entity in entities]


def seed_rejected(namespace: Namespace) -> None:
    """Memories that grounding rejected."""
    rows = []
    for place in range(REJECTED):
        item = {"content": f"Somebody may have said so {place} times", "happened_at": worlds.NOW.isoformat()}
        row = worlds.memory_row(namespace, item)
        row.status, row.grounding, row.reason = Status.REJECTED, Grounding.PARTIAL, "only partly grounded"
        rows.append(row)
    copy_rows(Memory, rows)


def seed_traces(namespace: Namespace) -> None:
    """Traces of queries, by each system in turn."""
    for place, text in enumerate(worlds.benchmark_queries(TRACES)):
        config = resolve_config(namespace, system=list(SYSTEMS)[place % len(SYSTEMS)], params={})
        retrieval = retrieve(Query(namespace=namespace, text=text, config=config))
        store_trace(retrieval, build_answer(retrieval), key=None)


def skewed_index(rng: random.Random, count: int) -> int:
    """A random index below `count`; low ones are far more frequent."""
    return int(count * rng.random() ** 3)


def copy_in_batches(namespace: Namespace, table: type[Model], rows: Iterable[dict[str, object]]) -> None:
    """Copy rows of a namespace, given by their columns, in large batches."""
    remaining = iter(rows)
    while batch := list(islice(remaining, worlds.COPY_SIZE)):
        copy_rows(table, [table(namespace_id=namespace.id, **row) for row in batch])
