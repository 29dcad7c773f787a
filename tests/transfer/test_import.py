"""Importing memories from lines: every line has its outcome, and an interrupted import resumes."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction

from memories.contracts.json_lines import MAX_LINE_BYTES
from memories.contracts.new_memory import NewMemory
from memories.management.progress_bar import ProgressBar
from memories.models import Job, Memory, Namespace, NamespaceStatistics, ScoreEvent
from memories.models.choices import JobKind, JobState, Status
from memories.providers.judge import Pair
from memories.providers.rules_judge import RulesJudge
from memories.transfer.checkpoint import ImportStoppedError
from memories.transfer.import_file import FileImport
from memories.web.memory_body import validate_memories
from memories.writing.remember import remember
from tests.support.transfer import fast_namespace, write_lines

ROOT = Path(__file__).parents[2]
SAID = [
    {"content": "Maya likes sailing", "session": "s1", "source_level": "direct"},
    {"content": "The ledger runs on PostgreSQL 16", "tags": ["db"], "created_at": "2026-03-02T12:00:00Z"},
    {"content": "Maya likes sailing", "session": "s2"},
    {"content": "Maya likes sailing", "session": "s2"},
    {"content": "Penguins juggle in the harbour office", "evidence": "Lunch is served at noon."},
]


def run(*arguments: str) -> tuple[str, str]:
    """Run the import and give what it says."""
    out, err = io.StringIO(), io.StringIO()
    call_command("import_memories", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def state(namespace: Namespace) -> Counter[Any]:
    """What a namespace holds, apart from ids and the moments at which it was stored."""
    told = ("content", "status", "reason", "repetitions", "corroborations", "contradictions", "belief", "confidence")
    return Counter(Memory.objects.within(namespace).values_list(*told))


@pytest.mark.django_db
def test_each_line_is_remembered_as_if_it_had_been_posted(tmp_path: Path) -> None:
    here = fast_namespace()
    out, _ = run("here", write_lines(tmp_path, SAID))
    assert out == "5 lines: 2 stored, 2 merged, 1 rejected.\n"
    sailing, ledger = Memory.objects.within(here).filter(status=Status.ACTIVE).order_by("-repetitions")
    assert (sailing.content, sailing.repetitions) == ("Maya likes sailing", 1)
    assert ledger.created_at.isoformat() == "2026-03-02T12:00:00+00:00"
    assert ledger.tag_names == ["db", "type_uncertain"]
    assert set(ScoreEvent.objects.within(here).values_list("by", flat=True)) == {"import_memories"}


@pytest.mark.django_db
def test_a_wrong_line_is_reported_with_its_number_and_place_and_holds_up_nobody(tmp_path: Path) -> None:
    here = fast_namespace()
    file = write_lines(
        tmp_path,
        [
            SAID[0],
            '{"content": "half',
            "",
            {"content": "x", "importance": 2},
            {"text": "x"},
            json.dumps({"content": "y" * MAX_LINE_BYTES}),
            '{"content": "a\\u0000b"}',
            "[1]",
            SAID[1],
        ],
    )
    with pytest.raises(CommandError, match=r"^6 lines were refused\.$"):
        run("here", file, "--errors", str(tmp_path / "wrong"))
    told = (tmp_path / "wrong").read_text().splitlines()
    assert told[0] == "line 2: body: must be JSON; at column 13: Unterminated string starting at"
    assert told[1] == "line 4: importance: must be at most 1; got 2.0"
    assert told[2] == "line 5: content: is required"
    assert told[3].startswith("line 5: text: is not a known field; known are content, type,")
    assert told[4] == f"line 6: body: must have at most {MAX_LINE_BYTES} bytes; got {MAX_LINE_BYTES + 15}"
    assert told[5] == "line 7: content: must not hold the character U+0000; got one at position 1"
    assert told[6] == "line 8: body: must be an object; got [1]"
    assert len(told) == 7
    assert Memory.objects.within(here).count() == 2


@pytest.mark.django_db
def test_wrong_lines_are_printed_where_no_file_is_named(tmp_path: Path) -> None:
    fast_namespace()
    err = io.StringIO()
    with pytest.raises(CommandError, match="1 lines were refused"):
        call_command("import_memories", "here", write_lines(tmp_path, [{}]), stdout=io.StringIO(), stderr=err)
    assert err.getvalue().startswith("line 1: content: is required\n")


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_while_a_judge_over_the_network_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, oracle = Namespace.objects.create(slug="here", title="here"), Oracle()
    for module in ("decide", "prepare", "remember"):
        monkeypatch.setattr(f"memories.writing.{module}.judge", lambda name: oracle)
    out, _ = run("here", write_lines(tmp_path, [{"content": text, "session": text} for text in COFFEE]), "--batch", "1")
    assert out == "3 lines: 2 stored, 1 merged.\n"
    assert (oracle.asked, oracle.held) == ([(COFFEE[1], COFFEE[0])], [False])
    # Under one key all of a batch is one transaction.
    monkeypatch.setattr("memories.writing.remember.BATCH_SIZE", 1)
    there, locked = Namespace.objects.create(slug="there", title="there"), []
    monkeypatch.setattr(oracle, "same", lambda pairs: locked.append(not can_write(there)) or [True] * len(pairs))
    with transaction.atomic():
        remember(there, [NewMemory(content=text, session=text) for text in COFFEE], by="tests")
    assert locked == [False]
    assert Memory.objects.within(here).count() == Memory.objects.within(there).count() == 3


COFFEE = ("Maya drinks her coffee black", "Maya takes her coffee black, without sugar", "The ledger runs on PostgreSQL")


class Oracle(RulesJudge):
    """A judge over the network, that notes whether it was asked while a transaction was open."""

    remote = True

    def __init__(self) -> None:
        self.asked: list[Pair] = []
        self.held: list[bool] = []

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        self.asked += pairs
        if pairs:
            self.held.append(connection.in_atomic_block)
        return [True] * len(pairs)


def can_write(namespace: Namespace) -> bool:
    """Whether somebody else gets the namespace's lock at once."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(lock_free, namespace).result()


