"""Source 001: seven factors and one more, boosts, tiebreak, recomputed from what was stored."""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import Cluster, Memory
from memories.providers.embedder import embedder
from tests.support.agent import Agent, Json, by_content, has_node, min_max, value_of
from tests.support.retrieval_world import NOW

pytestmark = pytest.mark.django_db

DEFAULTS = {"semantic": 0.40, "cluster": 0.20, "recency": 0.15, "importance": 0.15, "usage": 0.10}
FACTORS = (*DEFAULTS, "quality", "decay", "graph")
BOOSTS = {
    "supports": 0.08,
    "extends": 0.07,
    "continuation": 0.06,
    "detail_of": 0.05,
    "summary_of": 0.04,
    "similar": 0.03,
    "references": 0.03,
    "derived_from": 0.02,
    "caused_by": 0.02,
    "contradiction": 0.01,
}
QUERY = "Where does the ferry leave for the island?"
# Content, and what the ranker reads: importance, quality, hours since it was stored, accesses.
SHELF = (
    ("The ferry to the island leaves from pier four", 0.9, 0.3, 3, 7),
    ("A ferry ticket costs twelve crowns", 0.2, 0.8, 30, 0),
    ("The island has no cars", 0.5, 0.5, 100, 2),
    ("The lighthouse keeper bakes bread on Sundays", 0.7, 0.9, 400, 40),
    ("Jellyfish arrive in the bay every August", 0.1, 0.1, 2000, 1),
)


@pytest.fixture
def shelf(agent: Agent) -> Agent:
    """Five memories that differ in everything the ranker reads, clustered."""
    for content, importance, quality, hours, accesses in SHELF:
        at = (NOW - timedelta(hours=hours)).isoformat()
        stored = agent.remember(content, importance=importance, quality=quality, created_at=at, session=content[:9])
        Memory.objects.filter(id=stored["memory"]["id"]).update(access_count=accesses)
    agent.run("reflect")
    return agent


def weights(**given: float) -> dict[str, float]:
    """Parameters that give every factor its weight."""
    return {f"weight_{name}": given.get(name, 0.0) for name in FACTORS}


def rank(agent: Agent, query: str = QUERY, **body: Any) -> dict[str, Json]:
    """The results by content, under the default formula, which the query does not change, and any parameters."""
    params = {"emphasis": "none"} | body.pop("params", {})
    return by_content(agent.retrieve(query, system="memorysync", top_k=100, params=params, **body))


def raw_factors(results: Mapping[str, Json]) -> dict[str, list[float]]:
    """The seven factors without edges, in the order of the results, from what was stored."""
    told = {content: rest for content, *rest in SHELF}
    query = np.asarray(embedder("all-MiniLM-L6-v2").embed([QUERY])[0], dtype=float)
    cluster_of = dict(Memory.objects.values_list("content", "cluster_id"))
    centroids = {row.id: np.asarray(row.centroid, dtype=float) for row in Cluster.objects.all()}

    def centroid_cosine(content: str) -> float:
        centroid = centroids[cluster_of[content]]
        return float(query @ centroid / np.linalg.norm(query) / np.linalg.norm(centroid))

    return {
        "semantic": [1 - min(max(1 - one["retrievers"]["semantic"]["score"], 0), 1) for one in results.values()],
        "cluster": [(centroid_cosine(content) + 1) / 2 for content in results],
        "recency": [math.exp(-told[content][2] * math.log(2) / 72) for content in results],
        "importance": [told[content][0] for content in results],
        "usage": [min(1.0, math.log(1 + told[content][3]) / 5) for content in results],
        "quality": [told[content][1] for content in results],
        "decay": [max(2 ** (-told[content][2] / 24 / 180), 0.1) for content in results],
    }


def test_the_hybrid_score_weighs_five_factors_scaled_over_the_batch(shelf: Agent) -> None:
    results = rank(shelf)
    assert len(results) == len(SHELF)
    factors = {name: min_max(values) for name, values in raw_factors(results).items()}
    for row, one in enumerate(results.values()):
        for name, values in factors.items():
            assert one[f"{name}_norm"] == pytest.approx(values[row], abs=1e-6)
        hybrid = sum(weight * factors[name][row] for name, weight in DEFAULTS.items())
        assert one["hybrid_score"] == pytest.approx(hybrid, abs=1e-6)
        assert one["score"] == pytest.approx(one["hybrid_score"], abs=1e-12), "nothing here is boosted"


