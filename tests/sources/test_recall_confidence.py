"""Source 000, write side: what a memory's confidence is made of, recomputed from the text's own numbers."""

import math
import uuid
from itertools import count
from typing import Any

import pytest

from memories.models import Memory, MemorySource, ReviewItem
from tests.support.agent import Agent, Json, has_node, nodes, value_of

pytestmark = pytest.mark.django_db

LEVELS = {"direct": 0.95, "confirmation": 0.80, "strong_inference": 0.70, "weak_inference": 0.50, "speculation": 0.30}
TYPES = {"Entity": 0.90, "Event": 0.85, "Fact": 0.80, "Preference": 0.75, "Relation": 0.70}
MODELS = {
    "Claude Sonnet 4.5": 0.90,
    "claude-opus-4": 0.90,
    "Claude Haiku": 0.80,
    "gpt-4o": 0.85,
    "gpt-3.5-turbo": 0.65,
    "in-house tagger": 0.65,
}
FACT = "Keeps a lighthouse on the northern coast"


def repetition(n: int) -> float:
    return 1 - 1 / (1 + math.log(1 + n))


def confidence(s: float = 0.95, n: int = 0, e: float = 0.80, t: float = 0.80) -> float:
    return min(1.0, 0.45 * s + 0.20 * repetition(n) + 0.25 * e + 0.10 * t)


def preview(agent: Agent, **body: Any) -> Json:
    """The outcome a memory would have."""
    content = {"content": FACT, "type": "Fact", "source_level": "direct", "extractor": {"model": "claude-haiku"}}
    outcome: Json = agent.client.post(
        agent.url("memories/?dry_run=true"), content | body, content_type="application/json"
    ).json()
    return outcome


def publish_policy(agent: Agent, **params: float) -> None:
    version = agent.post("policies/", name="tests", params=params)
    agent.post(f"policies/{version['id']}/publish/", note="tests")


def test_each_source_level_counts_what_the_table_says(agent: Agent) -> None:
    for level, s in LEVELS.items():
        outcome = preview(agent, source_level=level)
        assert outcome["memory"]["confidence"] == pytest.approx(confidence(s=s), abs=1e-12)
        assert value_of(outcome["explanation"], f"source_{level}") == s


def test_from_direct_statement_to_speculation_confidence_swings_by_29_hundredths(agent: Agent) -> None:
    direct, speculation = (
        preview(agent, source_level=level)["memory"]["confidence"] for level in ("direct", "speculation")
    )
    assert direct - speculation == pytest.approx(0.45 * 0.65)
    assert round(direct - speculation, 2) == 0.29


def test_each_type_counts_what_the_table_says(agent: Agent) -> None:
    for type, t in TYPES.items():
        outcome = preview(agent, type=type)
        assert outcome["memory"]["confidence"] == pytest.approx(confidence(t=t), abs=1e-12)
        assert value_of(outcome["explanation"], f"prior_{type.lower()}") == t


def test_each_model_counts_what_the_table_says_however_its_name_is_written(agent: Agent) -> None:
    for model, e in MODELS.items():
        for name in (model, model.upper()):
            outcome = preview(agent, extractor={"model": name})
            assert outcome["memory"]["confidence"] == pytest.approx(confidence(e=e), abs=1e-12)


def test_from_haiku_to_sonnet_confidence_rises_by_25_thousandths(agent: Agent) -> None:
    haiku, sonnet = (
        preview(agent, extractor={"model": model})["memory"]["confidence"] for model in ("claude-haiku", "sonnet")
    )
    assert sonnet - haiku == pytest.approx(0.025)


def test_token_probabilities_replace_the_table_by_their_geometric_mean(agent: Agent) -> None:
    logprobs = [-0.05, -0.40, -0.21, -0.02]
    e = math.prod(math.exp(one) for one in logprobs) ** (1 / len(logprobs))
    outcome = preview(agent, extractor={"model": "claude-sonnet", "logprobs": logprobs})
    assert outcome["memory"]["confidence"] == pytest.approx(confidence(e=e), abs=1e-12)