def lock_free(namespace: Namespace) -> bool:
    try:
        with transaction.atomic():
            list(NamespaceStatistics.objects.select_for_update(nowait=True).filter(namespace=namespace))
        return True
    except OperationalError:
        return False
    finally:
        connection.close()


@pytest.mark.django_db
def test_a_dry_run_tells_the_same_outcomes_and_stores_nothing(tmp_path: Path) -> None:
    here = fast_namespace()
    out, _ = run("here", write_lines(tmp_path, SAID), "--dry-run", "--batch", "1")
    assert out == "5 lines: 2 stored, 2 merged, 1 rejected; nothing is stored.\n"
    assert not Memory.objects.within(here).exists()
    assert not Job.objects.within(here).exists()


@pytest.mark.django_db
def test_a_file_is_imported_once_and_what_was_added_to_it_later_too(tmp_path: Path) -> None:
    here = fast_namespace()
    run("here", write_lines(tmp_path, SAID[:3]))
    before = state(here)
    assert run("here", write_lines(tmp_path, SAID[:3]))[0] == (
        "3 lines: 2 stored, 1 merged; the first 3 were imported before.\n"
    )
    assert state(here) == before
    out, _ = run("here", write_lines(tmp_path, SAID))
    assert out == "5 lines: 2 stored, 2 merged, 1 rejected; the first 3 were imported before.\n"
    job = Job.objects.within(here).get()
    assert (job.kind, job.state, job.done, job.attempts) == (JobKind.IMPORT, JobState.DONE, 5, 3)


@pytest.mark.django_db
def test_a_file_can_be_imported_from_its_first_line_again(tmp_path: Path) -> None:
    here = fast_namespace()
    run("here", write_lines(tmp_path, SAID[:2]))
    out, _ = run("here", write_lines(tmp_path, SAID[:2]), "--restart")
    assert out == "2 lines: 2 merged.\n"
    assert Memory.objects.within(here).count() == 2


@pytest.mark.django_db
def test_another_file_of_the_same_name_is_another_import(tmp_path: Path) -> None:
    here = fast_namespace()
    run("here", write_lines(tmp_path, SAID[:2]))
    assert run("here", write_lines(tmp_path, SAID[4:]))[0] == "1 lines: 1 rejected.\n"
    assert Job.objects.within(here).count() == 2


@pytest.mark.django_db
def test_an_unfinished_import_of_a_file_that_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    here = fast_namespace()
    run("here", write_lines(tmp_path, SAID[:2]))
    Job.objects.within(here).update(state=JobState.RUNNING)
    with pytest.raises(CommandError, match=r"first 2 lines of lines.jsonl .*have changed since.*--restart"):
        run("here", write_lines(tmp_path, SAID[1:]))


