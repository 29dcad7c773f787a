"""Source 003: eight routes, fusion, session-first scores and selection, recomputed from what is answered."""

import math
from typing import Any

import numpy as np
import pytest

from memories.models import Memory, MemoryTag, MemoryVector
from memories.providers.embedder import embedder
from tests.support.agent import Agent, Json, nodes, value_of
from tests.support.planted_vectors import Vector, plant_vector, unit_vector, vector_at_cosine

pytestmark = pytest.mark.django_db

TALKS = {
    "moving": (
        "I moved to Lisbon in May and my flat is on Rua Augusta.",
        "Congratulations on the move!",
        "I prefer oat milk in my coffee.",
        "Noted, oat milk it is.",
        "My sister Alma visits next week.",
        "Lovely.",
    ),
    "work": (
        "The invoicing service runs on PostgreSQL 16.",
        "Good choice.",
        "Its backup runs at two in the morning.",
        "That is a quiet hour.",
    ),
    "hiking": ("I love hiking in the Serra.", "Which trail?", "The long one by the coast.", "Have fun."),
}
ROUTES = {
    "vec_full",
    "vec_user",
    "vec_asst",
    "vec_next_user",
    "lexical",
    "facet_personal_info",
    "facet_preferences",
    "facet_events",
}
QUERY = "What milk do I prefer in my coffee?"


def first_of(results: list[Json], route: str) -> Json:
    """The result that stands first in the list of one route."""
    (first,) = (one for one in results if one["retrievers"].get(route, {}).get("rank") == 1)
    return first


@pytest.fixture
def listener(agent: Agent) -> Agent:
    """An agent that was told three conversations."""
    for session, lines in TALKS.items():
        turns = [{"role": ("user", "assistant")[place % 2], "text": text} for place, text in enumerate(lines)]
        agent.post("turns/", session=session, user="maya", turns=turns)
    return agent


def rank(agent: Agent, query: str = QUERY, **body: Any) -> list[Json]:
    results: list[Json] = agent.retrieve(query, system="memsense", **body)["results"]
    return results


def rrf_sum(one: Json) -> float:
    """Σ 1 / (15 + rank), written out."""
    return math.fsum(1 / (15 + hit["rank"]) for hit in one["retrievers"].values())


def memory_score(one: Json) -> float:
    """The stored chunk quality, or the confidence where none was given."""
    row = Memory.objects.get(id=one["id"])
    return row.confidence if row.memory_score is None else row.memory_score


def test_eight_routes_are_asked_and_each_finds_chunks(listener: Agent) -> None:
    answer = listener.retrieve(QUERY, system="memsense", levels=["turn", "fact"])
    assert set(answer["plan"]["retrievers"]) == ROUTES
    assert {route for one in answer["results"] for route in one["retrievers"]} == ROUTES


@pytest.mark.parametrize(
    ("route", "query", "best"),
    [
        ("vec_user", "I prefer oat milk in my coffee.", "I prefer oat milk"),
        ("vec_asst", "That is a quiet hour.", "Its backup runs at two"),
        ("vec_next_user", "I prefer oat milk in my coffee.", "I moved to Lisbon"),
        ("vec_full", "user: I love hiking in the Serra. assistant: Which trail?", "I love hiking"),
    ],
)
def test_each_route_of_an_exchange_embeds_its_own_side(listener: Agent, route: str, query: str, best: str) -> None:
    (first,) = (
        one for one in rank(listener, query, levels=["turn"]) if one["retrievers"].get(route, {}).get("rank") == 1
    )
    assert best in first["content"]


@pytest.mark.parametrize(
    ("facet", "query", "best"),
    [
        ("facet_preferences", "preferred milk", "I prefer oat milk"),
        ("facet_events", "moving house to Lisbon", "I moved to Lisbon"),
        ("facet_personal_info", "a sister called Alma", "My sister Alma"),
    ],
)
def test_each_facet_embeds_what_an_exchange_says_of_it(listener: Agent, facet: str, query: str, best: str) -> None:
    (first,) = (
        one for one in rank(listener, query, levels=["turn"]) if one["retrievers"].get(facet, {}).get("rank") == 1
    )
    assert best in first["content"]


