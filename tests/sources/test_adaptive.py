"""Source 002: evidence for and against a memory, and what it does to retrieval, step by step over REST."""

import math
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

import pytest

from memories.models import Memory
from tests.support.agent import Agent, Json, by_content, value_of
from tests.support.planted_vectors import plant_vector, unit_vector, vector_at_cosine
from tests.support.retrieval_world import NOW

pytestmark = pytest.mark.django_db

FACT = "Keeps a lighthouse on the northern coast"
OTHERS = (
    "Bakes bread on Sundays",
    "Sails to Gotland in July",
    "Owns two goats",
    "Paints the harbour crane",
    "Plays the accordion",
    "Mends clocks",
    "Teaches chess",
)


def publish_policy(agent: Agent, **params: float) -> None:
    version = agent.post("policies/", name="tests", params=params)
    agent.post(f"policies/{version['id']}/publish/")


def state_again(agent: Agent, sources: Iterable[str]) -> list[tuple[float, int]]:
    """State the same from each source; belief and count of corroborations after each."""
    said = [agent.remember(FACT, source=source)["memory"] for source in sources]
    return [(memory["belief"], memory["corroborations"]) for memory in said]


def contradict(agent: Agent, id: str, times: int) -> list[float]:
    """Contradict a memory by as many others; its belief after each."""
    beliefs = []
    for number in range(times):
        other = agent.remember(OTHERS[number], session=f"other {number}")["memory"]["id"]
        beliefs.append(agent.act(id, "contradict", memory=other)["memory"]["belief"])
    return beliefs


def test_a_new_memory_is_believed_at_the_middle_of_the_scale(agent: Agent) -> None:
    memory = agent.remember(FACT)["memory"]
    assert (memory["belief"], memory["corroborations"], memory["contradictions"]) == (5.0, 0, 0)


def test_each_corroborating_source_adds_one_half_when_it_is_stored(agent: Agent) -> None:
    sources = (f"witness {number}" for number in range(8))
    assert state_again(agent, sources) == [(5 + 0.5 * count, count) for count in range(8)]


def test_the_same_source_restating_a_claim_is_no_evidence(agent: Agent) -> None:
    assert state_again(agent, ["Maya", "Maya", "Priya", "Maya", "priya"]) == [
        (5.0, 0),
        (5.0, 0),
        (5.5, 1),
        (5.5, 1),
        (5.5, 1),
    ]


def test_belief_stays_at_eight_until_three_sources_corroborate_and_never_exceeds_ten(agent: Agent) -> None:
    publish_policy(agent, belief_boost=3.0)
    beliefs = [belief for belief, _ in state_again(agent, (f"witness {number}" for number in range(6)))]
    assert beliefs == [5.0, 8.0, 8.0, 10.0, 10.0, 10.0]


COFFEE = ("Maya drinks her coffee black", "Maya takes her coffee black, without sugar")  # cosine .901


@pytest.mark.parametrize(
    ("entity", "threshold", "belief"), [("Maya", 0.85, 5.5), ("Maya", 0.95, 5.0), ("Nobody else", 0.85, 5.0)]
)
def test_a_claim_corroborates_another_that_is_similar_enough_and_shares_an_entity(
    agent: Agent, entity: str, threshold: float, belief: float
) -> None:
    publish_policy(agent, corroboration_cosine=threshold)
    agent.post("entities/", name=entity, kind="person")
    first = agent.remember(COFFEE[0], source="Ada")["memory"]["id"]
    agent.remember(COFFEE[1], source="Bo")
    assert agent.memory(first)["belief"] == belief
    (edges,) = (agent.get(f"memories/{first}/edges/")["results"],)
    assert [edge["kind"] for edge in edges] == ["supports"] * (belief > 5)


def test_a_similar_claim_with_a_contradictory_signal_does_not_corroborate(agent: Agent) -> None:
    agent.post("entities/", name="Maya", kind="person")
    first = agent.remember("Maya prefers tea in the morning", source="Ada")["memory"]["id"]
    agent.remember("Maya does not prefer tea in the morning", source="Bo")
    memory = agent.memory(first)
    assert (memory["corroborations"], memory["contradictions"], memory["belief"]) == (0, 1, 3.5)