def test_confidence_is_a_sum_of_four_signals_clamped_at_one(agent: Agent) -> None:
    explanation = preview(agent)["explanation"]
    assert explanation["op"] == "min"
    assert [part["value"] for part in explanation["parts"]] == [pytest.approx(confidence()), 1.0]
    shares = next(node for node in nodes(explanation) if node["op"] == "+" and len(node["parts"]) == 4)
    assert [part["value"] for part in shares["parts"]] == pytest.approx([0.45 * 0.95, 0, 0.25 * 0.8, 0.1 * 0.8])


def test_repetition_grows_as_the_formula_says_where_the_table_errs(agent: Agent) -> None:
    printed = {0: 0.000, 1: 0.307, 2: 0.478, 5: 0.625, 10: 0.700, 100: 0.824}
    ruled = {0: 0.0, 1: 0.4094, 2: 0.5235, 5: 0.6418, 10: 0.7057, 100: 0.8219}
    sessions, stored = count(), 0
    for n in printed:
        body = {"content": FACT, "type": "Fact", "source_level": "direct", "extractor": {"model": "haiku"}}
        batch = [{**body, "session": f"session {next(sessions)}"} for _ in range(stored, n + 1)]
        stored = n + 1
        last = agent.post("memories/batch/", memories=batch)["results"][-1]
        r = value_of(last["explanation"], "repetition")
        assert r == pytest.approx(repetition(n), abs=1e-12)
        assert round(r, 4) == ruled[n]
        assert last["memory"]["repetitions"] == n
        assert last["memory"]["confidence"] == pytest.approx(confidence(n=n), abs=1e-12)


def test_the_hundredth_observation_adds_far_less_than_the_fifth(agent: Agent) -> None:
    assert repetition(5) - repetition(4) > 50 * (repetition(100) - repetition(99))
    page = " ".join(agent.client.get("/formulas/recall/").content.decode().split())
    assert "5th" in page


def test_the_same_session_again_is_no_independent_observation(agent: Agent) -> None:
    for session, n in (("monday", 0), ("monday", 0), ("tuesday", 1)):
        assert agent.remember(FACT, session=session)["memory"]["repetitions"] == n


def test_a_first_mention_stays_below_high_confidence_and_one_repetition_lifts_it_over(agent: Agent) -> None:
    best = {"type": "Entity", "extractor": {"model": "claude-sonnet"}}
    first = agent.remember(FACT, **best, session="monday")
    assert value_of(first["explanation"], "repetition") == 0.0
    assert first["memory"]["confidence"] == pytest.approx(0.7425)
    assert first["memory"]["confidence"] < 0.75
    assert agent.remember(FACT, **best, session="tuesday")["memory"]["confidence"] > 0.75


def test_an_unknown_type_is_an_uncertain_fact_with_a_prior_of_its_own(agent: Agent) -> None:
    memory = agent.remember(FACT, type="Hunch")["memory"]
    assert (memory["type"], memory["tags"]) == ("Fact", ["type_uncertain"])
    assert memory["confidence"] == pytest.approx(confidence(t=0.75), abs=1e-12)


def test_an_uncertain_type_is_left_out_of_a_query_for_a_type_and_found_by_any_other(agent: Agent) -> None:
    agent.remember(FACT, type="Hunch")
    query = {"query": "Who keeps a lighthouse?", "system": "recall"}
    assert agent.retrieve(**query, types=["Fact"])["results"] == []
    (found,) = agent.retrieve(**query)["results"]
    assert {"semantic", "bm25"} <= found["retrievers"].keys()


def test_a_confirmation_raises_the_source_counts_once_and_clears_doubt(agent: Agent) -> None:
    id = agent.remember(FACT, source_level="speculation")["memory"]["id"]
    confirmed = agent.act(id, "confirm")
    assert confirmed["memory"]["repetitions"] == 1
    assert confirmed["memory"]["confidence"] == pytest.approx(confidence(s=0.80, n=1), abs=1e-12)
    direct = agent.remember("Rides a unicycle to the harbour", source_level="direct")["memory"]["id"]
    again = agent.act(direct, "confirm")
    assert again["memory"]["confidence"] == pytest.approx(confidence(s=0.95, n=1), abs=1e-12)


