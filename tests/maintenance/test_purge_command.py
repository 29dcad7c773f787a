"""`manage.py purge`: options, errors, output and cost."""

import io
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from memories.contracts.new_memory import NewMemory
from memories.maintenance.erase import Erasure
from memories.models import IdempotencyRecord, Memory, Namespace
from memories.models.choices import Status
from memories.writing.feedback import forget_memory
from memories.writing.remember import remember
from tests.support.rows import empty_namespace, row

MEMORIES = 3_000


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("purge", *arguments, stdout=out)
    return out.getvalue()


def store_memory(namespace: Namespace, content: str = "Plays the cello", **more: Any) -> Memory:
    (outcome,) = remember(namespace, [NewMemory(content=content, **more)], by="tests")
    return outcome.memory


@pytest.mark.django_db
def test_only_what_was_forgotten_long_enough_ago_goes() -> None:
    namespace = empty_namespace("here")
    lasting, forgotten = store_memory(namespace), store_memory(namespace, "Owns a red bicycle")
    forget_memory(namespace, forgotten.id, by="tests")
    assert run() == "here: nothing to erase.\n"
    assert "1 memories" in run("--older-than=0")
    assert Memory.objects.get().id == lasting.id


@pytest.mark.django_db
def test_rejected_memories_stay_with_their_reason() -> None:
    namespace = empty_namespace("here")
    store_memory(namespace, "Owns three horses", evidence="We talked about the quarterly budget only.")
    assert Memory.objects.get().status == Status.REJECTED
    assert run("--older-than=0") == "here: nothing to erase.\n"


@pytest.mark.django_db
def test_answers_that_were_kept_long_enough_are_deleted() -> None:
    namespace, now = empty_namespace("here"), timezone.now()
    row(IdempotencyRecord, namespace, expires_at=now - timedelta(seconds=1))
    kept = row(IdempotencyRecord, namespace, expires_at=now + timedelta(hours=1))
    assert run("here").startswith("here: 1 idempotency records.\n")
    assert IdempotencyRecord.objects.get() == kept


@pytest.mark.django_db
def test_the_named_namespaces_alone_are_purged() -> None:
    for slug in ("one", "two", "three"):
        namespace = empty_namespace(slug)
        forget_memory(namespace, store_memory(namespace).id, by="tests")
    assert [line.split(":")[0] for line in run("two", "one", "--older-than=0").splitlines()[:-1]] == ["one", "two"]
    assert Memory.objects.get().namespace.slug == "three"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["there"], r"There is no namespace there: choose existing ones \(here\)"),
        (["--memory=x"], "must be the id of a memory .* got 'x'"),
        ([f"--memory={uuid4()}"], "There is no memory .* in here; it may have been erased"),
        (["--older-than=-1"], "whole number from 0; got '-1'"),
        (["--user="], "--user must be a name; got an empty one"),
        (["--with-turns"], "--with-turns needs --memory"),
        (["--user=maya", f"--memory={uuid4()}"], "not allowed with"),
    ],
)
def test_a_purge_that_makes_no_sense_is_refused(arguments: list[str], complaint: str) -> None:
    empty_namespace("here")
    with pytest.raises(CommandError, match=complaint):
        run(*arguments)


@pytest.mark.django_db(transaction=True)
def test_a_vacuum_clears_the_deleted_rows_away() -> None:
    namespace = empty_namespace("here")
    memory = store_memory(namespace)
    assert "bytes stay on disk" in run("--memory", str(memory.id))
    memory = store_memory(namespace, "Owns a red bicycle")
    assert "Vacuumed." in run("--memory", str(memory.id), "--vacuum")


# What is scanned within its namespace by design: a trace is found by its candidates, the others are few.
SCANNED = {"memories_trace", "memories_trace_default", "memories_idempotencyrecord", "memories_job"}


@pytest.mark.django_db
def test_erasing_one_of_many_reads_few_rows() -> None:
    namespace, crowd = empty_namespace("here"), empty_namespace("crowd")
    memory = store_memory(namespace, entities=("Maya",), tags=("music",), session="s")
    store_memory(namespace, "Owns a red bicycle", entities=("Maya",), tags=("ride",), session="s")
    for one in (namespace, crowd):
        multiply(one, MEMORIES)
    reads: list[tuple[str, int, str]] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().startswith(("SELECT", "DELETE", "UPDATE", "WITH")) and "memories_" in sql:
            with transaction.atomic():
                execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params, many, context)
                reads.extend((*read, sql) for read in nodes(context["cursor"].fetchone()[0][0]["Plan"]))
                transaction.set_rollback(True)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        Erasure(namespace).erase([memory.id])
    assert reads
    wasteful = {(table, rows, sql) for table, rows, sql in reads if rows > 100 and table not in SCANNED}
    assert not wasteful


def nodes(plan: dict[str, Any]) -> list[tuple[str, int]]:
    """The tables a plan reads, with the rows it looked at."""
    rows = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    here = [(plan["Relation Name"], int(rows))] if "Relation Name" in plan else []
    return here + [node for part in plan.get("Plans", []) for node in nodes(part)]


def multiply(namespace: Namespace, count: int) -> None:
    """Copy a memory and the rows that hang on it many times over."""
    first = Memory.objects.within(namespace).order_by("-id").first() or store_memory(
        namespace, "Reads a lot", tags=("x",)
    )
    made = {"id": "gen_random_uuid()", "content_hash": "sha256(n::text::bytea)", "content": "'Fact ' || n"}
    # A vector of an embedder that has no index of neighbours is stored at once.
    hanging = {"id": "gen_random_uuid()", "memory_id": "m.id", "embedder": "'another'"}
    facts = f"t.memory_id = '{first.id}' AND m.namespace_id = t.namespace_id AND m.content LIKE 'Fact %'"
    with connection.cursor() as cursor:
        copy(cursor, "memory", made, f"generate_series(1, {count}) n", namespace, f"t.id = '{first.id}'")
        for table in ("scoreevent", "memorysource", "posting", "mention", "memorytag", "memoryvector"):
            copy(cursor, table, hanging, "memories_memory m", namespace, facts)
        cursor.execute("ANALYZE")


def copy(cursor: Any, name: str, changed: dict[str, str], source: str, namespace: Namespace, where: str) -> None:
    """Insert rows of a table anew, some columns changed."""
    table = f"memories_{name}"
    cursor.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", [table])
    names = [name for (name,) in cursor.fetchall()]
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(changed.get(name, f't."{name}"') for name in names)
    rows = f"SELECT {values} FROM {table} t, {source} WHERE t.namespace_id = '{namespace.id}' AND {where}"
    cursor.execute(f"INSERT INTO {table} ({columns}) {rows}")
