"""Contradictions that the rules of 0.2.0 stored, seen by the agent that asks before and after a reflection."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.utils.html import strip_tags

from memories.models import Job, MemoryEdge, Namespace, ScoreEvent
from memories.models.choices import EdgeKind, JobKind, JobState, Status
from memories.writing.lock import lock_memories
from tests.support.access import member_of
from tests.support.agent import Agent, Json
from tests.support.chat_server import chat_server
from tests.support.reflection import real_now
from tests.support.rows import review_item

pytestmark = pytest.mark.django_db

SERVERS = ("Server 42 runs Debian", "Server 43 runs Debian")
HOMES = ("Maya lives in Lyon", "Maya lives in Porto")
WITHDRAWN = "both may hold, by the rules as they are now"


@pytest.fixture
def agent(namespace: Namespace) -> Agent:
    return Agent(namespace)


def store_contradiction(agent: Agent, *, by: str = "key 1", at: datetime | None = None) -> tuple[str, str]:
    """Two servers, and what 0.2.0 wrote when the second arrived, or at another time: an edge and two events."""
    earlier, later = (agent.remember(text, session=text)["memory"]["id"] for text in SERVERS)
    at = at or ScoreEvent.objects.get(memory_id=later, cause="stored").at
    with lock_memories(agent.namespace, UUID(earlier), UUID(later), by=by) as locked:
        MemoryEdge.objects.create(
            namespace=agent.namespace,
            source_id=later,
            target_id=earlier,
            kind=EdgeKind.CONTRADICTION,
            cosine=0.97,
            created_at=at,
        )
        first, second = locked.known.values()
        for state, opponent in ((first, second), (second, first)):
            state.contradict()
            state.record(at, "contradicted", by, opponent.memory.id)
    return earlier, later


def retrieve(agent: Agent, query: str = "Which server runs Debian?", **body: Any) -> tuple[Json, list[Json], set[str]]:
    """Whether each content is outdated, the results, and the contents of the context."""
    found = agent.retrieve(query, system="recall", params={"confidence_gate": False}, **body)
    context = {entry["content"] for group in found["context"].values() for entry in group}
    return {result["content"]: result["outdated"] for result in found["results"]}, found["results"], context


def beliefs(agent: Agent, ids: tuple[str, str]) -> list[tuple[float, int]]:
    memories = map(agent.memory, ids)
    return [(memory["belief"], memory["contradictions"]) for memory in memories]


def last_events(agent: Agent, ids: tuple[str, str]) -> list[Json]:
    return [agent.get(f"memories/{id}/history/")["results"][-1] for id in ids]


def test_a_pair_that_no_longer_contradicts_comes_back_after_a_reflection(agent: Agent) -> None:
    ids = store_contradiction(agent)
    outdated, results, context = retrieve(agent)
    assert (outdated, context) == (dict(zip(SERVERS, (True, False), strict=True)), {SERVERS[1]})
    assert beliefs(agent, ids) == [(3.5, 1), (3.5, 1)]
    before = real_now()
    withdrawal = agent.run("reflect")["withdrawal"]
    assert (withdrawal["looked_at"], withdrawal["withdrawn"]) == (1, 1)
    assert withdrawal["examples"] == [{"memories": [ids[1], ids[0]]}]
    outdated, results, context = retrieve(agent)
    assert (outdated, context) == (dict.fromkeys(SERVERS, False), set(SERVERS))
    assert not any(result.get("conflicts_with") for result in results)
    assert beliefs(agent, ids) == [(5.0, 0), (5.0, 0)]
    assert agent.get(f"memories/{ids[0]}/edges/")["results"] == []
    for event, other in zip(last_events(agent, ids), ids[::-1], strict=True):
        assert (event["cause"], event["other"]) == ("contradiction withdrawn", other)
        assert (event["before"]["belief"], event["after"]["belief"]) == (3.5, 5.0)
        assert (event["parts"]["value"], event["parts"]["reason"]) == (5.0, WITHDRAWN)
    page = member_of(agent.namespace).get(f"/{agent.namespace.slug}/memories/{ids[0]}/").content.decode()
    history = " ".join(strip_tags(page).split())
    assert f"Contradiction withdrawn: {SERVERS[1]} (“{WITHDRAWN}”)" in history
    # The past stays as it was.
    outdated, results, context = retrieve(agent, as_of=before.isoformat())
    assert (outdated, context) == (dict(zip(SERVERS, (True, False), strict=True)), {SERVERS[1]})
    assert {tuple(result["conflicts_with"]) for result in results} == {(ids[0],), (ids[1],)}


def test_a_second_reflection_finds_nothing_to_withdraw_or_to_contradict(agent: Agent) -> None:
    ids = store_contradiction(agent)
    agent.run("reflect")
    events = ScoreEvent.objects.count()
    again = agent.run("reflect", full=True)
    assert (again["withdrawal"]["withdrawn"], again["contradictions"]["contradictions"]) == (0, 0)
    assert (ScoreEvent.objects.count(), beliefs(agent, ids)) == (events, [(5.0, 0), (5.0, 0)])


def test_a_true_contradiction_stays(agent: Agent) -> None:
    triple = {"subject": "Maya", "predicate": "lives_in"}
    for text in HOMES:
        outcome = agent.remember(text, object=text.split()[-1], session=text, **triple)
    assert outcome["reason"] == "another value"
    assert agent.run("reflect")["withdrawal"] == {"looked_at": 1, "withdrawn": 0}
    outdated, _, context = retrieve(agent, "Where does Maya live?")
    assert (outdated, context) == (dict(zip(HOMES, (True, False), strict=True)), {HOMES[1]})


def test_what_a_person_confirms_stays_and_its_history_says_who(agent: Agent) -> None:
    ids = store_contradiction(agent)
    for _ in range(2):
        assert not agent.act(ids[0], "contradict", memory=ids[1], reason="I renamed it")["changed"]
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == 0
    assert retrieve(agent)[0][SERVERS[0]]
    for id in ids:
        causes = [event["cause"] for event in agent.get(f"memories/{id}/history/")["results"]]
        assert causes == ["stored", "contradicted", "contradiction confirmed"]
    assert {event["parts"]["reason"] for event in last_events(agent, ids)} == {"I renamed it"}


@pytest.mark.parametrize("reason", ["", "I renamed it"])
def test_what_a_person_stated_stays(agent: Agent, reason: str) -> None:
    earlier, later = (agent.remember(text, session=text)["memory"]["id"] for text in SERVERS)
    assert agent.act(later, "contradict", memory=earlier, reason=reason)["changed"]
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == 0
    assert retrieve(agent)[0][SERVERS[0]]


def test_what_a_reviewer_decided_stays(agent: Agent) -> None:
    earlier, later = (agent.remember(text, session=text)["memory"]["id"] for text in SERVERS)
    one, other = (ScoreEvent.objects.get(memory_id=id, cause="stored").memory for id in (earlier, later))
    review = review_item(agent.namespace, one, other)
    agent.post(f"reviews/{review.id}/decide/", verdict="contradiction")
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == 0
    assert retrieve(agent)[0][SERVERS[0]]


@pytest.mark.parametrize("model", ["", "openai/judge-of-servers"])
def test_what_a_former_reflection_found_is_withdrawn_unless_a_language_model_may_have_judged_it(
    agent: Agent, settings: Any, model: str
) -> None:
    began = real_now()
    Job.objects.create(
        namespace=agent.namespace,
        kind=JobKind.REFLECT,
        by="schedule",
        state=JobState.DONE,
        created_at=began,
        started_at=began,
        finished_at=real_now(),
    )
    store_contradiction(agent, by="schedule", at=began)
    if model:
        settings.RECALL_JUDGE = model
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == int(not model)


def test_what_a_language_model_finds_names_it_and_stays_under_the_rules(agent: Agent, settings: Any) -> None:
    for name in ("Grind", "Slottet"):
        agent.post("entities/", name=name)
    texts = "Grind keeps 4 connections to Slottet", "For Slottet, Grind has a pool of ten"
    ids = tuple(agent.remember(text, session=text)["memory"]["id"] for text in texts)
    with chat_server() as server:
        server.reply = lambda asked: json.dumps({"verdict": "contradiction"})
        settings.RECALL_JUDGE, settings.OPENAI_BASE_URL = "openai/pools", f"http://127.0.0.1:{server.server_port}/v1"
        assert agent.run("reflect")["contradictions"]["contradictions"] == 1
    assert {event["parts"]["reason"] for event in last_events(agent, (ids[0], ids[1]))} == {"judged by openai/pools"}
    settings.RECALL_JUDGE = "rules"
    assert agent.run("reflect", full=True)["withdrawal"] == {"looked_at": 1, "withdrawn": 0}


def test_under_a_fixed_clock_nothing_tells_a_rule_from_a_person_and_the_contradiction_stays(agent: Agent) -> None:
    Namespace.objects.filter(id=agent.namespace.id).update(clock=real_now())
    agent.namespace.refresh_from_db()
    store_contradiction(agent)
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == 0


def test_a_contradiction_of_a_memory_that_left_is_not_judged_again(agent: Agent) -> None:
    ids = store_contradiction(agent)
    agent.act(ids[1], "correct", content="Server 43 runs Alpine")
    assert agent.memory(ids[1])["status"] == Status.SUPERSEDED
    assert agent.run("reflect")["withdrawal"]["looked_at"] == 0


def test_a_contradiction_that_was_withdrawn_can_be_stated_again(agent: Agent) -> None:
    ids = store_contradiction(agent)
    agent.run("reflect")
    between = real_now()
    assert agent.act(ids[0], "contradict", memory=ids[1])["changed"]
    assert agent.run("reflect")["withdrawal"]["withdrawn"] == 0
    assert retrieve(agent)[0][SERVERS[0]]
    assert not retrieve(agent, as_of=between.isoformat())[0][SERVERS[0]]


def test_a_contradiction_that_somebody_deleted_is_still_seen_in_the_past(agent: Agent) -> None:
    ids = store_contradiction(agent)
    (edge,) = agent.get(f"memories/{ids[0]}/edges/")["results"]
    before = real_now()
    assert agent.client.delete(agent.url(f"edges/{edge['id']}/")).status_code == 204
    assert not retrieve(agent)[0][SERVERS[0]]
    assert retrieve(agent, as_of=before.isoformat())[0][SERVERS[0]]
    boosts = [
        [result["explanation"] for result in agent.retrieve("Server", system="memorysync", as_of=time)["results"]]
        for time in (before.isoformat(), real_now().isoformat())
    ]
    assert ["contradiction" in json.dumps(trees) for trees in boosts] == [True, False]