def test_a_confirmed_memory_never_exceeds_its_cap(agent: Agent) -> None:
    publish_policy(agent, source_direct=1.0, prior_fact=1.0, weight_repetition=0.01)
    id = agent.remember(FACT, extractor={"model": "", "logprobs": [0.0]})["memory"]["id"]
    confirmed = agent.act(id, "confirm")
    uncapped = (0.45 + 0.01 * repetition(1) + 0.25 + 0.10) / 0.81
    assert uncapped > 0.99
    assert confirmed["memory"]["confidence"] == 0.99
    assert has_node(confirmed["explanation"], "confirmed_cap")


def test_with_the_tables_of_the_text_no_memory_reaches_the_cap_and_the_page_says_so(agent: Agent) -> None:
    surest = {"type": "Entity", "source_level": "direct", "extractor": {"model": "", "logprobs": [0.0]}}
    batch = [{"content": FACT, "session": f"session {number}", **surest} for number in range(200)]
    id = agent.post("memories/batch/", memories=batch)["results"][-1]["memory"]["id"]
    confirmed = agent.act(id, "confirm")["memory"]["confidence"]
    assert 0.93 < confirmed < 0.45 * 0.95 + 0.20 + 0.25 + 0.10 * 0.90 < 0.97
    page = " ".join(agent.client.get("/formulas/recall/").content.decode().split())
    assert ".9675" in page


def test_partial_grounding_costs_a_fifth_and_drops_what_falls_below_the_floor(agent: Agent) -> None:
    statement = {"content": "Maya perhaps sails to Norway in summer", "evidence": "Maya likes Norway and painting."}
    kept = preview(agent, **statement)
    assert kept["memory"]["confidence"] == pytest.approx(confidence() - 0.20, abs=1e-12)
    dropped = preview(agent, **statement, source_level="speculation", extractor={"model": ""}, type="Relation")
    left = confidence(s=0.30, e=0.65, t=0.70) - 0.20
    assert left < 0.3
    assert dropped["outcome"] == "rejected"
    assert dropped["memory"]["confidence"] == pytest.approx(left, abs=1e-12)
    assert "the floor is 0.30" in dropped["reason"]


def test_a_confirmation_takes_the_grounding_penalty_back(agent: Agent) -> None:
    doubted = agent.remember("Maya perhaps sails to Norway in summer", evidence="Maya likes Norway and painting.")
    assert doubted["memory"]["confidence"] == pytest.approx(confidence() - 0.20, abs=1e-12)
    confirmed = agent.act(doubted["memory"]["id"], "confirm")
    assert confirmed["memory"]["confidence"] == pytest.approx(confidence(n=1), abs=1e-12)


def test_exact_duplicates_are_seen_through_case_space_width_and_outer_punctuation(agent: Agent) -> None:
    first = agent.remember(FACT, session="monday")["memory"]["id"]
    for number, text in enumerate((FACT.upper(), f"  “{FACT}.” ", FACT.replace(" ", "\u2003"))):
        again = agent.remember(text, session=f"session {number}")
        assert (again["outcome"], again["memory"]["id"], again["reason"]) == ("merged", first, "exact duplicate")


def test_type_subject_and_predicate_belong_to_the_hash_of_a_duplicate(agent: Agent) -> None:
    first = agent.remember("Owns a boat", subject="Maya", predicate="owns", object="a boat")["memory"]["id"]
    other = agent.remember("Owns a boat", subject="Jonas", predicate="owns", object="a boat")
    assert (other["outcome"], other["memory"]["id"] == first) == ("stored", False)


