"""Who or what said it: sources corroborate, repetition does not."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from memories.contracts.json_lines import Line
from memories.models import Memory, MemorySource, Namespace
from memories.models.choices import Role
from memories.transfer.export import export_namespace
from memories.transfer.restore import Restore
from scoring.confidence import repetition
from scoring.policy import WritePolicyParams
from tests.support.access import key_to
from tests.support.rows import store_entity

pytestmark = pytest.mark.django_db
SAILING = {"content": "The harbour office closes at noon", "type": "Fact", "subject": "harbour office"}


def remember_content(agent: Client, /, **body: Any) -> dict[str, Any]:
    answer = agent.post("/api/v1/here/memories/", {**SAILING, **body}, content_type="application/json")
    assert answer.status_code in (200, 201), answer.content
    memory: dict[str, Any] = answer.json()["memory"]
    return memory


def only_memory(agent: Client) -> dict[str, Any]:
    (memory,) = agent.get("/api/v1/here/memories/").json()["results"]
    return dict(memory)


def test_one_user_who_repeats_a_sentence_in_eight_sessions_is_one_source(agent: Client) -> None:
    for session in "abcdefgh":
        remember_content(agent, user="maya", session=session)
    memory = only_memory(agent)
    assert (memory["belief"], memory["corroborations"]) == (5.0, 0)
    # Repetition still counts, in the confidence.
    assert memory["repetitions"] == 7
    history = agent.get(f"/api/v1/here/memories/{memory['id']}/history/").json()["results"]
    assert {event["after"].get("belief", 5.0) for event in history} == {5.0}
    r = float(repetition(float(memory["repetitions"])))  # type: ignore[arg-type]
    policy = WritePolicyParams()
    first, last = history[0]["after"]["confidence"], history[-1]["after"]["confidence"]
    assert last - first == pytest.approx(policy.weight_repetition * r)


def test_nor_does_a_paraphrase_by_the_same_user_corroborate(agent: Client, namespace: Namespace) -> None:
    store_entity(namespace, "Maya", "person")
    for session, content in enumerate(("Maya drinks her coffee black", "Maya takes her coffee black, without sugar")):
        body = {"content": content, "user": "maya", "session": str(session)}
        agent.post("/api/v1/here/memories/", body, content_type="application/json")
    assert set(Memory.objects.values_list("belief", flat=True)) == {5.0}


@pytest.mark.parametrize(
    "said",
    [
        [{"user": "maya"}, {"user": "priya"}, {"user": "ines"}, {"user": "elias"}],
        [{"source": source, "user": "maya", "session": "a"} for source in ("maya", "handbook", "crontab", "a call")],
        [{"agent": agent, "session": "a"} for agent in ("planner", "reader", "writer", "tester")],
    ],
    ids=["users", "documents", "agents"],
)
def test_distinct_sources_corroborate(agent: Client, said: list[dict[str, str]]) -> None:
    for who in said[:3]:
        remember_content(agent, **who)
    assert (only_memory(agent)["belief"], only_memory(agent)["corroborations"]) == (6.0, 2)
    for who in (*said[:3], {**said[0], "session": "another"}):
        remember_content(agent, **who)
    assert only_memory(agent)["corroborations"] == 2
    assert remember_content(agent, **said[3])["corroborations"] == 3


def test_names_that_differ_in_case_or_spaces_are_one_source(agent: Client) -> None:
    for source in ("Arrive handbook", "arrive  Handbook", " ARRIVE HANDBOOK"):
        remember_content(agent, source=source)
    assert only_memory(agent)["belief"] == 5.0


def test_an_unknown_source_counts_once(agent: Client) -> None:
    remember_content(agent, user="maya", session="a")
    for session in "bcd":
        remember_content(agent, session=session)
    assert (only_memory(agent)["corroborations"], only_memory(agent)["repetitions"]) == (1, 3)


def test_enough_sources_protect_a_memory_and_less_do_not(agent: Client) -> None:
    protected = WritePolicyParams().belief_protected
    for number in range(7):
        assert remember_content(agent, source=f"document {number}")["belief"] <= protected
    assert remember_content(agent, source="document 7")["belief"] == 8.5


def test_a_batch_an_import_and_turns_know_the_source(agent: Client, namespace: Namespace) -> None:
    post = {"content_type": "application/json"}
    batch = {"memories": [{**SAILING, "source": "the sign"}, {**SAILING, "source": "the guard"}]}
    assert agent.post("/api/v1/here/memories/batch/", batch, **post).status_code == 200
    line = json.dumps({**SAILING, "source": "the timetable"})
    headers = key_to(namespace, Role.WRITE)
    assert agent.generic("POST", "/api/v1/here/import/", line, "application/x-ndjson", headers=headers).getvalue()
    assert only_memory(agent)["corroborations"] == 2
    turns = [{"role": "user", "text": "I moved to Lund in 2021."}]
    for key, who in enumerate(({"user": "maya"}, {"user": "maya"}, {"user": "maya", "source": "the register"})):
        body = {"session": str(key), "turns": [turns[0] | {"speaker": "Maya"}], **who}
        (moved,) = agent.post("/api/v1/here/turns/", body, **post).json()["memories"]
    assert (moved["memory"]["repetitions"], moved["memory"]["corroborations"]) == (2, 1)


@pytest.mark.parametrize("source", [7, "x" * 201, "a\0"])
def test_a_source_that_is_no_name_is_refused_at_its_place(agent: Client, source: Any) -> None:
    turns = {"session": "a", "turns": [{"role": "user", "text": "Hello"}], "source": source}
    for path, body in (("memories", {**SAILING, "source": source}), ("turns", turns)):
        answer = agent.post(f"/api/v1/here/{path}/", body, content_type="application/json")
        assert (answer.status_code, answer.json()["errors"][0]["at"]) == (400, "source")


def test_sources_survive_an_export_and_those_of_an_older_one_are_named_by_their_session(
    agent: Client, namespace: Namespace
) -> None:
    remember_content(agent, user="maya", session="a")
    remember_content(agent, source="the sign")
    lines = list(export_namespace(namespace, vectors=False))
    older = [line.replace('"source":"maya"', '"source":""') for line in lines]
    assert older != lines
    for slug, exported in (("newer", lines), ("older", older)):
        there = Namespace.objects.create(slug=slug, title=slug)
        restore_lines(there, exported)
        assert set(MemorySource.objects.within(there).values_list("source", flat=True)) == {"maya", "the sign"}
        there_agent = Client(headers=key_to(there, Role.WRITE))
        body = {**SAILING, "user": "maya", "session": "b"}
        answer = there_agent.post(f"/api/v1/{slug}/memories/", body, content_type="application/json").json()
        assert (answer["memory"]["repetitions"], answer["memory"]["corroborations"]) == (2, 1)


def restore_lines(namespace: Namespace, lines: list[str]) -> None:
    restore = Restore(namespace, vectors=False, rows=0)
    restore.store_lines([Line(number, line.encode(), len(line)) for number, line in enumerate(lines[1:], 2)])


def test_a_purged_user_is_no_source_any_more(agent: Client, namespace: Namespace) -> None:
    remember_content(agent, user="priya", session="p")
    remember_content(agent, user="priya", source="maya", session="p")
    remember_content(agent, user="maya")
    assert "maya" in set(MemorySource.objects.values_list("source", flat=True))
    call_command("purge", "here", "--user", "maya", stdout=StringIO())
    assert set(MemorySource.objects.values_list("source", flat=True)) == {"priya"}
    assert only_memory(agent)["user"] == "priya"
