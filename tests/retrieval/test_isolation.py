"""Every statement of a retrieval keeps to its namespace."""

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from memories.models import (
    Cluster,
    DailyAccess,
    Document,
    Entity,
    EntityAlias,
    EntityEdge,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    NameKey,
    Namespace,
    NamespaceStatistics,
    Posting,
    PostingBlock,
    PredicatePosting,
    ScoreEvent,
    Session,
    SessionReturn,
    TermStatistic,
    TokenStates,
    Turn,
)
from memories.retrieval import access_counts
from memories.retrieval.answer import build_answer
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import store_trace
from memories.writing import search_index
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import EVERYTHING, NOW, answer_to_dict, make_query, memory, store_world
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


COPIED = (
    *(Session, Turn, Cluster, Entity, EntityAlias, NamespaceStatistics, TermStatistic, Memory, MemoryTag),
    *(MemoryVector, TokenStates, Posting, Mention, EntityEdge, MemoryEdge, MemorySource, ScoreEvent, DailyAccess),
    *(PredicatePosting, Document, PostingBlock, SessionReturn, NameKey),
)


def twin_of(namespace: Namespace) -> Namespace:
    """Another namespace with the same rows under the same ids, so that only the namespace tells them apart."""
    twin = Namespace.objects.create(slug="twin", title="Twin", clock=namespace.clock)
    with connection.cursor() as cursor:
        for model in COPIED:
            columns = [f'"{field.column}"' for field in model._meta.concrete_fields if field.column != "namespace_id"]
            cursor.execute(
                f"""INSERT INTO {model._meta.db_table} (namespace_id, {", ".join(columns)})
                SELECT %s, {", ".join(columns)} FROM {model._meta.db_table} WHERE namespace_id = %s""",
                [twin.id, namespace.id],
            )
    return twin


def answers_of_all_systems(namespace: Namespace, as_of: datetime | None) -> dict[str, Any]:
    """All that every system tells of a query, without the time it took."""
    given = {"user": "maya", "session": "s", "as_of": as_of}
    answers = {
        name: answer_to_dict(retrieve(make_query(namespace, EVERYTHING, name, **given)), explain="full")
        for name in SYSTEMS
    }
    return {name: {**answer, "took_ms": {}} for name, answer in answers.items()}


@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
@pytest.mark.parametrize("large", [False, True], ids=["scan", "index"])
def test_what_happens_to_the_same_ids_in_another_namespace_changes_nothing_here(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None, large: bool
) -> None:
    if large:
        index_vectors(world)
    for one in Memory.objects.within(world):
        row(DailyAccess, world, memory=one, day=NOW.date(), count=one.access_count + 1)
        row(SessionReturn, world, memory=one, user="maya", session="s", returned_at=NOW)
    Memory.objects.within(world).update(access_count=F("access_count") + 1)
    before = answers_of_all_systems(world, as_of)
    twin = twin_of(world)
    assert {
        name: [one["id"] for one in answer["results"]] for name, answer in answers_of_all_systems(twin, as_of).items()
    } == {name: [one["id"] for one in answer["results"]] for name, answer in before.items()}
    there = Memory.objects.within(twin)
    there.update(content="elsewhere", confidence=0.99, belief=9.0, access_count=999, type="Event", length=1)
    there.filter(level="fact").update(status="archived")
    Entity.objects.within(twin).update(kind="place", name="Priya", normalised=F("id"))
    EntityEdge.objects.within(twin).update(confidence=1.0, created_at=NOW - timedelta(days=999))
    MemoryVector.objects.within(twin).update(vector=np.eye(1, 384)[0].tolist(), active=False)
    MemoryTag.objects.within(twin).update(tag=Concat(Value("other "), F("tag")))
    DailyAccess.objects.within(twin).update(count=99, day=NOW.date() - timedelta(days=1))
    TermStatistic.objects.within(twin).update(documents=50)
    NamespaceStatistics.objects.filter(namespace=twin).update(documents=5_000)
    for model in (Posting, PredicatePosting, Mention, NameKey, TokenStates, SessionReturn):
        model.objects.within(twin).delete()
    first, second = Memory.objects.within(twin).order_by("id")[:2]
    row(MemoryEdge, twin, source=second, target=first, kind="contradiction", created_at=NOW)
    assert answers_of_all_systems(world, as_of) == before
    came = [one for answer in answers_of_all_systems(twin, as_of).values() for one in answer["results"]]
    assert all(one["content"] == "elsewhere" for one in came)