def test_each_contradicting_source_costs_one_and_a_half_down_to_zero(agent: Agent) -> None:
    id = agent.remember(FACT)["memory"]["id"]
    assert contradict(agent, id, 5) == [3.5, 2.0, 0.5, 0.0, 0.0]
    assert agent.memory(id)["contradictions"] == 5


def test_a_contradiction_costs_both_sides_once(agent: Agent) -> None:
    one, other = (agent.remember(text, session=text)["memory"]["id"] for text in (FACT, OTHERS[0]))
    first, again = (agent.act(one, "contradict", memory=other) for _ in range(2))
    assert (first["changed"], again["changed"]) == (True, False)
    assert (again["memory"]["belief"], again["other"]["belief"]) == (3.5, 3.5)


def test_belief_below_two_makes_a_candidate_for_archival_that_is_archived_only_when_asked(agent: Agent) -> None:
    id = agent.remember(FACT)["memory"]["id"]
    contradict(agent, id, 2)
    assert agent.run("reflect")["archival"]["candidates"] == 0, "at 2.0 exactly it is not below"
    Memory.objects.filter(id=id).update(belief=1.95)
    listed = agent.run("reflect")["archival"]
    assert listed["candidates"] == 1
    assert [one["memory"] for one in listed["examples"]] == [id]
    assert agent.memory(id)["status"] == "active"
    agent.run("reflect", archive=True)
    assert agent.memory(id)["status"] == "archived"


def weight(one: Json) -> float:
    """recall's weight of a result."""
    return float(one["rrf"] * one["freshness"] * one["access_boost"])


def test_belief_multiplies_the_retrieval_weight_from_one_half_to_one(agent: Agent) -> None:
    id = agent.remember(FACT)["memory"]["id"]
    for belief, multiplier in ((0.0, 0.5), (5.0, 0.75), (7.0, 0.85), (10.0, 1.0)):
        Memory.objects.filter(id=id).update(belief=belief)
        (one,) = agent.retrieve("Who keeps a lighthouse?", system="adaptive")["results"]
        assert one["evidence"] == pytest.approx(multiplier)
        assert one["score"] == pytest.approx(weight(one) * multiplier, abs=1e-15)
        (plain,) = agent.retrieve("Who keeps a lighthouse?", system="recall")["results"]
        assert plain["score"] == pytest.approx(weight(one), abs=1e-15)


def test_the_better_supported_of_two_equal_claims_comes_first(agent: Agent) -> None:
    doubted = agent.remember("The server runs Rust", session="a")["memory"]["id"]
    contradict(agent, doubted, 1)
    agent.remember("The server has fans", session="b")
    results = by_content(agent.retrieve("What does the server run?", system="adaptive"))
    assert results["The server runs Rust"]["evidence"] < results["The server has fans"]["evidence"]
    assert results["The server runs Rust"]["score"] == pytest.approx(weight(results["The server runs Rust"]) * 0.675)


def test_above_eight_a_memory_does_not_decay_and_at_eight_it_does(agent: Agent) -> None:
    at = (NOW - timedelta(days=360)).isoformat()
    id = agent.remember(FACT, created_at=at)["memory"]["id"]
    for belief, freshness in ((8.0, 0.25), (8.5, 1.0)):
        Memory.objects.filter(id=id).update(belief=belief, corroborations=7)
        (one,) = agent.retrieve("Who keeps a lighthouse?", system="adaptive")["results"]
        assert one["freshness"] == freshness
        assert one["score"] == pytest.approx(one["rrf"] * freshness * (0.5 + 0.05 * belief))


def freshness_of(answer: Json) -> float:
    """The freshness of the fact."""
    return float(by_content(answer)[FACT]["freshness"])


def test_the_write_policy_alone_says_what_is_protected_and_a_trace_replays_as_it_was(agent: Agent) -> None:
    at = (NOW - timedelta(days=360)).isoformat()
    id = agent.remember(FACT, created_at=at)["memory"]["id"]
    ask = partial(agent.retrieve, "Who keeps a lighthouse?", system="adaptive")
    # A level without its evidence protects nothing, wherever the level came from.
    Memory.objects.filter(id=id).update(belief=9.0, corroborations=2)
    assert freshness_of(ask()) == 0.25
    Memory.objects.filter(id=id).update(corroborations=3)
    protected = ask()
    assert freshness_of(protected) == 1.0
    publish_policy(agent, belief_needed=4)
    faded = ask()
    assert freshness_of(faded) == 0.25
    publish_policy(agent, belief_needed=4, belief_protected=9.5)
    Memory.objects.filter(id=id).update(corroborations=4)
    assert freshness_of(ask()) == 0.25
    Memory.objects.filter(id=id).update(belief=9.6)
    assert freshness_of(ask()) == 1.0
    for answer in (protected, faded):
        replayed = agent.post("replay/", trace=answer["trace"])
        assert [one["score"] for one in replayed["results"]] == [one["score"] for one in answer["results"]]