def test_two_memories_of_one_unresolved_subject_are_deduplicated_against_each_other(agent: Agent) -> None:
    first = agent.remember("Barks at night", subject="The neighbour's dog", session="monday")
    again = agent.remember("barks at night.", subject=" the neighbour's DOG ", session="tuesday")
    assert first["memory"]["subject_id"] is None
    assert (again["outcome"], again["memory"]["id"]) == ("merged", first["memory"]["id"])


def test_an_unresolved_subject_costs_no_confidence_and_only_semantic_and_bm25_find_it(agent: Agent) -> None:
    agent.post("entities/", name="Kestrel", kind="system")
    stored = agent.remember("The ferry of Kestrel leaves at dawn", subject="The ferry")["memory"]
    assert stored["confidence"] == pytest.approx(confidence(), abs=1e-12)
    (found,) = agent.retrieve("When does the ferry of Kestrel leave?", system="recall")["results"]
    assert found["retrievers"].keys() - {"rerank"} == {"semantic", "bm25"}


def test_a_subject_that_is_known_later_is_resolved_and_found_by_its_entity(agent: Agent) -> None:
    agent.remember("The ferry leaves at dawn", subject="The ferry")
    agent.post("entities/", name="The ferry", kind="ship")
    agent.run("reflect")
    (found,) = agent.retrieve("When does The ferry leave?", system="recall")["results"]
    assert "entity" in found["retrievers"]


def test_a_merge_keeps_the_stronger_of_each_signal_and_sums_accesses(agent: Agent) -> None:
    first = agent.remember(
        "The invoicing service uses PostgreSQL as its database", source_level="weak_inference", session="monday"
    )["memory"]["id"]
    agent.retrieve("Which database does the invoicing service use?", record=True, session="reading")
    merged = agent.remember(
        "The invoicing service uses PostgreSQL as the database",
        session="tuesday",
        extractor={"model": "claude-opus"},
    )
    assert (merged["outcome"], merged["memory"]["id"]) == ("merged", first)
    assert merged["memory"]["confidence"] == pytest.approx(confidence(s=0.95, n=1, e=0.90), abs=1e-12)
    assert merged["memory"]["access_count"] == 1
    (absorbed,) = agent.get("memories/", status="merged")["results"]
    assert absorbed["merged_into_id"] == first
    restored = agent.act(absorbed["id"], "split")
    assert restored["survivor"]["confidence"] == pytest.approx(confidence(s=0.50), abs=1e-12)


def test_several_sources_count_as_the_strongest(agent: Agent) -> None:
    sources = [{"level": level} for level in ("weak_inference", "confirmation", "confirmation")]
    outcome = agent.remember(FACT, sources=sources)
    assert value_of(outcome["explanation"], "source_confirmation") == 0.80
    assert not has_node(outcome["explanation"], "source_weak_inference")


def test_a_memory_that_states_no_source_level_is_a_strong_inference(agent: Agent) -> None:
    outcome = agent.post("memories/", content=FACT, type="Fact", extractor={"model": "claude-haiku"})
    assert outcome["memory"]["confidence"] == pytest.approx(confidence(s=0.70), abs=1e-12)


def test_what_stays_below_the_retrieval_floor_says_so_when_it_is_stored(agent: Agent) -> None:
    weak = agent.remember(FACT, source_level="speculation")
    assert weak["memory"]["confidence"] < 0.5
    assert "below the minimum 0.50 of retrieval" in weak["reason"]
    assert agent.retrieve("Who keeps a lighthouse?", system="recall")["filtered"] == {"low_confidence": 1}


def test_a_speculation_repeated_once_can_pass_the_retrieval_floor(agent: Agent) -> None:
    told = {"source_level": "speculation", "type": "Entity", "extractor": {"model": "claude-sonnet"}}
    first, again = (agent.remember(FACT, **told, session=session)["memory"] for session in ("monday", "tuesday"))
    assert first["confidence"] < 0.5 < again["confidence"]
    assert round(again["confidence"], 2) == 0.53