def test_quality_decay_and_graph_are_computed_and_count_once_they_have_a_weight(shelf: Agent) -> None:
    ids = {row.content: str(row.id) for row in Memory.objects.all()}
    shelf.act(ids[SHELF[0][0]], "edges", target=ids[SHELF[2][0]], kind="similar", weight=0.7)
    for one in rank(shelf).values():
        for name in ("quality", "decay", "graph"):
            assert value_of(one["explanation"], f"{name} in batch") == one[f"{name}_norm"]
            assert 0 <= one[f"{name}_norm"] <= 1
    opted = {"semantic": 0.3, "quality": 0.5, "decay": 0.25, "graph": 0.15}
    results = rank(shelf, params=weights(**opted))
    factors = {name: min_max(values) for name, values in raw_factors(results).items()}
    factors["graph"] = min_max(0.7 if content in (SHELF[0][0], SHELF[2][0]) else 0.0 for content in results)
    for row, one in enumerate(results.values()):
        expected = sum(weight / 1.2 * factors[name][row] for name, weight in opted.items())
        assert one["hybrid_score"] == pytest.approx(expected, abs=1e-6)


def test_weights_that_do_not_sum_to_one_are_normalised(shelf: Agent) -> None:
    doubled = rank(shelf, params=weights(**{name: min(2 * weight, 1.0) for name, weight in DEFAULTS.items()}))
    assert {one["content"]: one["score"] for one in doubled.values()} == pytest.approx(
        {content: one["score"] for content, one in rank(shelf).items()}
    )


@pytest.mark.parametrize(
    ("query", "half_life"),
    [
        ("Where does the ferry leave right now?", 24),
        ("Is there any news of the ferry lately?", 24),
        ("Where does the ferry leave?", 72),
        ("What is the history of the ferry?", 168),
    ],
)
def test_recency_halves_by_the_half_life_of_the_intent_of_the_query(shelf: Agent, query: str, half_life: int) -> None:
    hours = {content: rest[2] for content, *rest in SHELF}
    for content, one in rank(shelf, query).items():
        recency = value_of(one["explanation"], "recency")
        assert recency == pytest.approx(math.exp(-hours[content] * math.log(2) / half_life), abs=1e-12)


def test_importance_is_one_half_where_none_is_given_and_no_other_score_takes_its_place(agent: Agent) -> None:
    given = agent.remember("The ferry leaves at dawn", importance=0.8, memory_score=0.1, session="a")["memory"]
    unstated = agent.remember("Ferries need fuel", source_level="weak_inference", session="b")["memory"]
    assert (given["importance"], unstated["importance"]) == (0.8, 0.5)
    for content, importance in ((given["content"], 0.8), (unstated["content"], 0.5)):
        one = rank(agent)[content]
        assert value_of(one["explanation"], "importance") == importance


def test_a_memory_used_a_thousand_times_counts_no_more_than_the_ceiling(shelf: Agent) -> None:
    content = SHELF[3][0]
    for accesses, usage in ((5, math.log(6) / 5), (147, math.log(148) / 5), (1000, 1.0)):
        Memory.objects.filter(content=content).update(access_count=accesses)
        one = rank(shelf)[content]
        assert value_of(one["explanation"], "usage") == pytest.approx(usage, abs=1e-12)


def test_an_outlier_lowers_everyone_else_in_its_batch_and_the_same_memory_scores_differently(shelf: Agent) -> None:
    before = rank(shelf)
    shelf.remember("The ferry for the island leaves each hour", importance=1.0, session="outlier")
    after = rank(shelf)
    middle = SHELF[2][0]
    assert after[middle]["importance_norm"] < before[middle]["importance_norm"]
    assert after[middle]["importance_norm"] == pytest.approx((0.5 - 0.1) / (1.0 - 0.1))
    assert after[middle]["score"] != before[middle]["score"]


def test_centroids_are_loaded_by_one_statement_however_many_there_are(shelf: Agent) -> None:
    with CaptureQueriesContext(connection) as queries:
        rank(shelf)
    assert sum("FROM memories_cluster" in one["sql"] for one in queries) == 1