@pytest.mark.django_db
def test_of_two_who_import_a_file_at_once_one_stops(tmp_path: Path) -> None:
    here = fast_namespace()
    with open(write_lines(tmp_path, SAID), "rb") as one, open(write_lines(tmp_path, SAID), "rb") as other:
        first, second = (
            FileImport.begin(here, "lines.jsonl", stream, restart=False, by="tests", validate=validate_memories)
            for stream in (one, other)
        )
        next(first.run(2, lambda told: None))
        with pytest.raises(ImportStoppedError, match="Another process is importing this file"):
            next(second.run(2, lambda told: None))
    assert Memory.objects.within(here).count() == 2
    assert Job.objects.within(here).get().state == JobState.RUNNING


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["there", "x"], r"There is no namespace there: choose an existing one \(here\) or pass --create"),
        (["here", "nowhere/x.jsonl"], "nowhere/x.jsonl cannot be read: No such file or directory"),
        (["here", "x", "--batch=0"], "whole number from 1; got '0'"),
        (["here", "x", "--batch=2001"], "whole number from 1 to 2000; got '2001'"),
    ],
)
def test_what_cannot_be_imported_is_refused(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast_namespace()
    (tmp_path / "x").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=complaint):
        run(*arguments)


def test_progress_is_a_bar_on_a_terminal_and_a_line_now_and_then_elsewhere() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    began = time.monotonic() - 10
    for out, told in ((io.StringIO(), ""), (Terminal(), "\r\x1b[K[" + "█" * 12 + "·" * 12 + "] ")):
        ProgressBar(out, 1000, began=began, reported=began).update(50, 500, {"stored": 40, "merged": 10})
        assert out.getvalue().rstrip("\n") == f"{told}50 lines, 5 per second, 40 stored, 10 merged, 0:10 left"


class Process:
    """The command in a process of its own, on the tests' database."""

    def __init__(self, *arguments: str, stdin: Any = None) -> None:
        at = connection.settings_dict
        place = f"host={quote(str(at['HOST']), safe='')}&port={at['PORT'] or 5432}"
        user = quote(f"{at['USER']}:{at['PASSWORD']}" if at["PASSWORD"] else str(at["USER"]), safe=":")
        url = f"postgres://{user}@/{at['NAME']}?{place}"
        command = [sys.executable, "manage.py", "import_memories", *arguments]
        given = os.environ | {"DATABASE_URL": url}
        self.process = subprocess.Popen(command, cwd=ROOT, env=given, stdin=stdin, stdout=subprocess.PIPE)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def end(self) -> str:
        """Wait for its end and give what it says."""
        out, _ = self.process.communicate(timeout=120)
        return out.decode()


def lines_done(namespace: Namespace) -> int:
    """How many lines are settled."""
    return Job.objects.within(namespace).values_list("done", flat=True).first() or 0


def killed_again_and_again(namespace: Namespace, times: int, start: Any) -> str:
    """Kill the import in the middle of a batch, some times; let it end then."""
    for _ in range(times):
        before, process = lines_done(namespace), start()
        while lines_done(namespace) < before + 40:
            assert process.process.poll() is None
            time.sleep(0.01)
        process.kill()
    out: str = start().end()
    return out


@pytest.mark.django_db(transaction=True)
def test_an_import_killed_again_and_again_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    names, verbs = ["Maya", "Tomas", "Ines", "Priya", "Omar"], ["sold", "painted", "lost", "mended", "measured", "hid"]
    things = ["a kayak", "the ledger", "two violins", "her passport", "a greenhouse", "the compiler", "some figs"]
    said = [
        {"content": f"{names[n % 5]} {verbs[n % 6]} {things[n % 7]}", "session": f"s{n // 9}"}
        for n in chain(range(210), range(0, 210, 3))
    ]
    file = write_lines(tmp_path, said)
    whole, broken, piped = fast_namespace("whole"), fast_namespace("broken"), fast_namespace("piped")
    run("whole", file, "--batch=14")
    out = killed_again_and_again(broken, 2, lambda: Process("broken", file, "--batch=14"))
    assert out.startswith("280 lines: ")
    assert "were imported before" in out
    assert state(broken) == state(whole)
    assert statistics(broken) == statistics(whole)
    assert Job.objects.within(broken).get().attempts == 3

    def through_a_pipe() -> Process:
        with open(file, "rb") as lines, subprocess.Popen(["cat"], stdin=lines, stdout=subprocess.PIPE) as cat:
            return Process("piped", "-", "--batch=14", stdin=cat.stdout)

    killed_again_and_again(piped, 1, through_a_pipe)
    assert state(piped) == state(whole)


def statistics(namespace: Namespace) -> Any:
    """How many memories are found by their words, and their length."""
    return NamespaceStatistics.objects.within(namespace).values_list("documents", "total_length").get()