def test_the_past_is_protected_by_what_was_known_then(agent: Agent) -> None:
    agent.namespace.clock = NOW - timedelta(days=360)
    agent.namespace.save()
    for number in range(8):
        agent.remember(FACT, source=f"document {number}")
    agent.namespace.clock = NOW
    agent.namespace.save()
    ask = partial(agent.retrieve, "Who keeps a lighthouse?", system="adaptive")
    assert freshness_of(ask()) == 1.0
    contradict(agent, ask()["results"][0]["id"], 1)
    assert freshness_of(ask()) == 0.25
    assert freshness_of(ask(as_of=(NOW - timedelta(days=1)).isoformat())) == 1.0


def test_every_step_of_belief_is_explained_in_the_history(agent: Agent) -> None:
    id = agent.remember(FACT)["memory"]["id"]
    contradict(agent, id, 2)
    events = [event for event in agent.get(f"memories/{id}/history/")["results"] if event["cause"] == "contradicted"]
    assert [event["after"]["belief"] for event in events] == [3.5, 2.0]
    for event in events:
        assert event["parts"]["value"] == event["after"]["belief"]
        assert value_of(event["parts"], "belief_penalty") == 1.5
        assert event["other"]


def test_the_more_often_used_memory_is_not_believed_more_for_it(agent: Agent) -> None:
    id = agent.remember(FACT)["memory"]["id"]
    for session in "abc":
        agent.retrieve("Who keeps a lighthouse?", system="adaptive", record=True, session=session)
    memory = agent.memory(id)
    assert (memory["access_count"], memory["belief"]) == (3, 5.0)
    (one,) = agent.retrieve("Who keeps a lighthouse?", system="adaptive")["results"]
    assert one["access_boost"] == pytest.approx(1 + math.log(4))


# What reflection finds

KEEPS = ("Grind keeps 4 connections to Slottet", "According to Priya, Grind keeps 9 connections to Slottet")


def disagree(agent: Agent, *entities: str) -> list[str]:
    """Two memories of two entities that differ in a number, a cosine of .808 apart."""
    for name in entities or ("Grind", "Slottet"):
        agent.post("entities/", name=name)
    return [agent.remember(text, session=text[:5])["memory"]["id"] for text in KEEPS]


def test_reflection_finds_contradictions_in_the_background(agent: Agent) -> None:
    ids = disagree(agent)
    assert [agent.memory(id)["belief"] for id in ids] == [5.0, 5.0]
    found = agent.run("reflect")["contradictions"]
    assert found["contradictions"] == 1
    assert [agent.memory(id)["belief"] for id in ids] == [3.5, 3.5]


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"contradiction_high": 0.75}, 0),
        ({"contradiction_low": 0.83}, 0),
        ({"contradiction_low": 0.40, "contradiction_high": 1.0}, 1),
        ({"contradiction_shared": 3}, 0),
    ],
)
def test_a_pair_is_a_candidate_of_contradiction_between_two_cosines_and_with_shared_entities(
    agent: Agent, bounds: dict[str, float], found: int
) -> None:
    publish_policy(agent, **bounds)
    disagree(agent)
    assert agent.run("reflect")["contradictions"]["contradictions"] == found


def test_one_shared_entity_makes_no_candidate_of_contradiction(agent: Agent) -> None:
    disagree(agent, "Grind")
    assert agent.run("reflect")["contradictions"]["contradictions"] == 0


@pytest.mark.parametrize(("cosine", "found"), [(0.41, 1), (0.39, 0)])
def test_a_candidate_of_contradiction_is_at_least_four_tenths_similar(agent: Agent, cosine: float, found: int) -> None:
    first, second = disagree(agent)
    plant_vector(first, unit_vector(0))
    plant_vector(second, vector_at_cosine(unit_vector(0), cosine, unit_vector(1)))
    assert agent.run("reflect")["contradictions"]["contradictions"] == found
