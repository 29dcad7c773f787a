"""After an erasure no table holds anything of what was erased, and nothing else has changed."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from memories.db.ids import first_id_at
from memories.maintenance import erase
from memories.maintenance.erase import CASCADES
from memories.models import (
    Annotation,
    ApiKey,
    Cluster,
    DailyAccess,
    Entity,
    EntityEdge,
    Job,
    JudgedQuery,
    Judgement,
    JudgementSet,
    Memory,
    MemoryEdge,
    Namespace,
    PooledMemory,
    ReviewItem,
    ScoreEvent,
    Session,
    SessionReturn,
    TokenStates,
    Trace,
    Turn,
)
from memories.models.partitions import ensure_partitions
from memories.web.api_keys import make_key

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
AGAINST = "Keeps 5 spare keys of the sailing boat in the blue jar on the kitchen shelf at home"
ROWS = "SELECT row::text FROM {} AS row"


@dataclass
class World:
    """A namespace with everything in it around one memory whose words are nowhere else."""

    namespace: Namespace
    agent: Client
    word: str
    memory: UUID
    needles: set[str]

    def telling(self) -> set[str]:
        """The tables that hold the word, the memory's id or its hash, as text or as bytes."""
        return {
            table
            for table, rows in dump_tables().items()
            if any(needle in row for needle in self.needles for row in rows)
        }

    def rows(self) -> dict[str, list[str]]:
        """All rows that carry the namespace."""
        mine = str(self.namespace.id)
        return {table: [row for row in rows if mine in row] for table, rows in dump_tables().items()}