def test_what_a_gate_filters_moves_neither_the_scale_nor_the_spread(shelf: Agent) -> None:
    before = rank(shelf)
    extreme = {"importance": 1.0, "quality": 1.0, "valid_from": (NOW + timedelta(days=1)).isoformat()}
    shelf.remember("Tomorrow the ferry for the island leaves each hour", session="outlier", **extreme)
    answer = shelf.retrieve(QUERY, system="memorysync", top_k=100, params=weights(**DEFAULTS))
    assert answer["filtered"] == {"not_yet_valid": 1}
    after = by_content(answer)
    assert {text: one["score"] for text, one in after.items()} == {text: one["score"] for text, one in before.items()}


# Weights chosen by the query


@pytest.mark.parametrize(
    ("query", "profile", "factor"),
    [
        ("Which pier does the ferry leave from?", "factual", "semantic"),
        ("What is the latest news of the ferry?", "recent", "recency"),
        ("Why does the ferry leave from pier four?", "analytical", "graph"),
    ],
)
def test_without_weights_the_query_raises_one_factor_above_the_default_profile(
    shelf: Agent, query: str, profile: str, factor: str
) -> None:
    answer = shelf.retrieve(query, system="memorysync", top_k=100)
    raised = {name: DEFAULTS.get(name, 0.0) + 0.15 * (name == factor) for name in FACTORS}
    told = answer["plan"]["weighting"]
    assert (told["emphasis"], told["weights"]) == (profile, pytest.approx({n: w / 1.15 for n, w in raised.items()}))
    for one in answer["results"]:
        hybrid = sum(weight / 1.15 * one[f"{name}_norm"] for name, weight in raised.items())
        assert one["hybrid_score"] == pytest.approx(hybrid, abs=1e-12)


def test_weights_in_a_request_are_not_adapted_to_the_query(shelf: Agent) -> None:
    query = "Why does the ferry leave from pier four?"
    answer = shelf.retrieve(query, system="memorysync", top_k=100, params=weights(**DEFAULTS))
    assert answer["plan"]["weighting"]["emphasis"] == "none"
    for one in answer["results"]:
        hybrid = sum(weight * one[f"{name}_norm"] for name, weight in DEFAULTS.items())
        assert one["hybrid_score"] == pytest.approx(hybrid, abs=1e-12)


# The tiebreak


@pytest.fixture
def boats(agent: Agent) -> Agent:
    """Four memories of the same words about four subjects, and one of other words."""
    for subject, importance, hours in (("Ada", 0.5, 9), ("Bo", 0.9, 50), ("Cy", 0.5, 1), ("Di", 0.5, 9)):
        at = (NOW - timedelta(hours=hours)).isoformat()
        agent.remember("Owns a boat", subject=subject, importance=importance, created_at=at, session=subject)
    agent.remember("The harbour is deep", importance=1.0, created_at=NOW.isoformat(), session="harbour")
    return agent


def test_a_flat_batch_is_ordered_by_semantic_importance_recency_and_id(boats: Agent) -> None:
    flat = {"weight_quality": 1.0} | {f"weight_{name}": 0.0 for name in DEFAULTS}
    answer = boats.retrieve("Who owns a boat?", system="memorysync", params=flat)
    assert answer["tiebreak_applied"]
    stored = {str(row.id): row for row in Memory.objects.all()}
    chain = [
        (-round(one["retrievers"]["semantic"]["score"], 9), -row.importance, one["age_days"], -row.id.int)
        for one in answer["results"]
        for row in [stored[one["id"]]]
    ]
    assert chain == sorted(chain)
    assert answer["results"][0]["content"] == "Owns a boat"
    assert stored[answer["results"][0]["id"]].subject_surface == "Bo"
    assert answer["results"][-1]["content"] == "The harbour is deep"


def test_a_batch_that_spreads_is_ordered_by_its_score_and_the_floor_is_two_hundredths(shelf: Agent) -> None:
    answer = shelf.retrieve(QUERY, system="memorysync", top_k=100, params=weights(**DEFAULTS))
    scores = [one["score"] for one in answer["results"]]
    assert np.std([one["hybrid_score"] for one in answer["results"]]) > 0.02
    assert not answer["tiebreak_applied"]
    assert scores == sorted(scores, reverse=True)
    Memory.objects.update(quality=0.5)
    usage = np.std([one["usage_norm"] for one in answer["results"]])
    for spread, applied in ((0.0195, True), (0.0205, False)):
        # Quality is the same for all, so the weight of usage alone spreads the scores, by as much as it weighs.
        share = spread / usage
        params = weights(quality=0.5, usage=0.5 * share / (1 - share))
        answer = shelf.retrieve(QUERY, system="memorysync", top_k=100, params=params)
        assert np.std([one["hybrid_score"] for one in answer["results"]]) == pytest.approx(spread, abs=1e-9)
        assert answer["tiebreak_applied"] == applied


