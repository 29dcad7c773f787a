"""An exported namespace is restored to the byte; a truncated or invalid file is reported."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memories.contracts.new_memory import NewMemory
from memories.db.ids import uuid7
from memories.models import (
    Job,
    Memory,
    MemoryTag,
    MemoryVector,
    Namespace,
    TokenStates,
)
from memories.models.choices import JobState, Route, Status
from memories.transfer.export import OMITTED_TABLES, export_namespace, exported_tables, referenced_tables
from memories.transfer.import_file import FileImport
from memories.writing import search_index
from memories.writing.feedback import forget_memory
from memories.writing.lock import lock_namespace
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from tests.support.rows import row
from tests.support.search_index import search_index_rows
from tests.support.transfer import lines_of, run_command, write_lines


def full(slug: str) -> Namespace:
    """A namespace with everything in it: a conversation, writes, chains that point both ways, a row of each table."""
    namespace = Namespace.objects.create(slug=slug, title="Everything", embedder="wordllama-256", redacts=True)
    turns = [NewTurn(role="user", text="I moved to Lund last week."), NewTurn(role="assistant", text="How nice!")]
    ingest(namespace, Conversation(session="talk", user="maya", turns=turns), by="tests", extract=True)
    said = ["Maya likes „Bach“\u2028 and\ttabs", "Maya likes sailing", "Maya likes sailing", "Maya enjoys sailing"]
    remember(namespace, [NewMemory(content=one, session=f"s{at}") for at, one in enumerate(said)], by="tests")
    for table in exported_tables().values():
        row(table, namespace)
    with transaction.atomic():
        lock_namespace(namespace)
        active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, length=0)
        search_index.index_postings(namespace, list(active.values_list("id", flat=True)))
    chain = [row(Memory, namespace, status=Status.ARCHIVED) for _ in range(4)]
    for first, second in ((0, 1), (1, 3), (3, 2)):
        chain[first].status, chain[first].superseded_by_id = Status.SUPERSEDED, chain[second].id
        chain[first].save()
    row(Memory, namespace, status=Status.MERGED, merged_into_id=chain[0].id, metadata={"π": [1.5, 1e-7, None, "\\"]})
    return namespace


def replace_values(line: str, **values: Any) -> str:
    """A line with other values."""
    return json.dumps(json.loads(line) | values)


@pytest.mark.django_db(transaction=True)
def test_a_namespace_is_restored_equal_to_the_letter(tmp_path: Path) -> None:
    here = full("here")
    file = str(tmp_path / "here.jsonl")
    run_command("export_memories", "here", file)
    lines = Path(file).read_bytes().decode().removesuffix("\n").split("\n")
    assert run_command("import_memories", "there", file, "--create", "--batch=97") == (
        f"{len(lines)} lines: {len(lines) - 2} restored.\n"
    )
    there = Namespace.objects.get(slug="there")
    again = lines_of(there)
    assert again[0] == changed_slug(lines[0])
    assert again[1:] == lines[1:]
    assert json.loads(lines[-1]) == {"end": len(lines) - 2}
    assert {json.loads(line)["table"] for line in lines[1:-1]} == set(exported_tables())
    assert search_index_rows(there) == search_index_rows(here)
    assert run_command("import_memories", "there", file).endswith(f"the first {len(lines)} were imported before.\n")
    assert lines_of(there) == again


def changed_slug(header: str) -> str:
    """The header of the same namespace under its new name."""
    assert header.count('"here"') == 1
    return header.replace('"here"', '"there"')


@pytest.mark.django_db
def test_every_table_is_exported_after_those_it_refers_to_or_left_out_for_a_reason() -> None:
    seen: list[Any] = []
    for table in exported_tables().values():
        assert set(referenced_tables(table)) <= {*seen, table}
        seen.append(table)
    assert not {*OMITTED_TABLES} & {*seen}
    assert Memory in seen
    assert MemoryTag in seen


@pytest.mark.django_db
def test_without_its_vectors_a_namespace_is_embedded_again(tmp_path: Path) -> None:
    here = Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")
    said = ["Maya likes sailing", "The ledger runs on PostgreSQL 16"]
    remember(here, [NewMemory(content=one) for one in said], by="tests")
    lines = lines_of(here, vectors=False)
    assert not any('"table":"memoryvector"' in line.replace(" ", "") for line in lines)
    run_command("import_memories", "there", write_lines(tmp_path, lines), "--create")
    there = Namespace.objects.get(slug="there")
    told = ("memory_id", "route", "embedder", "level", "active")
    vectors = [list(MemoryVector.objects.within(one).order_by("memory_id").values_list(*told)) for one in (here, there)]
    assert vectors[0] == vectors[1]
    assert len(vectors[0]) == 2
    assert lines_of(there, vectors=False)[1:] == lines[1:]


@pytest.mark.django_db
def test_without_their_vectors_conversations_are_found_by_every_route_again(tmp_path: Path) -> None:
    here = Namespace.objects.create(slug="here", title="Here", clock=datetime(2026, 3, 2, tzinfo=UTC))
    turns = ("I love the cello.", "Since when?", "Since school. I moved to Berlin last week.", "Welcome!")
    said = [NewTurn(role=role, text=text) for role, text in zip(("user", "assistant") * 2, turns, strict=True)]
    ingest(here, Conversation(session="monday", turns=said, user="maya"), by="tests")
    remember(here, [NewMemory(content="Maya likes sailing", session=name) for name in "ab"], by="tests")
    forget_memory(here, Memory.objects.get(content="Maya likes sailing").id, by="tests")
    run_command("import_memories", "there", write_lines(tmp_path, lines_of(here, vectors=False)), "--create")
    there = Namespace.objects.get(slug="there")

    def vectors_and_states(namespace: Namespace) -> tuple[Any, Any]:
        rows = MemoryVector.objects.within(namespace).order_by("memory_id", "route")
        states = TokenStates.objects.within(namespace).order_by("memory_id").values_list("memory_id", "tokens")
        return {(row.memory_id, row.route, row.level, row.active): row.vector for row in rows}, list(states)

    (old, states), (new, again) = vectors_and_states(here), vectors_and_states(there)
    assert old.keys() == new.keys()
    assert {route for _, route, *_ in old} >= {Route.FULL, Route.USER, Route.ASSISTANT, Route.NEXT_USER, Route.CONTEXT}
    assert states == again
    for key, vector in old.items():
        assert np.asarray(vector) == pytest.approx(np.asarray(new[key]), abs=1e-5)


@pytest.mark.django_db
def test_an_export_runs_one_sql_query_for_each_table_whatever_is_in_it() -> None:
    here = Namespace.objects.create(slug="here", title="Here")
    with CaptureQueriesContext(connection) as asked:
        assert len(lines_of(here)) == 2
    assert len(asked) == len(exported_tables()) + 1


@pytest.mark.django_db(transaction=True)
def test_an_export_is_one_snapshot() -> None:
    here = Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")
    row(Memory, here)
    lines = export_namespace(here)
    next(lines)
    # The export has begun, and another connection goes on writing.
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memories_memorytag (namespace_id, tag, memory_id) SELECT namespace_id, 'late', id"
                " FROM memories_memory WHERE namespace_id = %s",
                [here.id],
            )
    finally:
        other.close()
    assert '"late"' not in "".join(lines)
    assert '"late"' in "".join(lines_of(here))


@pytest.mark.django_db
def test_a_namespace_that_holds_anything_is_not_restored_into(tmp_path: Path) -> None:
    here = Namespace.objects.create(slug="here", title="Here")
    row(Memory, here)
    with pytest.raises(CommandError, match=r"into an empty namespace, and here has rows of memory"):
        run_command("import_memories", "here", write_lines(tmp_path, lines_of(here)))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("place", "values", "complaint"),
    [
        (0, {"recall": 2}, r"line 1: recall must be 1; got 2"),
        (0, {"namespace": {"mode": "dreamy"}}, r"line 1: mode: .*dreamy"),
        (0, {"namespace": {"embedder": "none"}}, r"line 1: embedder must be one of all-MiniLM-L6-v2"),
        (0, {"namespace": {"secret": 1}}, r"line 1: namespace must hold slug, title"),
        (0, {"namespace": {"text_config": "klingon"}}, r"line 1: text_config must be .*english.*; got \"klingon\""),
        (2, {"table": "apikey"}, r"line 3: table must be one of .*memory.*; got \"apikey\""),
        (2, {"colour": "red"}, r"line 3: colour is no column of memory; known are id, type"),
        (2, {"belief": 11}, r"line 3: .*memory_belief_range"),
        (2, {"belief": "high"}, r"line 3: .*high"),
        (2, {"created_at": "yesterday"}, r"line 3: .*yesterday"),
        (2, {"content_hash": "*"}, r"line 3: "),
        (2, {"content": "a\0b"}, r"line 3: content: must not hold the character U\+0000"),
        (2, {"merged_into_id": str(uuid7())}, r"line 3: .*memory_merged_into_fk"),
        (-1, {"end": 7}, r"line 5: end must be 3, the number of rows before it; got 7"),
    ],
)
def test_a_line_that_cannot_be_restored_is_named_and_nothing_of_its_batch_is_stored(
    tmp_path: Path, place: int, values: dict[str, Any], complaint: str
) -> None:
    here = Namespace.objects.create(slug="here", title="Here")
    for _ in range(3):
        row(Memory, here, status=Status.ARCHIVED)
    lines = lines_of(here)
    lines[place] = replace_values(lines[place], **values)
    with pytest.raises(CommandError, match=complaint):
        run_command("import_memories", "there", write_lines(tmp_path, lines), "--create")
    there = Namespace.objects.get(slug="there")
    assert not Memory.objects.within(there).exists()
    assert Job.objects.within(there).get().state == JobState.FAILED
    run_command("import_memories", "there", write_lines(tmp_path, lines_of(here)))
    assert lines_of(there)[1:] == lines_of(here)[1:]


@pytest.mark.django_db
def test_an_export_that_was_cut_off_is_not_taken_for_whole_and_goes_on_when_it_is(tmp_path: Path) -> None:
    here = Namespace.objects.create(slug="here", title="Here")
    for _ in range(3):
        row(Memory, here, status=Status.ARCHIVED)
    lines = lines_of(here)
    with pytest.raises(CommandError, match="The export is cut off after line 3: its last line is missing"):
        run_command("import_memories", "there", write_lines(tmp_path, lines[:3]), "--create")
    out = run_command("import_memories", "there", write_lines(tmp_path, lines))
    assert out == "5 lines: 3 restored; the first 3 were imported before.\n"
    assert lines_of(Namespace.objects.get(slug="there"))[1:] == lines[1:]


@pytest.mark.django_db
def test_a_restore_that_stopped_anywhere_goes_on_there(tmp_path: Path) -> None:
    here = Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")
    remember(here, [NewMemory(content=f"Maya saw ship {n}", tags=("x",)) for n in range(6)], by="tests")
    lines = lines_of(here)
    file = write_lines(tmp_path, lines)
    there = Namespace.objects.create(slug="there", title="There")
    for _ in range(len(lines) // 5):
        with open(file, "rb") as stream:
            # One batch, and then the process is gone.
            next(FileImport.begin(there, "lines.jsonl", stream, restart=False, by="tests").run(5, lambda told: None))
    assert run_command("import_memories", "there", file).startswith(f"{len(lines)} lines: {len(lines) - 2} restored")
    assert lines_of(there)[1:] == lines[1:]
    assert search_index_rows(there) == search_index_rows(here)


@pytest.mark.django_db
def test_an_export_is_written_to_a_new_file_for_its_owner_alone(tmp_path: Path) -> None:
    Namespace.objects.create(slug="here", title="Here")
    file = tmp_path / "here.jsonl"
    run_command("export_memories", "here", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert run_command("export_memories", "here") == file.read_text()
    with pytest.raises(CommandError, match=r"here.jsonl cannot be written: File exists"):
        run_command("export_memories", "here", str(file))
    with pytest.raises(CommandError, match=r"There is no namespace there: choose an existing one \(here\)"):
        run_command("export_memories", "there")