def dump_tables() -> dict[str, list[str]]:
    """Every row of every table as text, bytes in hexadecimal; the catalogue names the tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace NOT IN"
            " ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)"
        )
        tables = [table for (table,) in cursor.fetchall()]
        found = {}
        for table in tables:
            cursor.execute(ROWS.format(table))
            found[table] = sorted(row.lower() for (row,) in cursor.fetchall())
    return found


def fill_namespace(slug: str, word: str) -> World:
    """Fill a namespace, by the API where it can."""
    namespace = Namespace.objects.create(slug=slug, title=slug, clock=NOW)
    key = make_key()
    ApiKey.objects.create(namespace=namespace, name="agent", role="write", prefix=key.prefix, hash=key.hash)
    agent = Client(headers={"Authorization": f"Bearer {key.plain}"})
    numbers = iter(range(100))

    def post(path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Idempotency-Key": f"{next(numbers)}"}
        answer = agent.post(
            f"/api/v1/{slug}/memories/{path}", body or {}, content_type="application/json", headers=headers
        )
        assert answer.status_code < 300, answer.content
        return answer.json()

    said = f"{AGAINST.replace('5', '3')} ({word})"
    session = Session.objects.create(namespace=namespace, key="monday", user="maya", started_at=NOW)
    turn = Turn.objects.create(
        namespace=namespace, session=session, position=1, role="user", text=f"I {said.lower()}", said_at=NOW
    )
    body = {
        "content": said,
        "subject": "Maya",
        "predicate": "keeps",
        "object": f"keys of the {word}",
        "entities": ["Maya", word],
        "tags": [word],
        "evidence": said,
        "metadata": {"heard": word},
        "sources": [{"turn": str(turn.id), "level": "direct"}],
        "user": "maya",
        "session": "monday",
    }
    predecessor = UUID(post("", {"content": "Has a boat in the harbour", "user": "maya"})["memory"]["id"])
    id = UUID(post("", body)["memory"]["id"])
    assert post("", body | {"session": "tuesday"})["outcome"] == "merged"
    assert (
        post("", {"content": said.replace("at home", "really at home"), "session": "x", "user": "maya"})["outcome"]
        == "merged"
    )
    against = post("", {"content": AGAINST, "session": "z"})
    assert against["outcome"] == "stored"
    contradicting = UUID(against["memory"]["id"])
    assert post(f"{id}/contradict/", {"memory": str(contradicting)})["changed"]
    post("batch/", {"memories": [{"content": said, "session": "y", "user": "maya"}, {"content": "Has a dog"}]})
    post(f"{id}/confirm/")
    post(f"{id}/feedback/", {"useful": True})
    beside(namespace, id, predecessor, contradicting, turn, word)
    memory = Memory.objects.within(namespace).get(id=id)
    needles = {word.lower(), str(id), id.hex, word.encode().hex(), bytes(memory.content_hash).hex()}
    return World(namespace, agent, word, id, needles)


def beside(namespace: Namespace, id: UUID, predecessor: UUID, other: UUID, turn: Turn, word: str) -> None:
    """Store what no API makes yet."""
    here = {"namespace": namespace}
    quoting = {"status": "superseded", "reason": f"replaced by “{word}” and more"}
    Memory.objects.within(namespace).filter(id=predecessor).update(superseded_by_id=id, **quoting)
    events = {"superseded": ({"status": "active", "reason": ""}, quoting, id), "found useful": (quoting, quoting, None)}
    for cause, (before, after, named) in events.items():
        ScoreEvent.objects.create(
            **here, memory_id=predecessor, at=NOW, cause=cause, before=before, after=after, other_id=named
        )
    first, second = sorted((id, predecessor))
    ReviewItem.objects.create(**here, first_id=first, second_id=second, cosine=0.9, reason=f"both of {word}")
    MemoryEdge.objects.create(**here, source_id=other, target_id=id, kind="references")
    maya = Entity.objects.within(namespace).get(name="Maya")
    EntityEdge.objects.create(**here, source=maya, predicate="keeps", target=maya, memory_id=id)
    TokenStates.objects.create(**here, memory_id=id, embedder="x", packed=word.encode(), tokens=1, scale=1)
    DailyAccess.objects.create(**here, memory_id=id, day=NOW, count=2)
    for memory in (id, other):
        Annotation.objects.create(**here, memory_id=memory, annotator="ada", type="Fact", right=True, confidence=0.9)
    SessionReturn.objects.create(**here, user="bob", session="s", memory_id=id)
    queries = JudgementSet.objects.create(**here, name="set")
    for text, answers in {f"Where is the {word}?": {id: 3, other: 0}, "Which keys?": {id: 2, other: 1}}.items():
        query = JudgedQuery.objects.create(**here, judgement_set=queries, text=text)
        for memory, grade in answers.items():
            Judgement.objects.create(**here, query=query, memory_id=memory, grade=grade)
            PooledMemory.objects.create(**here, query=query, memory_id=memory, found_by=1, best=1)
    summary = Memory.objects.within(namespace).get(id=id)
    summary.id, summary.content, summary._state.adding = first_id_at(NOW), f"Much about {word}", True
    summary.content_hash = word.encode().ljust(32, b"-")
    summary.save(force_insert=True)
    MemoryEdge.objects.create(**here, source_id=summary.id, target_id=id, kind="summary_of")
    cluster = Cluster.objects.create(**here, label=word, embedder=namespace.embedder, centroid=[1.0] * 384, size=2)
    Memory.objects.within(namespace).filter(id__in=[id, other]).update(cluster_id=cluster.id)
    examples = [
        {"cluster": str(cluster.id), "label": word},
        {"memories": [str(id)], "content": word},
        {"entity": str(Entity.objects.within(namespace).get(name=word).id), "name": word},
        {"id": str(other)},
    ]
    Job.objects.create(**here, kind="reflect", result={"clusters": {"examples": examples, "memories": 3}})
    for trace in (
        Trace(candidates=[id, other], signals=id.bytes + word.encode(), answer={"results": [word]}, query=word),
        Trace(candidates=[other], signals=b"", request={"memory": str(id)}, query="why not?"),
        Trace(candidates=[other], signals=b"", request={"user": "bob"}, query="of another"),
    ):
        trace.namespace, trace.as_of, trace.system = namespace, NOW, "recall"
        trace.save()


@pytest.fixture
def world() -> World:
    ensure_partitions(datetime.now(UTC).date(), 1)
    return fill_namespace("desk", "Xylqophrandt")


def test_a_memory_is_erased_from_every_table(world: World) -> None:
    told = world.telling()
    referring = {reference.model._meta.db_table for reference in CASCADES}
    others = ("memory", "idempotencyrecord", "job", "termstatistic", "cluster", "judgedquery", "turn", "entity")
    assert told >= referring | {f"memories_{name}" for name in others}
    assert any(table.startswith("memories_trace_2") for table in told)
    call_command("purge", "desk", "--memory", str(world.memory), "--with-turns")
    assert world.telling() == set()
    assert Trace.objects.within(world.namespace).get().query == "of another"
    assert [query.text for query in JudgedQuery.objects.all()] == ["Which keys?"]
    assert Job.objects.get().result["clusters"]["memories"] == 3
    assert len(Job.objects.get().result["clusters"]["examples"]) == 1


def test_a_user_is_erased_from_every_table_with_the_names_that_nothing_else_has(world: World) -> None:
    call_command("purge", "--user", "maya")
    assert world.telling() == set()
    assert not any("maya" in row for rows in dump_tables().values() for row in rows)
    assert sorted(memory.content for memory in Memory.objects.all()) == [
        "Has a dog",
        AGAINST,
    ]


def test_another_namespace_does_not_change(world: World) -> None:
    other = fill_namespace("elsewhere", "Brumquolt")
    before = other.rows()
    assert sum(map(len, before.values())) > 50
    call_command("purge", "desk", "--memory", str(world.memory), "--with-turns")
    call_command("purge", "desk", "--user", "maya")
    call_command("purge", "desk", "--older-than", "0")
    assert other.rows() == before


def test_what_was_forgotten_long_enough_ago_is_erased(world: World) -> None:
    world.agent.delete(f"/api/v1/desk/memories/{world.memory}/")
    call_command("purge")
    assert Memory.objects.within(world.namespace).filter(id=world.memory).exists()
    Namespace.objects.update(clock=NOW + timedelta(days=31))
    call_command("purge")
    # The turn said it, and stays without --with-turns.
    assert world.telling() == {"memories_turn"}


def test_a_dry_run_tells_the_same_numbers_and_changes_nothing(world: World, capsys: Any) -> None:
    before = dump_tables()
    call_command("purge", "desk", "--memory", str(world.memory), "--dry-run")
    assert dump_tables() == before
    tried = capsys.readouterr().out
    call_command("purge", "desk", "--memory", str(world.memory))
    done = capsys.readouterr().out
    assert tried == done.splitlines(keepends=True)[0].replace("desk:", "desk (dry run):")
    assert "4 memories," in done


class Stopped(BaseException):
    """The process is told to end."""


def test_an_erasure_that_was_stopped_anywhere_is_ended_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "BATCH_SIZE", 1)
    stopped, statements = 0, 10
    while world.telling():
        left = iter(range(statements))

        def stop(execute: Any, sql: str, *args: Any, left: Iterator[int] = left) -> Any:
            # Whatever happens to the process, the database takes back what was not committed.
            if not sql.startswith("ROLLBACK") and next(left, None) is None:
                raise Stopped
            return execute(sql, *args)

        with suppress(Stopped), connection.execute_wrapper(stop):
            call_command("purge", "--user", "maya")
            break
        stopped, statements = stopped + 1, statements + 17
    assert world.telling() == set()
    assert stopped > 5