# Boosts


def edge_boost(one: Json) -> float:
    return value_of(one["explanation"], "edge boost") if has_node(one["explanation"], "edge boost") else 0.0


def test_each_kind_of_edge_adds_its_boost_to_the_memory_it_leads_to(agent: Agent) -> None:
    hub = agent.remember("The ferry to the island leaves from pier four", session="hub")["memory"]["id"]
    spokes = {}
    for number, kind in enumerate(BOOSTS):
        content = f"Cabin {'abcdefghij'[number] * 3} of the boat {kind} was painted"
        spokes[content] = kind
        id = agent.remember(content, session=kind)["memory"]["id"]
        if kind == "contradiction":
            agent.act(hub, "contradict", memory=id)
        else:
            agent.act(hub, "edges", target=id, kind=kind)
    results = rank(agent)
    for content, kind in spokes.items():
        one = results[content]
        assert edge_boost(one) == pytest.approx(BOOSTS[kind])
        assert one["score"] == pytest.approx(one["hybrid_score"] + BOOSTS[kind])


@pytest.fixture
def chain(agent: Agent) -> tuple[Agent, Callable[..., list[float]]]:
    """Three memories in a chain, and how much each is boosted under some parameters."""
    texts = ("The ferry to the island leaves from pier four", "Pier four was rebuilt in oak", "Oak comes from Gotland")
    first, second, third = (agent.remember(text, session=text)["memory"]["id"] for text in texts)
    agent.act(first, "edges", target=second, kind="detail_of")
    agent.act(second, "edges", target=third, kind="extends")

    def boosts(**params: float) -> list[float]:
        results = rank(agent, params={"anchors": 1, **params})
        return [edge_boost(results[text]) for text in texts]

    return agent, boosts


def test_a_traversal_of_several_edges_lands_where_its_depth_allows(
    chain: tuple[Agent, Callable[..., list[float]]],
) -> None:
    _, boosts = chain
    assert boosts(traversal_depth=1) == [0.0, 0.05, 0.0]
    assert boosts(traversal_depth=2) == [0.0, 0.05, 0.07]


def test_of_several_edges_the_largest_boost_counts(chain: tuple[Agent, Callable[..., list[float]]]) -> None:
    agent, boosts = chain
    ferry, pier = (Memory.objects.get(content__startswith=word) for word in ("The ferry", "Pier"))
    agent.act(str(ferry.id), "edges", target=str(pier.id), kind="supports")
    assert boosts(traversal_depth=1) == [0.0, 0.08, 0.0]


def test_a_memory_of_what_a_user_often_reads_about_gains_up_to_a_tenth(agent: Agent) -> None:
    read = agent.remember("The ferry leaves at dawn", user="maya", tags=["ferry", "pier"], session="a")["memory"]
    half = agent.remember("Bread is sold at the harbour", user="maya", tags=["pier", "bread"], session="b")["memory"]
    other = agent.remember("Jellyfish arrive in August", user="maya", tags=["sea"], session="c")["memory"]
    Memory.objects.filter(id=read["id"]).update(access_count=5)
    gains = {}
    for content, one in rank(agent, user="maya").items():
        gains[content] = one["score"] - one["hybrid_score"]
    assert gains == pytest.approx({read["content"]: 0.10, half["content"]: 0.05, other["content"]: 0.0}, abs=1e-12)
    assert rank(agent)[read["content"]]["score"] == pytest.approx(rank(agent)[read["content"]]["hybrid_score"])
    rated = rank(agent, user="maya", params={"personalisation_rate": 0.2})[read["content"]]
    assert rated["score"] - rated["hybrid_score"] == pytest.approx(0.10), "capped"


def test_what_was_returned_earlier_in_a_session_gains_three_hundredths(shelf: Agent) -> None:
    shelf.retrieve(QUERY, system="memorysync", top_k=1, record=True, session="talk", params=weights(**DEFAULTS))
    in_session, elsewhere = rank(shelf, session="talk"), rank(shelf, session="another")
    first = next(iter(elsewhere))
    for content, one in in_session.items():
        gain = one["score"] - one["hybrid_score"]
        assert gain == pytest.approx(0.03 if content == first else 0.0, abs=1e-12)
    for one in elsewhere.values():
        assert one["score"] == one["hybrid_score"]