def test_the_lexical_route_reads_tags_and_content(agent: Agent) -> None:
    tagged = agent.remember("Runs every Thursday evening", tags=["choir"], session="a")["memory"]["id"]
    said = agent.remember("The choir sings in Latin", session="b")["memory"]["id"]
    agent.remember("Bread is sold at the harbour", session="c")
    found = {one["id"] for one in rank(agent, "choir") if "lexical" in one["retrievers"]}
    assert found == {tagged, said}


@pytest.mark.parametrize("levels", [["fact"], ["turn"], []])
def test_rrf_is_the_sum_over_routes_with_fifteen_as_its_constant(listener: Agent, levels: list[str]) -> None:
    results = rank(listener, levels=levels)
    assert results
    for one in results:
        assert one["rrf_score"] == pytest.approx(rrf_sum(one), abs=1e-12)
        routes = one["retrievers"]
        assert one["found_by"] == sorted(routes, key=lambda route: (routes[route]["rank"], list(routes).index(route)))


def test_without_a_session_chunk_a_tenth_of_the_stored_quality_is_added(agent: Agent) -> None:
    rated = agent.remember("Prefers oat milk in coffee", memory_score=0.9, session="a")["memory"]["id"]
    agent.remember("Coffee grows in the shade", session="b")
    results = {one["id"]: one for one in rank(agent)}
    for one in results.values():
        assert one["final_score"] == pytest.approx(rrf_sum(one) + 0.1 * memory_score(one), abs=1e-12)
    assert memory_score(results[rated]) == 0.9


def test_neither_confidence_nor_age_is_in_the_score_once_a_quality_is_given(agent: Agent) -> None:
    old = {"created_at": "2016-03-02T12:00:00Z", "source_level": "weak_inference"}
    id = agent.remember("Prefers oat milk in coffee", memory_score=0.4, **old)["memory"]["id"]
    before = rank(agent)[0]
    agent.act(id, "confirm")
    after = rank(agent)[0]
    assert after["confidence"] > before["confidence"]
    assert after["score"] == before["score"] == pytest.approx(rrf_sum(before) + 0.04)


def test_sessions_come_first_and_their_best_turn_supports_them_up_to_a_cap(listener: Agent) -> None:
    results = rank(listener)
    assert {one["level"] for one in results} == {"session"}
    supports = []
    for one in results:
        explain = one["explain"]
        assert explain.keys() >= {"session_rrf_score", "turn_support", "supporting_turn_count", "best_turn_found_by"}
        best = next(node for node in nodes(one["explanation"]) if node["name"] == "best turn")
        ranks = [node["value"] for node in nodes(best) if node["name"].endswith(" rank")]
        best_turn = math.fsum(1 / (15 + rank) for rank in ranks)
        assert len(explain["best_turn_found_by"]) == len(ranks)
        assert explain["turn_support"] == pytest.approx(min(0.12, 0.6 * best_turn), abs=1e-12)
        assert explain["session_rrf_score"] == pytest.approx(rrf_sum(one), abs=1e-12)
        hybrid = explain["session_rrf_score"] + explain["turn_support"]
        assert one["final_score"] == pytest.approx(hybrid + 0.1 * memory_score(one), abs=1e-12)
        supports.append(explain["turn_support"])
    assert 0.12 in supports
    (uncapped,) = (one for one in rank(listener, params={"turn_cap": 0.5}) if one["content"] == results[0]["content"])
    assert uncapped["explain"]["turn_support"] == pytest.approx(0.6 * value_of(uncapped["explanation"], "best turn"))
    assert uncapped["explain"]["turn_support"] > 0.12


