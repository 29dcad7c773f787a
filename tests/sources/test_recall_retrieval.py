"""Source 000, read side: weight, lists, plan and selection of memories, recomputed from what is answered."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from memories.models import Memory, MemoryVector
from tests.support.agent import Agent, Json, by_content, rrf_of, value_of
from tests.support.retrieval_world import NOW, lexemes

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

HALF_LIVES = {"Entity": 365, "Fact": 180, "Relation": 180, "Preference": 90, "Event": 30}
WEIGHTS = {"semantic": 1.0, "bm25": 1.0, "entity": 1.0, "temporal": 1.0, "traversal": 0.8, "rerank": 1.0}
QUERIES = (
    "Which database does invoicing use?",
    "What does Maya prefer recently?",
    "Who left Arrive on 2026-01-01?",
    "Tell me about everything new",
)


def freshness(age_days: float, type: str) -> float:
    return max(2 ** (-age_days / HALF_LIVES[type]), 0.1)


def access_boost(count: int) -> float:
    return 1 + math.log(1 + count)


@pytest.mark.parametrize("query", QUERIES)
def test_a_weight_is_rrf_times_freshness_times_access_boost(reader: Agent, query: str) -> None:
    answer = reader.retrieve(query, system="recall", top_k=100)
    plan = {name.removeprefix("weight_"): w for name, w in answer["plan"]["params"].items() if name[:7] == "weight_"}
    assert answer["results"]
    for result in answer["results"]:
        accesses = reader.memory(result["id"])["access_count"]
        parts = (
            rrf_of(result, 60, plan),
            freshness(result["age_days"], result["type"]),
            access_boost(accesses),
        )
        assert (result["rrf"], result["freshness"], result["access_boost"]) == pytest.approx(parts, abs=1e-12)
        assert result["score"] == pytest.approx(math.prod(parts), abs=1e-12)
        for name, hit in result["retrievers"].items():
            assert hit["contribution"] == pytest.approx(plan[name] / (60 + hit["rank"]), abs=1e-12)


def test_memories_come_by_falling_weight(reader: Agent) -> None:
    scores = [one["score"] for one in reader.retrieve(QUERIES[0], system="recall", top_k=100)["results"]]
    assert len(scores) > 5
    assert scores == sorted(scores, reverse=True)


def test_every_retriever_finds_and_each_has_its_weight(reader: Agent) -> None:
    answer = reader.retrieve("Which database did Maya and invoicing use last month?", system="recall", top_k=100)
    assert answer["plan"]["retrievers"] == ["semantic", "bm25", "entity", "temporal", "traversal"]
    defaults = {f"weight_{name}": weight for name, weight in WEIGHTS.items()}
    given = reader.retrieve(
        "Which database did Maya and invoicing use last month?", system="recall", top_k=100, params=defaults
    )
    found = {name for result in given["results"] for name in result["retrievers"]}
    assert found >= {"semantic", "bm25", "entity", "temporal", "traversal"}
    for result in given["results"]:
        assert result["rrf"] == pytest.approx(rrf_of(result, 60, WEIGHTS), abs=1e-12)


def test_the_weights_of_the_retrievers_are_those_of_the_table_where_no_plan_changes_them(reader: Agent) -> None:
    answer = reader.retrieve("Tell me about the new oven and the cat", system="recall")
    assert answer["plan"]["entities"] == []
    for name, weight in WEIGHTS.items():
        assert answer["plan"]["params"][f"weight_{name}"] == weight


@pytest.mark.parametrize(
    ("k", "first", "fiftieth", "spread"), [(10, 11, 60, 5.45), (60, 61, 110, 1.80), (200, 201, 250, 1.24)]
)
def test_k_sets_how_far_the_first_rank_stands_above_the_fiftieth(
    reader: Agent, k: int, first: int, fiftieth: int, spread: float
) -> None:
    answer = reader.retrieve(QUERIES[0], system="recall", params={"rrf_k": k})
    best = {
        name: hit["contribution"]
        for result in answer["results"]
        for name, hit in result["retrievers"].items()
        if hit["rank"] == 1 and name in ("semantic", "bm25")
    }
    assert best == pytest.approx({"semantic": 1 / first, "bm25": 1 / first})
    assert fiftieth / first == pytest.approx(spread, abs=0.006)


@pytest.mark.parametrize(("preset", "k"), [("exact-match", 30), ("exploratory", 90)])
def test_k_is_30_for_exact_matches_and_90_for_exploration_by_name(reader: Agent, preset: str, k: int) -> None:
    answer = reader.retrieve(QUERIES[0], system="recall", preset=preset)
    hits = [hit for one in answer["results"] for name, hit in one["retrievers"].items() if name in ("semantic", "bm25")]
    assert len(hits) > 5
    for hit in hits:
        assert hit["contribution"] == pytest.approx(1 / (k + hit["rank"]), abs=1e-12)


# Decay, access and ties, in a world of five types


@pytest.fixture
def old_world(agent: Agent) -> Agent:
    """One memory of each type as old as its half-life, and one of five years."""
    things = {"Entity": "heron", "Fact": "otter", "Relation": "badger", "Preference": "lynx", "Event": "marten"}
    for type, animal in things.items():
        at = NOW - timedelta(days=HALF_LIVES[type])
        agent.remember(f"The {animal} lives by the old mill", type=type, created_at=at.isoformat(), session=animal)
    old = NOW - timedelta(days=5 * 365)
    agent.remember("A windmill stood where the school is", created_at=old.isoformat())
    return agent


def test_each_type_is_half_as_fresh_after_its_half_life(old_world: Agent) -> None:
    results = old_world.retrieve("Who lives by the old mill?", system="recall", params={"mmr": "off"}, top_k=50)[
        "results"
    ]
    halved = {one["type"]: one for one in results if "lives" in one["content"]}
    assert {type: one["age_days"] for type, one in halved.items()} == HALF_LIVES
    for one in halved.values():
        assert one["freshness"] == 0.5
        assert one["score"] == pytest.approx(one["rrf"] * 0.5)


def test_what_is_five_years_old_keeps_a_tenth_and_is_found_by_a_specific_query(old_world: Agent) -> None:
    answer = old_world.retrieve("Where did the windmill stand?", system="recall", params={"mmr": "off"})
    old = by_content(answer)["A windmill stood where the school is"]
    assert 2 ** (-old["age_days"] / 180) < 0.001
    assert old["freshness"] == 0.1
    assert old["score"] == pytest.approx(old["rrf"] * 0.1)
    unfloored = old_world.retrieve("Where did the windmill stand?", system="recall", params={"freshness_floor": 0.0})
    assert by_content(unfloored)[old["content"]]["freshness"] == pytest.approx(2 ** (-5 * 365 / 180))


def test_retrieval_itself_raises_the_boost_along_the_table_where_100_is_an_erratum(agent: Agent) -> None:
    id = agent.remember("Keeps a lighthouse on the northern coast")["memory"]["id"]
    boosts = {}
    for session in range(6):
        (found,) = agent.retrieve("Who keeps a lighthouse?", system="recall", record=True, session=f"s{session}")[
            "results"
        ]
        boosts[session] = found["access_boost"]
    for count in (10, 100):
        Memory.objects.filter(id=id).update(access_count=count)
        boosts[count] = agent.retrieve("Who keeps a lighthouse?", system="recall")["results"][0]["access_boost"]
    assert [round(boosts[count], 3) for count in (0, 1, 5, 10, 100)] == [1.000, 1.693, 2.792, 3.398, 5.615]
    assert boosts[4] == pytest.approx(2.609, abs=5e-4)
    assert boosts[100] / boosts[4] == pytest.approx(2.15, abs=0.005)


def test_equal_weights_are_ordered_by_id(agent: Agent) -> None:
    agent.post("entities/", name="Quill", kind="system")
    by_entity = agent.remember("It was rewritten in spring", subject="Quill", session="a")["memory"]["id"]
    by_words = agent.remember("The harbour crane is painted yellow", session="b")["memory"]["id"]
    off = {f"weight_{name}": 0 for name in ("semantic", "temporal", "traversal", "rerank")}
    answer = agent.retrieve("Quill harbour crane", system="recall", params=off | {"weight_bm25": 1, "weight_entity": 1})
    assert [one["score"] for one in answer["results"]] == [1 / 61, 1 / 61]
    assert [one["id"] for one in answer["results"]] == sorted([by_entity, by_words])


def test_four_accesses_more_than_make_up_for_a_half_life(agent: Agent) -> None:
    at = (NOW - timedelta(days=90)).isoformat()
    stale = agent.remember("Uses PostgreSQL for new projects", type="Preference", created_at=at)["memory"]["id"]
    Memory.objects.filter(id=stale).update(access_count=4)
    (found,) = agent.retrieve("Which database for new projects?", system="recall")["results"]
    assert found["freshness"] * found["access_boost"] == pytest.approx(1.305, abs=5e-4)
    assert found["score"] == pytest.approx(1.305 * found["rrf"], rel=5e-4)
    assert found["score"] > found["rrf"], "more than a fresh memory of the same ranks that was never used"


def test_two_accesses_outweigh_forty_nine_ranks_and_the_page_says_so(agent: Agent) -> None:
    texts = [f"Otter number {number} was seen at bridge {number}" for number in range(60)]
    body = {"type": "Fact", "source_level": "direct", "extractor": {"model": "haiku"}}
    agent.post("memories/batch/", memories=[{"content": text, **body} for text in texts])
    only = {"mmr": "off", "reranker": "off"} | {
        f"weight_{name}": 0 for name in ("bm25", "entity", "temporal", "traversal")
    }
    query = {"query": "Where was the otter seen?", "system": "recall", "params": only, "top_k": 100}
    results = agent.retrieve(**query)["results"]
    fiftieth = results[49]
    assert fiftieth["retrievers"]["semantic"]["rank"] == 50
    Memory.objects.filter(id=fiftieth["id"]).update(access_count=2)
    first = agent.retrieve(**query)["results"][0]
    assert (first["id"], first["retrievers"]["semantic"]["rank"]) == (fiftieth["id"], 50)
    page = " ".join(agent.client.get("/formulas/recall/").content.decode().split())
    assert "rank 50" in page


# Single retrievers


@pytest.mark.parametrize(("given", "k1", "b"), [({}, 1.2, 0.75), ({"bm25_k1": 2.0, "bm25_b": 0.3}, 2.0, 0.3)])
def test_bm25_is_summed_over_the_words_of_the_query_with_the_constants_of_the_text(
    reader: Agent, given: dict[str, float], k1: float, b: float
) -> None:
    rows = Memory.objects.within(reader.namespace).filter(status="active")
    texts = {str(one.id): lexemes(one.content) for one in rows}
    lengths = {id: sum(words.values()) for id, words in texts.items()}
    average = sum(lengths.values()) / len(lengths)

    def bm25(id: str, query: str) -> float:
        score = 0.0
        for term in set(lexemes(query)) & texts[id].keys():
            holding = sum(term in words for words in texts.values())
            idf = math.log((len(texts) - holding + 0.5) / (holding + 0.5) + 1)
            f = texts[id][term]
            score += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * lengths[id] / average))
        return score

    query = "invoicing backup database schema"
    answer = reader.retrieve(query, system="recall", top_k=100, params=given)
    hits = {one["id"]: one["retrievers"]["bm25"] for one in answer["results"] if "bm25" in one["retrievers"]}
    assert len(hits) >= 3
    for id, hit in hits.items():
        assert hit["score"] == pytest.approx(bm25(id, query), abs=1e-6)


def test_a_word_said_ten_times_counts_more_than_once_and_less_than_thrice(agent: Agent) -> None:
    once = "tide " + " ".join(f"w{number}" for number in range(9))
    tenfold = " ".join(["tide"] * 10)
    for number, text in enumerate((once, tenfold, "The harbour is deep and cold in the winter months too")):
        agent.remember(text, session=f"s{number}")
    results = by_content(agent.retrieve("tide", system="recall"))
    scores = [results[text]["retrievers"]["bm25"]["score"] for text in (once, tenfold)]
    assert scores[0] < scores[1] < 3 * scores[0]


def test_time_is_a_bell_curve_whose_bandwidth_is_half_the_window(agent: Agent) -> None:
    days = {"The fair opened": 0, "The market was flooded": 10, "The bridge was closed": 25}
    for text, before in days.items():
        at = NOW.replace(month=2, day=1, hour=0) - timedelta(days=before)
        agent.remember(f"{text} for visitors", type="Event", event_at=at.isoformat(), session=text)
    answer = agent.retrieve("What happened in February 2026?", system="recall")
    start, until = (datetime.fromisoformat(answer["plan"]["window"][name]) for name in ("start", "until"))
    scores = {text: one["retrievers"]["temporal"]["score"] for text, one in by_content(answer).items()}
    for text, before in days.items():
        distance = timedelta(days=before) / ((until - start) / 2)
        assert scores[f"{text} for visitors"] == pytest.approx(math.exp(-(distance**2) / 2), abs=1e-9)


def test_each_hop_counts_what_the_table_says_times_the_weakest_edge(agent: Agent) -> None:
    names = ("Ahlm", "Birka", "Corvin", "Dalby", "Esrum")
    ids = [agent.post("entities/", name=name, kind="place")["id"] for name in names]
    confidences = (0.9, 0.5, 0.8, 1.0)
    for (source, target), confidence in zip(pairwise(ids), confidences, strict=True):
        agent.post("edges/", source=source, predicate="leads to", target=target, confidence=confidence)
    for name in names:
        agent.remember(f"Has a mill by its river, number {names.index(name)}", subject=name, session=name)
    answer = agent.retrieve("Ahlm", system="recall", params={"confidence_gate": False, "mmr": "off"})
    scores = {
        Memory.objects.get(id=one["id"]).subject_surface: one["retrievers"]["traversal"]["score"]
        for one in answer["results"]
        if "traversal" in one["retrievers"]
    }
    assert scores == pytest.approx({"Birka": 1.0 * 0.9, "Corvin": 0.6 * 0.5, "Dalby": 0.35 * 0.5})
    by_rank = sorted(
        (one["retrievers"]["traversal"] for one in answer["results"] if "traversal" in one["retrievers"]),
        key=lambda hit: hit["rank"],
    )
    assert [hit["contribution"] for hit in by_rank] == pytest.approx([0.8 / 61, 0.8 / 62, 0.8 / 63])


# The plan


def specificity_parts(answer: Json) -> tuple[float, float, float, float]:
    tree = answer["plan"]["specificity"]
    names = ("entity_density", "temporal_precision", "lexical_rarity", "type_cue")
    density, precision, rarity, cue = (value_of(tree, name) for name in names)
    return density, precision, rarity, cue


@pytest.mark.parametrize("query", QUERIES)
def test_specificity_is_the_weighted_sum_of_its_four_parts(reader: Agent, query: str) -> None:
    answer = reader.retrieve(query, system="recall")
    parts = specificity_parts(answer)
    expected = sum(weight * part for weight, part in zip((0.35, 0.25, 0.25, 0.15), parts, strict=True))
    assert answer["plan"]["specificity"]["value"] == pytest.approx(expected, abs=1e-12)
    assert parts[0] == len(answer["plan"]["entities"]) / len(query.split())


@pytest.mark.parametrize(
    ("query", "precision"),
    [
        ("What happened on 2026-01-01?", 1.0),
        ("What happened last week?", 0.7),
        ("What happened recently?", 0.3),
        ("What happened?", 0.0),
    ],
)
def test_a_time_is_as_precise_as_it_is_said(reader: Agent, query: str, precision: float) -> None:
    assert specificity_parts(reader.retrieve(query, system="recall"))[1] == precision


@pytest.mark.parametrize(
    ("query", "strength"),
    [("Which preferences does Maya have?", 1.0), ("What does Maya prefer?", 0.5), ("Invoicing database", 0.0)],
)
def test_a_type_is_cued_by_its_keyword_or_implied(reader: Agent, query: str, strength: float) -> None:
    assert specificity_parts(reader.retrieve(query, system="recall"))[3] == strength


def test_lexical_rarity_is_the_mean_idf_of_the_query_over_the_greatest_of_the_corpus(reader: Agent) -> None:
    rows = Memory.objects.within(reader.namespace).filter(status="active")
    texts = [set(lexemes(one.content)) for one in rows]

    def idf(term: str) -> float:
        holding = sum(term in text for text in texts)
        return math.log((len(texts) - holding + 0.5) / (holding + 0.5) + 1)

    query = "invoicing backup database"
    highest = max(idf(term) for term in set[str]().union(*texts))
    mean = sum(idf(term) for term in lexemes(query)) / len(lexemes(query))
    assert specificity_parts(reader.retrieve(query, system="recall"))[2] == pytest.approx(mean / highest, abs=1e-9)


def plan_of(reader: Agent, query: str, **params: Any) -> Json:
    answer = reader.retrieve(query, system="recall", params=params, top_k=50)
    return {**answer["plan"], "results": answer["results"], "value": answer["plan"]["specificity"]["value"]}


def test_a_precise_query_asks_semantic_and_entity_alone_reranks_nothing_and_returns_five(reader: Agent) -> None:
    plan = plan_of(reader, "Maya Priya facts 2026-01-31", precise_from=0.7)
    assert 0.72 < plan["value"] < 0.8
    assert plan_of(reader, "Maya Priya facts 2026-01-31")["name"] == "entity-centric"
    assert (plan["name"], plan["retrievers"], plan["reranker"]) == ("precise", ["semantic", "entity"], None)
    assert len(plan["results"]) == 5


def test_a_query_with_a_sure_entity_doubles_the_weight_of_the_entity_graph(reader: Agent) -> None:
    plan = plan_of(reader, "Which database does invoicing use?")
    assert max(one["confidence"] for one in plan["entities"]) > 0.85
    assert (plan["name"], plan["params"]["weight_entity"]) == ("entity-centric", 2.0)
    assert {plan["params"][f"weight_{name}"] for name in ("semantic", "bm25", "temporal")} == {1.0}


def test_a_query_with_a_window_raises_the_weight_of_time_by_half(reader: Agent) -> None:
    plan = plan_of(reader, "What happened last week?")
    assert (plan["name"], plan["params"]["weight_temporal"]) == ("temporal", 1.5)


def test_a_vague_query_is_explored_by_all_retrievers_with_reranker_and_mmr(reader: Agent) -> None:
    plan = plan_of(reader, "Tell me about the new oven and the cat")
    assert plan["value"] < 0.4
    assert (plan["name"], len(plan["retrievers"])) == ("exploratory", 5)
    assert plan["reranker"]
    assert all("rerank" in one["retrievers"] for one in plan["results"][:3])
    assert [one["selection"]["step"] for one in plan["results"]] == list(range(1, len(plan["results"]) + 1))
    assert {plan["params"][f"weight_{name}"] for name in ("semantic", "bm25", "entity", "temporal")} == {1.0}


@pytest.mark.parametrize(
    ("query", "plan"), [("Facts: new database coffee", "exploratory"), ("Facts: coffee oven recently", "hybrid")]
)
def test_a_query_is_vague_below_four_tenths(reader: Agent, query: str, plan: str) -> None:
    told = plan_of(reader, query)
    assert told["name"] == plan
    assert (0.36 < told["value"] < 0.4) == (plan == "exploratory")
    assert (0.4 <= told["value"] < 0.5) == (plan == "hybrid")


def test_any_other_query_has_the_balanced_plan_without_mmr(reader: Agent) -> None:
    plan = plan_of(reader, "Facts: coffee oven hotel recently")
    assert 0.4 <= plan["value"] < 0.8
    assert (plan["name"], plan["reranker"]) == ("hybrid", None)
    assert all("selection" not in one for one in plan["results"])


def test_what_the_caller_gives_wins_over_the_plan(reader: Agent) -> None:
    plan = plan_of(reader, "Which database does invoicing use?", weight_entity=0.5)
    assert (plan["name"], plan["params"]["weight_entity"]) == ("entity-centric", 0.5)


# Selection and gates


def greedy(relevance: Sequence[float], cosine: np.ndarray[Any, Any], balance: float, count: int) -> list[int]:
    """Maximal marginal relevance by a plain loop."""
    chosen: list[int] = []
    while len(chosen) < min(count, len(relevance)):
        rest = [i for i in range(len(relevance)) if i not in chosen]
        chosen.append(
            max(
                rest,
                key=lambda i: balance * relevance[i] - (1 - balance) * max((cosine[i, j] for j in chosen), default=0.0),
            )
        )
    return chosen


@pytest.mark.parametrize("balance", [0.5, None, 0.9])
@pytest.mark.parametrize("relevance", ["scaled", "raw"])
def test_mmr_trades_relevance_against_the_cosine_to_what_is_selected(
    reader: Agent, balance: float | None, relevance: str
) -> None:
    params = {"mmr": "on", "mmr_relevance": relevance} | ({"mmr_lambda": balance} if balance else {})
    query = {"query": QUERIES[0], "system": "recall", "top_k": 100}
    gates = {"confidence_gate": False}
    ranked = reader.retrieve(**query, params={"mmr": "off"} | gates)["results"]
    picked = reader.retrieve(**query, params=params | gates)["results"]
    vectors = {
        str(row.memory_id): np.asarray(row.vector, dtype=float)
        for row in MemoryVector.objects.within(reader.namespace).filter(route="vec_full")
    }
    matrix = np.array([vectors[one["id"]] / np.linalg.norm(vectors[one["id"]]) for one in ranked])
    worth = [one["rrf"] if relevance == "raw" else one["score"] for one in ranked]
    if relevance == "scaled":
        relevant = {one["id"]: one["selection"]["relevance"] for one in picked}
        low, high = min(worth), max(worth)
        scaled = [(value - low) / (high - low) for value in worth]
        # The batch also holds what is not valid yet, so the scale is affine in the weights, not the same.
        slope = np.polyfit(scaled, [relevant[one["id"]] for one in ranked], 1)
        assert np.polyval(slope, scaled) == pytest.approx([relevant[one["id"]] for one in ranked], abs=1e-9)
        worth = [relevant[one["id"]] for one in ranked]
    expected = [ranked[i]["id"] for i in greedy(worth, matrix @ matrix.T, balance or 0.7, len(ranked))]
    assert [one["id"] for one in picked] == expected


def test_the_greater_lambda_the_closer_to_the_order_by_relevance(reader: Agent) -> None:
    def order(**params: Any) -> list[str]:
        answer = reader.retrieve(QUERIES[0], system="recall", top_k=100, params=params)
        return [one["id"] for one in answer["results"]]

    ranked = order(mmr="off")

    def displacement(balance: float) -> int:
        picked = order(mmr="on", mmr_lambda=balance)
        return sum(abs(ranked.index(id) - place) for place, id in enumerate(picked))

    # The declared range ends at .9; ever closer to 1, it is the order by relevance alone.
    assert displacement(0.5) > displacement(0.7) >= displacement(0.9)


def test_mmr_is_off_unless_the_plan_or_the_caller_turns_it_on(reader: Agent) -> None:
    for query, params, selected in (
        (QUERIES[0], {}, False),
        (QUERIES[0], {"mmr": "on"}, True),
        ("Tell me about the new oven and the cat", {}, True),
        ("Tell me about the new oven and the cat", {"mmr": "off"}, False),
    ):
        results = reader.retrieve(query, system="recall", params=params)["results"]
        assert ("selection" in results[0]) == selected


def test_a_memory_below_the_minimum_confidence_is_filtered_unless_the_gate_is_off(reader: Agent) -> None:
    query = {"query": "Where is the new oven?", "system": "recall"}
    oven = "The kitchen at Arrive has a new oven"
    stored = Memory.objects.within(reader.namespace).get(content=oven)
    answer = reader.retrieve(**query)
    assert stored.confidence < 0.5
    assert oven not in by_content(answer)
    assert answer["filtered"]["low_confidence"] >= 1
    assert oven in by_content(reader.retrieve(**query, params={"confidence_gate": False}))


def test_the_minimum_confidence_is_one_half(agent: Agent) -> None:
    stored = []
    for level, text in (
        ("weak_inference", "Perhaps the ferry leaves at dawn"),
        ("strong_inference", "Boats leave early"),
    ):
        told = {"source_level": level, "type": "Relation", "extractor": {"model": "other"}}
        stored.append(agent.remember(text, session=level, **told)["memory"]["confidence"])
    assert stored == pytest.approx([0.4575, 0.5475])
    answer = agent.retrieve("When does the ferry leave?", system="recall")
    assert [one["confidence"] for one in answer["results"]] == [stored[1]]
    assert answer["filtered"] == {"low_confidence": 1}


def test_at_most_fifty_memories_enter_the_context_unless_the_cut_is_moved(agent: Agent) -> None:
    animals = [f"Otter number {number} was seen at bridge {number}" for number in range(60)]
    body = {"type": "Fact", "source_level": "direct", "extractor": {"model": "haiku"}}
    agent.post("memories/batch/", memories=[{"content": text, **body} for text in animals])
    query = {"query": "Where was the otter seen?", "system": "recall", "top_k": 100}
    assert len(agent.retrieve(**query, params={"mmr": "off"})["results"]) == 50
    assert len(agent.retrieve(**query, params={"mmr": "off", "cut": 55})["results"]) == 55


def test_the_context_groups_memories_by_type_with_confidence_and_age(reader: Agent) -> None:
    answer = reader.retrieve("What does Maya prefer?", system="recall")
    preferences = answer["context"]["Preference"]
    assert {entry["type"] for entry in preferences} == {"Preference"}
    entry = next(one for one in preferences if one["content"].startswith("Maya prefers PostgreSQL"))
    assert set(entry) >= {"id", "type", "content", "confidence", "age_days"}
    assert entry["age_days"] == 90
    assert entry["confidence"] == reader.memory(entry["id"])["confidence"]


# Appendix C


def test_the_memory_of_the_example_goes_through_its_ten_steps(agent: Agent) -> None:
    said = "Uses PostgreSQL for new projects; team standard since joining Arrive in 2024"
    at = (NOW - timedelta(days=90)).isoformat()
    told = {"type": "Preference", "extractor": {"model": "Claude Haiku"}, "created_at": at}
    for session in "abcd":
        stored = agent.remember(said, session=session, **told)
    confidence = 0.45 * 0.95 + 0.20 * (1 - 1 / (1 + math.log(4))) + 0.25 * 0.80 + 0.10 * 0.75
    assert stored["memory"]["confidence"] == pytest.approx(confidence, abs=1e-12)
    assert round(confidence, 4) == 0.8187
    query = {"query": "What database does the user prefer for new projects?", "system": "recall"}
    for session in "wxyz":
        agent.retrieve(**query, record=True, session=session)
    answer = agent.retrieve(**query)
    (found,) = answer["results"]
    assert (found["freshness"], round(found["access_boost"], 3)) == (0.5, 2.609)
    # The ranks of the text, third in semantic and first in BM25, give its RRF score and its weight.
    rrf = 1 / 63 + 1 / 61
    weight = rrf * found["freshness"] * found["access_boost"]
    assert (round(rrf, 6), round(weight, 6)) == (0.032266, 0.042099)
    assert found["score"] / found["rrf"] * rrf == pytest.approx(weight)
    (entry,) = answer["context"]["Preference"]
    assert (entry["content"], round(entry["confidence"], 2), entry["age_days"]) == (said, 0.82, 90)
