"""Every statement the ORM makes carries the namespace, for every table in it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, Exists, F, OuterRef
from django.test.utils import CaptureQueriesContext

from memories.db.ids import uuid7
from memories.models import (
    DailyAccess,
    Entity,
    IdempotencyRecord,
    Memory,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    Posting,
    ScoreEvent,
    Trace,
    Turn,
)
from tests.support.rows import TIMESTAMP, empty_namespace, row
from tests.support.statements import NAMESPACED_TABLES, without_namespace

pytestmark = pytest.mark.django_db


OPERATIONS: dict[str, Callable[[Namespace, Memory, Entity], Any]] = {
    "get by id": lambda ns, m, e: Memory.objects.within(ns).get(id=m.id),
    "get by key": lambda ns, m, e: Memory.objects.get(pk=m.pk),
    "refresh": lambda ns, m, e: m.refresh_from_db(),
    "filter": lambda ns, m, e: list(Memory.objects.within(ns).filter(status="active").order_by("-created_at", "id")),
    "filter by a list of ids": lambda ns, m, e: list(Memory.objects.within(ns).filter(id__in=[m.id, e.id])),
    "filter by a relation": lambda ns, m, e: list(Mention.objects.filter(memory=m)),
    "filter by relations": lambda ns, m, e: list(Mention.objects.filter(memory__in=[m])),
    "filter over a relation": lambda ns, m, e: list(Mention.objects.within(ns).filter(memory__type="Fact")),
    "filter over a far end": lambda ns, m, e: list(Memory.objects.within(ns).filter(mentions__entity_id=e.id)),
    "filter over two relations": lambda ns, m, e: list(Memory.objects.within(ns).filter(mentions__entity__name="x")),
    "filter by a subquery": lambda ns, m, e: list(
        Memory.objects.within(ns).filter(id__in=MemoryTag.objects.within(ns).filter(tag="x").values("memory_id"))
    ),
    "filter by existence": lambda ns, m, e: list(
        Memory.objects.within(ns).filter(Exists(MemoryTag.objects.within(ns).filter(tag="x", memory_id=OuterRef("id"))))
    ),
    "exclude over a relation": lambda ns, m, e: list(Mention.objects.within(ns).exclude(memory__type="Fact")),
    "exclude over a far end": lambda ns, m, e: list(Memory.objects.within(ns).exclude(tags__tag="x")),
    "exclude over a relation's far end": lambda ns, m, e: list(
        Memory.objects.within(ns).exclude(subject__aliases__name="x")
    ),
    "select related": lambda ns, m, e: list(Mention.objects.within(ns).select_related("memory__subject", "entity")),
    "follow a relation": lambda ns, m, e: Mention.objects.within(ns).get().memory.subject,
    "follow a far end": lambda ns, m, e: list(m.vectors.all()),
    "prefetch far ends": lambda ns, m, e: list(Memory.objects.within(ns).prefetch_related("tags", "mentions__entity")),
    "prefetch relations": lambda ns, m, e: list(Mention.objects.within(ns).prefetch_related("memory", "entity")),
    "load a deferred column": lambda ns, m, e: Memory.objects.within(ns).only("id").get().content,
    "count": lambda ns, m, e: Memory.objects.within(ns).count(),
    "exists": lambda ns, m, e: Memory.objects.within(ns).exists(),
    "count over a far end": lambda ns, m, e: list(Memory.objects.within(ns).annotate(n=Count("mentions"))),
    "save new": lambda ns, m, e: Mention(memory=row(Memory, ns), entity=e).save(),
    "save": lambda ns, m, e: m.save(),
    "save one field": lambda ns, m, e: m.save(update_fields=["belief"]),
    "create": lambda ns, m, e: Entity.objects.create(namespace=ns, name="x", normalised="x"),
    "create at a far end": lambda ns, m, e: m.tags.create(tag="new"),
    "delete": lambda ns, m, e: m.delete(),
    "delete many": lambda ns, m, e: Memory.objects.within(ns).filter(type="Fact").delete(),
    "update": lambda ns, m, e: Memory.objects.within(ns).filter(id=m.id).update(useful=F("useful") + 1),
    "update over a relation": lambda ns, m, e: (
        Mention.objects.within(ns).filter(memory__type="Fact").update(confidence=0.5)
    ),
    "bulk create": lambda ns, m, e: MemoryTag.objects.bulk_create([MemoryTag(memory=m, tag=t) for t in "ab"]),
    "bulk upsert": lambda ns, m, e: DailyAccess.objects.bulk_create(
        [DailyAccess(memory=m, day=TIMESTAMP.date(), count=2)],
        update_conflicts=True,
        unique_fields=["namespace", "memory_id", "day"],
        update_fields=["count"],
    ),
    "bulk update": lambda ns, m, e: Memory.objects.bulk_update([m], ["belief", "confidence"]),
    "select for update": lambda ns, m, e: Memory.objects.within(ns).select_for_update().get(id=m.id),
    "select for update over a relation": lambda ns, m, e: list(
        Mention.objects.within(ns).select_related("memory").select_for_update(of=("self",))
    ),
    "get or create": lambda ns, m, e: Entity.objects.get_or_create(namespace=ns, normalised="y", kind="person"),
    "update or create": lambda ns, m, e: Entity.objects.update_or_create(
        namespace=ns, id=e.id, defaults={"name": "Anna"}
    ),
    "update or create a natural key": lambda ns, m, e: Posting.objects.update_or_create(
        namespace=ns, term="x", memory_id=m.id, defaults={"frequency": 2}
    ),
    "in bulk": lambda ns, m, e: Memory.objects.in_bulk([m.pk]),
    "erase": lambda ns, m, e: ScoreEvent.objects.within(ns).filter(memory_id=m.id).erase(),
    "find in an array": lambda ns, m, e: list(Trace.objects.within(ns).filter(candidates__contains=[m.id])),
    "what serves": lambda ns, m, e: ns.serving,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_statement_names_the_namespace_of_every_table(operation: str) -> None:
    namespace = empty_namespace("here")
    entity = row(Entity, namespace)
    memory = row(Memory, namespace, type="Fact", subject=entity)
    for model in (Mention, MemoryTag, MemoryVector, Posting):
        row(model, namespace, memory=memory, **({"entity": entity} if model is Mention else {}))
    with CaptureQueriesContext(connection) as queries:
        OPERATIONS[operation](namespace, memory, entity)
    asked = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert any(table in sql for sql in asked for table in NAMESPACED_TABLES)
    assert {sql: without_namespace(sql) for sql in asked if without_namespace(sql)} == {}


def test_what_tells_of_one_memory_is_found_within_its_namespace() -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    memory, other = (row(Memory, here) for _ in range(2))
    trace = row(Trace, here, candidates=[other.id, memory.id])
    record = row(IdempotencyRecord, here, memory_ids=[memory.id])
    event = row(ScoreEvent, here, memory=other, other_id=memory.id)
    row(Trace, here, candidates=[other.id])
    row(Trace, here, candidates=[])
    row(Trace, there, candidates=[memory.id])
    row(IdempotencyRecord, here)
    row(ScoreEvent, here, memory=other)
    assert list(Trace.objects.within(here).filter(candidates__contains=[memory.id])) == [trace]
    assert list(IdempotencyRecord.objects.within(here).filter(memory_ids__contains=[memory.id])) == [record]
    assert list(ScoreEvent.objects.within(here).filter(other_id=memory.id)) == [event]


def test_the_events_that_a_memory_caused_are_found_by_their_index() -> None:
    here = empty_namespace("here")
    memory = row(Memory, here)
    events = (ScoreEvent(namespace=here, memory_id=memory.id, at=TIMESTAMP, cause="confirmed") for _ in range(300))
    ScoreEvent.objects.bulk_create(events)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_scoreevent")  # or the plan depends on what other tests left behind
        cursor.execute("SET LOCAL enable_seqscan = off")
    assert "scoreevent_other" in ScoreEvent.objects.within(here).filter(other_id=uuid7()).explain()


def test_whose_status_changed_since_a_timestamp_and_who_spoke_are_found_by_their_indexes() -> None:
    here = empty_namespace("here")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    changed = ScoreEvent.objects.within(here).filter(at__gt=TIMESTAMP, after__has_key="status")
    assert "scoreevent_status" in changed.values("memory_id").explain()
    assert "turn_latest_of_speaker" in Turn.objects.within(here).filter(speaker="Maya").explain()


def test_an_uncertain_type_is_named_among_the_tags_though_a_column_holds_it() -> None:
    namespace = empty_namespace("here")
    plain, uncertain = (row(Memory, namespace, type_uncertain=flag) for flag in (False, True))
    for memory in (plain, uncertain):
        for tag in ("work", "billing", "zoo"):
            row(MemoryTag, namespace, memory=memory, tag=tag)
    assert plain.tag_names == ["billing", "work", "zoo"]
    assert uncertain.tag_names == ["billing", "type_uncertain", "work", "zoo"]
    assert row(Memory, namespace).tag_names == []


def test_what_is_excluded_over_a_relation_is_excluded_and_nothing_else() -> None:
    namespace = empty_namespace("here")
    entity = row(Entity, namespace)
    about, tagged, plain = (row(Memory, namespace, **given) for given in ({"subject": entity}, {}, {}))
    row(MemoryTag, namespace, memory=tagged, tag="x")
    row(Mention, namespace, memory=tagged, entity=entity)
    memories = Memory.objects.within(namespace).order_by("id")
    assert list(memories.exclude(subject=entity)) == [tagged, plain]
    assert list(memories.exclude(subject__in=[entity])) == [tagged, plain]
    assert list(memories.exclude(subject__name=entity.name)) == [tagged, plain]
    assert list(memories.exclude(tags__tag="x")) == [about, plain]
    assert list(memories.exclude(mentions__entity=entity)) == [about, plain]
    assert list(memories.exclude(mentions__isnull=True)) == [tagged]
    assert list(memories.filter(subject=None)) == [tagged, plain]
    assert list(memories.select_related("subject")) == [about, tagged, plain]


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "memories_memory"."namespace_id" FROM "memories_memory" WHERE "memories_memory"."id" = 1',
        'SELECT 1 FROM "memories_mention" INNER JOIN "memories_memory" ON ("memories_mention"."memory_id" ='
        ' "memories_memory"."id") WHERE "memories_mention"."namespace_id" = 1',
        'UPDATE "memories_memory" SET "namespace_id" = 1 WHERE "memories_memory"."id" = 1',
        'DELETE FROM "memories_memory" WHERE "memories_memory"."id" IN (1)',
        'INSERT INTO "memories_memory" ("id") VALUES (1)',
    ],
)
def test_a_statement_without_its_namespace_is_noticed(sql: str) -> None:
    assert without_namespace(sql) != []
