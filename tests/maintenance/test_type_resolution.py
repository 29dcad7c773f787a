"""Memories of uncertain type, resolved by a later reflection."""

import json
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory, Namespace
from memories.models.choices import Role
from scoring.dedup import content_hash
from scoring.policy import WritePolicyParams
from tests.support.access import member_of
from tests.support.agent import Agent
from tests.support.chat_server import chat_server

pytestmark = pytest.mark.django_db
POLICY = WritePolicyParams()


@pytest.fixture
def agent() -> Agent:
    return Agent(Namespace.objects.create(slug="here", title="Here"))


@pytest.mark.parametrize(
    ("content", "body", "type"),
    [
        ("Maya really likes sailing", {"subject": "Maya"}, "Preference"),
        ("Prefers tea to coffee", {}, "Preference"),
        ("Maya's favourite colour is green", {"subject": "Maya"}, "Preference"),
        ("Maya lives in Gothenburg", {}, "Fact"),
        ("Maya is allergic to nuts", {"subject": "Maya"}, "Fact"),
        ("Maya is married to Elias", {}, "Relation"),
        ("Maya visited the museum", {"subject": "Maya"}, "Event"),
        ("Tern is a billing service", {}, "Entity"),
        ("Nothing green on the plate", {"predicate": "dislikes"}, "Preference"),
    ],
)
def test_a_reflection_resolves_the_type_and_weighs_the_memory_by_its_prior(
    agent: Agent, content: str, body: dict[str, str], type: str
) -> None:
    stored = agent.remember(content, **{"type": "Opinion", **body})["memory"]
    assert (stored["type"], "type_uncertain" in stored["tags"]) == ("Fact", True)
    result = agent.run("reflect")["types"]
    assert (result["looked_at"], result["resolved"]) == (1, 1)
    assert result["examples"] == [{"memory": stored["id"], "type": type, "by": "rules"}]
    memory = agent.memory(stored["id"])
    assert (memory["type"], "type_uncertain" in memory["tags"]) == (type, False)
    gain = POLICY.weight_prior * (float(POLICY[f"prior_{type.lower()}"].value) - POLICY.prior_unknown)
    assert memory["confidence"] - stored["confidence"] == pytest.approx(gain)
    event = agent.get(f"memories/{stored['id']}/history/")["results"][-1]
    assert (event["cause"], event["parts"]["reason"]) == ("type resolved", "by rules")
    assert (event["before"]["type"], event["after"]["type"]) == ("uncertain", type)
    assert event["after"].get("confidence", stored["confidence"]) == memory["confidence"]
    assert agent.run("reflect")["types"]["looked_at"] == 0


@pytest.mark.parametrize("content", ["Hums while parking", "The lamp over the desk", "Maya, of all people"])
def test_what_the_rules_do_not_decide_stays_uncertain(agent: Agent, content: str) -> None:
    id = agent.remember(content, type="Habit")["memory"]["id"]
    result = agent.run("reflect")["types"]
    assert (result["looked_at"], result["resolved"]) == (1, 0)
    assert "type_uncertain" in agent.memory(id)["tags"]


def test_a_resolved_memory_is_found_by_its_type(agent: Agent) -> None:
    agent.remember("Maya really likes sailing", type="Opinion")

    def contents() -> list[str]:
        answer = agent.retrieve("What does Maya like?", system="recall", types=["Preference"])
        return [result["content"] for result in answer["results"]]

    assert contents() == []
    agent.run("reflect")
    assert contents() == ["Maya really likes sailing"]


def test_a_memory_that_thereby_says_what_another_says_merges_with_it(agent: Agent) -> None:
    content = "Maya really likes sailing"
    uncertain = agent.remember(content, type="Opinion", source="Elias")["memory"]["id"]
    Memory.objects.filter(id=uncertain).update(content_hash=b"0" * 32)
    certain = agent.remember("Keeps bees", type="Preference", source="Priya")["memory"]["id"]
    assert certain != uncertain
    same = content_hash("Preference", "", "", content)
    Memory.objects.filter(id=certain).update(content=content, content_hash=same)
    assert agent.run("reflect")["types"]["merged"] == 1
    assert agent.memory(certain)["merged_into_id"] == uncertain
    assert agent.memory(uncertain)["repetitions"] == 1


def test_a_configured_model_decides_first(agent: Agent, settings: Any) -> None:
    item = {
        "turn": 1,
        "quote": "Hums while parking",
        "content": "Hums while parking",
        "type": "Preference",
        "level": "direct",
        "subject": "",
        "predicate": "",
        "object": "",
    }
    id = agent.remember("Hums while parking", type="Habit")["memory"]["id"]
    with chat_server() as server:
        server.reply = lambda material: json.dumps({"memories": [item]})
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{server.server_port}/v1"
        settings.RECALL_EXTRACTOR = "openai/type-reader"
        result = agent.run("reflect")["types"]
    assert result["examples"] == [{"memory": id, "type": "Preference", "by": "openai/type-reader"}]
    assert agent.memory(id)["type"] == "Preference"


def test_the_pages_show_what_is_uncertain_and_what_was_resolved(agent: Agent) -> None:
    id = agent.remember("Maya really likes sailing", type="Opinion")["memory"]["id"]
    member: Client = member_of(agent.namespace, Role.WRITE)
    assert "1 memory of uncertain type" in member.get("/here/health/").content.decode()
    agent.run("reflect")
    assert "of uncertain type" not in member.get("/here/health/").content.decode()
    page = member.get(f"/here/memories/{id}/").content.decode()
    assert "Type resolved" in page
    assert "type uncertain → Preference" in page