def test_the_table_in_place_of_61_hundredths_inflates_confidence_by_48_thousandths(agent: Agent) -> None:
    table, measured = (
        preview(agent, extractor=extractor)["memory"]["confidence"]
        for extractor in ({"model": "haiku"}, {"model": "haiku", "logprobs": [math.log(0.61)]})
    )
    assert table - measured == pytest.approx(0.19 * 0.25)
    assert table - measured == pytest.approx(0.048, abs=5.1e-4)


def test_an_unresolved_subject_is_the_uuid5_of_its_surface_form(agent: Agent) -> None:
    agent.remember("Barks at night", subject="  The Neighbour's DOG. ")
    assert Memory.objects.get().subject_fallback == uuid.uuid5(uuid.NAMESPACE_DNS, "the neighbour's dog")


def test_accesses_of_merged_memories_are_summed(agent: Agent) -> None:
    ids = [agent.remember(f"The {boat} lies at pier four", session=boat)["memory"]["id"] for boat in ("brig", "barque")]
    for id, accesses in zip(ids, (3, 4), strict=True):
        Memory.objects.filter(id=id).update(access_count=accesses)
    item = ReviewItem.objects.create(namespace=agent.namespace, first_id=ids[0], second_id=ids[1], cosine=0.9)
    agent.post(f"reviews/{item.id}/decide/", verdict="duplicate")
    assert agent.memory(ids[0])["access_count"] == 7
    assert agent.memory(ids[1])["merged_into_id"] == ids[0]


def test_turns_of_merged_memories_are_united(agent: Agent) -> None:
    turns = [
        agent.post("turns/", session=day, extract=False, turns=[{"role": "user", "text": text}])["turns"][0]["id"]
        for day, text in (("monday", "We keep a lighthouse."), ("tuesday", "The lighthouse is ours to keep."))
    ]
    for turn in turns:
        id = agent.remember(FACT, turn=turn)["memory"]["id"]
    sources = MemorySource.objects.filter(memory_id=id).values_list("turn_id", flat=True)
    assert sorted(map(str, sources)) == sorted(turns)


@pytest.mark.parametrize(("preset", "weight"), [("software", 0.24), ("legal", 0.16)])
def test_repetition_weighs_more_in_software_and_less_in_law_by_name(agent: Agent, preset: str, weight: float) -> None:
    version = agent.post("policies/", name=preset, preset=preset)
    agent.post(f"policies/{version['id']}/publish/")
    for session in "abc":
        outcome = agent.remember(FACT, session=session)
    weighted = 0.45 * 0.95 + weight * repetition(2) + 0.25 * 0.80 + 0.10 * 0.80
    total = 0.45 + weight + 0.25 + 0.10
    assert outcome["memory"]["confidence"] == pytest.approx(weighted / total, abs=1e-12)


@pytest.mark.parametrize(
    ("turns", "level"),
    [
        ([("user", "I work at Acme Corp.")], "direct"),
        ([("assistant", "You work at Acme Corp, don't you?"), ("user", "Yes, that's right.")], "confirmation"),
        ([("user", "My commute to Acme HQ is 40 minutes.")], "strong_inference"),
        ([("user", "I think I mentioned this last week.")], "weak_inference"),
        ([("assistant", "You work at Acme Corp.")], "speculation"),
    ],
)
def test_the_examples_of_the_table_come_out_of_turns_with_its_levels(
    agent: Agent, turns: list[tuple[str, str]], level: str
) -> None:
    said = [{"role": role, "text": text} for role, text in turns]
    memories = agent.post("turns/", session="talk", user="maya", turns=said)["memories"]
    last = memories[-1]
    assert value_of(last["explanation"], f"source_{level}") == LEVELS[level]
    r, t = repetition(last["memory"]["repetitions"]), TYPES[last["memory"]["type"]]
    assert last["memory"]["repetitions"] == len(memories) - 1
    expected = 0.45 * LEVELS[level] + 0.20 * r + 0.25 * 0.65 + 0.10 * t
    assert last["memory"]["confidence"] == pytest.approx(expected, abs=1e-12)