def test_the_turns_that_support_a_session_are_counted(listener: Agent) -> None:
    counts = {one["content"].splitlines()[0]: one["explain"]["supporting_turn_count"] for one in rank(listener)}
    assert counts == {f"user: {lines[0]}": len(lines) // 2 for lines in TALKS.values()}


def test_only_the_best_turn_of_the_session_itself_supports_it(listener: Agent) -> None:
    for one in rank(listener):
        turns = Memory.objects.filter(level="turn", session_id=Memory.objects.get(id=one["id"]).session_id)
        ids = {str(id) for id in turns.values_list("id", flat=True)}
        alone = [turn for turn in rank(listener, levels=["turn"]) if turn["id"] in ids]
        assert one["explain"]["supporting_turn_count"] == len(alone)


# Selection


def redundancy(first: Json, second: Json) -> float:
    """The greater of the cosine and .35 of the Jaccard overlap of the tags."""
    a, b = (
        np.asarray(MemoryVector.objects.get(memory_id=one["id"], route="vec_full").vector, dtype=float)
        for one in (first, second)
    )
    tags, others = (
        set(MemoryTag.objects.filter(memory_id=one["id"]).values_list("tag", flat=True)) for one in (first, second)
    )
    jaccard = len(tags & others) / len(tags | others) if tags | others else 0.0
    return float(max(a @ b / np.linalg.norm(a) / np.linalg.norm(b), 0.35 * jaccard))


def test_selection_weighs_the_final_score_at_78_against_redundancy(agent: Agent) -> None:
    texts = {
        "Prefers oat milk in coffee": ["food", "coffee"],
        "Takes oat milk with coffee at work": ["food", "coffee"],
        "Coffee grows in the shade": ["coffee"],
        "The dentist is in the old town": ["health"],
        "Sister Alma visits in spring": ["family", "food", "coffee"],
    }
    for number, (text, tags) in enumerate(texts.items()):
        agent.remember(text, tags=tags, session=f"s{number}")
    results = rank(agent)
    assert len(results) == len(texts)
    left, chosen = list(results), []
    by_tags = False
    while left:

        def gain(one: Json) -> float:
            nearest = max((redundancy(one, other) for other in chosen), default=0.0)
            return 0.78 * one["final_score"] - 0.22 * nearest

        best = max(left, key=gain)
        nearest = max((redundancy(best, other) for other in chosen), default=0.0)
        by_tags |= any(abs(nearest - 0.35 * share) < 1e-9 for share in (1, 0.5, 1 / 3, 2 / 3))
        assert best["selection"]["redundancy"] == pytest.approx(nearest, abs=1e-3)
        chosen.append(best)
        left.remove(best)
    assert [one["id"] for one in results] == [one["id"] for one in chosen]
    assert by_tags, "the tags of one pair count more than its cosine"


def embed(text: str) -> Vector:
    """The vector of a text."""
    return np.asarray(embedder("all-MiniLM-L6-v2").embed([text])[0], dtype=float)


@pytest.mark.parametrize(("steepness", "second"), [(0.26, "bread"), (0.30, "boats")])
def test_a_redundant_hit_stands_back_where_its_lead_is_below_22_78ths_of_its_redundancy(
    agent: Agent, steepness: float, second: str
) -> None:
    texts = {"anchor": ("Anchors are iron", 1.0), "boats": ("Boats are wood", 0.8), "bread": ("Bread is rye", 0.2)}
    ids = {
        name: agent.remember(text, memory_score=score, session=name)["memory"]["id"]
        for name, (text, score) in texts.items()
    }
    finals = {name: 1 / (16 + place) + 0.1 * score for place, (name, (_, score)) in enumerate(texts.items())}
    lead = finals["boats"] - finals["bread"]
    query = embed("harbour museum")
    anchor = vector_at_cosine(query, 0.3, unit_vector(0))
    aside = (anchor - 0.3 * query) / (1 - 0.3**2) ** 0.5
    plant_vector(ids["anchor"], anchor)
    # The lead of the boats over the bread is this share of how redundant they are with the anchor; the bread is not.
    for axis, name, cosine, nearness in ((1, "boats", 0.2, lead / steepness), (2, "bread", 0.1, 0.0)):
        sideways = vector_at_cosine(query, 0.0, unit_vector(axis))
        sideways = vector_at_cosine(aside, 0.0, sideways)
        leaning = (nearness - 0.3 * cosine) / (1 - 0.3**2) ** 0.5
        plant_vector(ids[name], cosine * query + leaning * aside + (1 - cosine**2 - leaning**2) ** 0.5 * sideways)
    results = rank(agent, "harbour museum")
    assert {one["id"]: one["final_score"] for one in results} == pytest.approx({ids[n]: finals[n] for n in ids})
    assert [one["id"] for one in results][:2] == [ids["anchor"], ids[second]]


@pytest.mark.parametrize(("cosine", "returned"), [(0.93, 2), (0.95, 1)])
def test_a_hit_as_redundant_as_94_is_skipped(agent: Agent, cosine: float, returned: int) -> None:
    ids = [agent.remember(text, session=text)["memory"]["id"] for text in ("Owns a boat", "The harbour is deep")]
    query = embed("Who owns a boat?")
    first = vector_at_cosine(query, 0.6, unit_vector(0))
    plant_vector(ids[0], first)
    plant_vector(ids[1], vector_at_cosine(first, cosine, unit_vector(1)))
    assert len(rank(agent, "Who owns a boat?")) == returned


@pytest.fixture
def otters(agent: Agent) -> Agent:
    """A hundred memories that every list of words and of vectors can hold."""
    body = {"type": "Fact", "source_level": "direct", "extractor": {"model": "haiku"}}
    texts = [f"Otter number {number} was seen at bridge {number}" for number in range(100)]
    agent.post("memories/batch/", memories=[{"content": text, **body} for text in texts])
    return agent


def test_each_route_lists_twice_the_limit_of_four_times_what_is_asked_for(otters: Agent) -> None:
    def candidates(query: str, **body: Any) -> int:
        answer = otters.retrieve(query, system="memsense", **body)
        found: int = otters.get(f"traces/{answer['trace']}/")["candidates"]
        return found

    for top_k, pool in ((1, 64), (8, 64), (10, 80), (12, 96)):
        assert pool == max(max(top_k * 4, 32) * 2, 40)
        # Stop words alone: only one list finds anything, and it holds the whole pool.
        assert candidates("What about it?", top_k=top_k) == pool
        assert pool <= candidates("Where was the otter seen?", top_k=top_k) <= min(2 * pool, 100)
    assert candidates("What about it?", top_k=1, params={"limit_least": 1, "limit_factor": 1}) == 40


def test_selection_sees_four_times_as_many_as_are_asked_for_and_at_least_32(otters: Agent) -> None:
    query = {"query": "Where was the otter seen?", "system": "memsense"}
    ranked = otters.retrieve(**query, top_k=100, params={"mmr_lambda": 1.0, "duplicate": 1.0})["results"]
    order = [one["id"] for one in sorted(ranked, key=lambda one: -one["rrf_score"])]

    def furthest(**params: float) -> int:
        # Pure novelty reaches down to the limit and no further.
        novel = otters.retrieve(**query, top_k=8, params={"mmr_lambda": 0.0, "duplicate": 1.0, **params})["results"]
        return max(order.index(one["id"]) for one in novel)

    assert furthest() < 32
    assert 32 <= furthest(limit_least=60) < 60


def test_selected_chunks_bring_those_beside_them_and_say_whose_neighbour_they_are(listener: Agent) -> None:
    short = dict.fromkeys(("limit_factor", "limit_least", "route_widening", "route_least"), 1)
    query = "My sister Alma visits next week. Lovely."
    selected, *beside = rank(listener, query, levels=["turn"], top_k=1, params=short)
    assert "My sister Alma visits" in selected["content"]
    assert selected["selection"]["step"] == 1
    (before,) = beside
    assert "I prefer oat milk" in before["content"]
    assert before["explain"]["neighbour_of"] == selected["id"]
    assert "selection" not in before
    if not before["retrievers"]:
        assert before["score"] == pytest.approx(selected["score"] / 2)


def test_a_chunk_is_explained_on_the_fallback_path_too(listener: Agent) -> None:
    for one in rank(listener, levels=["turn"]):
        explain = one["explain"]
        assert explain["rrf_score"] == pytest.approx(rrf_sum(one), abs=1e-12)
        assert explain["memory_score"] == memory_score(one)
        assert explain["memory_share"] == pytest.approx(0.1 * memory_score(one))
        assert explain["found_by"] == one["found_by"]
        assert one["final_score"] == pytest.approx(explain["rrf_score"] + explain["memory_share"], abs=1e-12)