def test_two_worlds_of_the_same_texts_answer_from_themselves(world: Namespace) -> None:
    twin = store_world("twin")
    for name in ("recall", "blend", "memsense"):
        here, there = (retrieve(make_query(namespace, EVERYTHING, name)) for namespace in (world, twin))
        texts = [{row["content"] for row in one.candidates.rows} for one in (here, there)]
        assert texts[0] == texts[1]
        assert {row["id"] for row in here.candidates.rows}.isdisjoint(row["id"] for row in there.candidates.rows)
        for one, namespace in ((here, world), (there, twin)):
            ids = {row["id"] for row in one.candidates.rows}
            assert Memory.objects.within(namespace).filter(id__in=ids).count() == len(ids)


# A table of the product in a statement, and the name it goes by there.
TABLE = re.compile(r'\b(?:FROM|JOIN|UPDATE|INTO|USING|,)\s+"?(memories_\w+)\b(?!"?\.)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?')
NO_NAMES = {"where", "on", "set", "select", "order", "join", "left", "inner", "group", "limit", "cross", "union"}


def without_namespace(sql: str) -> list[str]:
    """Name the tables that a statement touches without saying in which namespace, in raw SQL as in the ORM's."""
    missing = []
    for match in TABLE.finditer(sql):
        into, table, alias = match.group(0).startswith("INTO"), *match.groups()
        if table == "memories_namespace":
            continue
        name = alias if alias and alias.lower() not in NO_NAMES else None
        column = rf'"?\b{name or table}"?\."?namespace_id"?' + ("" if name else r'|(?<![.\w])"?namespace_id"?')
        # Compared with a value, or with a table that is compared itself.
        carried = r'\([^)]*\b"?namespace_id\b' if into else rf"(?:{column})\s*=|=\s*(?:{column})"
        if not re.search(carried, sql[match.start() :]):
            missing.append(name or table)
    return missing


@pytest.mark.parametrize("sql", ["SELECT 1 FROM memories_memory m WHERE m.id = 1", "SELECT 1 FROM memories_posting"])
def test_raw_sql_without_its_namespace_is_noticed(sql: str) -> None:
    assert without_namespace(sql)


@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_statement_of_a_retrieval_names_the_namespace_of_every_table(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, system: str, as_of: datetime | None
) -> None:
    gone = memory(world, "Maya prefers")
    archive(world, gone)
    filters = Filters(types=("Fact", "Event"), tags=("database", "review", "backup"), users=("",))
    seen = []
    for large in (False, True):
        if large:
            index_vectors(world)
        for narrowed in (Filters(), filters):
            query = make_query(world, EVERYTHING, system, user="maya", session="s", as_of=as_of, filters=narrowed)
            with CaptureQueriesContext(connection) as queries:
                retrieval = retrieve(query)
                answer = build_answer(retrieval)
                store_trace(retrieval, answer, key=None)
                access_counts.record_access(query, answer.result_ids)
            seen += [query["sql"] for query in queries if "memories_" in query["sql"]]
    assert len(seen) > 30
    assert {sql: missing for sql in seen if (missing := without_namespace(sql))} == {}
    by_value = (str(world.id), world.id.hex, "%(namespace)s", "%(namespace_id)s")
    assert [sql for sql in seen if not any(one in sql for one in by_value)] == []


def archive(namespace: Namespace, one: Memory) -> None:
    """Take a memory out of sight, with an event that says so after the moment asked about."""
    Memory.objects.within(namespace).filter(id=one.id).update(status="archived")
    search_index.hide_memories(namespace, [one.id])
    later = NOW + timedelta(hours=1)
    ScoreEvent(namespace=namespace, memory_id=one.id, at=later, cause="archived", after={"status": "archived"}).save()
