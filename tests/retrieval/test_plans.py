"""Specificity of a query, the plan it selects, and what of it is embedded."""

import math
import re
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import Memory, Namespace, TokenStates
from memories.providers.embedder import embedder
from memories.providers.token_matrix import TokenMatrix
from memories.retrieval.candidate_rows import VECTORS
from memories.retrieval.parse import understand
from memories.retrieval.retrieve import Retrieval, retrieve
from scoring.systems import SYSTEMS
from scoring.systems.candidates import MaxSimParams
from tests.support.explanations import evaluate
from tests.support.retrieval_world import add_entity, answer_to_dict, make_query

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

RETRIEVERS = ("semantic", "bm25", "entity", "temporal", "traversal")
PRECISE = "Jonas Lisbon relation 2026-01-05"
ENTITY_CENTRIC = "What does Maya prefer?"
TEMPORAL = "Which talks took place last month?"
EXPLORATORY = "coffee"
HYBRID = "hotel hill event lately"


def rarity(namespace: Namespace, text: str) -> float:
    """The mean idf of a query's words against the idf of a word that one memory holds, from the texts alone.

    A stop word counts 0, a word that no memory holds does not count.
    """
    texts = list(Memory.objects.within(namespace).filter(status="active").values_list("content", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT lexeme, (SELECT count(*) FROM unnest(%s::text[]) t
                WHERE lexeme = ANY(tsvector_to_array(to_tsvector('english', t))))
            FROM unnest(to_tsvector('english', %s))""",
            [texts, text],
        )
        held = [count for _, count in cursor.fetchall() if count]
        cursor.execute(
            "SELECT count(*) FROM unnest(%s::text[]) word WHERE to_tsvector('english', word) = ''",
            [list({word.lower() for word in re.findall(r"\w+", text)})],
        )
        (stop_words,) = cursor.fetchone()
    idfs = [math.log((len(texts) - count + 0.5) / (count + 0.5) + 1) for count in held] + [0.0] * stop_words
    highest = math.log((len(texts) - 0.5) / 1.5 + 1)
    return sum(idfs) / len(idfs) / highest if idfs else 0.0


@pytest.mark.parametrize(
    ("text", "entities", "time", "cue"),
    [
        (PRECISE, 2 / 4, 1.0, 1.0),
        (ENTITY_CENTRIC, 1 / 4, 0.0, 0.5),
        ("Who left Arrive two months ago?", 1 / 6, 0.7, 0.5),
        (HYBRID, 0.0, 0.3, 1.0),
        ("Where is the oven?", 0.0, 0.0, 0.0),
        ("Maya", 1.0, 0.0, 0.0),
        ("the of and", 0.0, 0.0, 0.0),
    ],
)
def test_specificity_is_made_of_names_time_rare_words_and_type(
    world: Namespace, text: str, entities: float, time: float, cue: float
) -> None:
    retrieval = retrieve(make_query(world, text))
    parts = [entities, time, rarity(world, text), cue]
    assert retrieval.parsed is not None
    assert list(retrieval.parsed.specificity_parts.values()) == pytest.approx(parts)
    whole = 0.35 * parts[0] + 0.25 * parts[1] + 0.25 * parts[2] + 0.15 * parts[3]
    tree = answer_to_dict(retrieval)["plan"]["specificity"]
    assert tree["value"] == pytest.approx(whole)
    assert evaluate(tree) == pytest.approx(whole)


def test_the_weights_of_specificity_are_the_callers_and_sum_to_one(world: Namespace) -> None:
    given = {"specificity_entities": 1.0, "specificity_time": 1.0, "specificity_rarity": 0.0, "specificity_type": 0.0}
    tree = answer_to_dict(retrieve(make_query(world, PRECISE, params=given)))["plan"]["specificity"]
    assert tree["value"] == pytest.approx((0.5 + 1.0) / 2)


@pytest.mark.parametrize(
    ("text", "plan", "asked", "weights"),
    [
        (PRECISE, "precise", ("semantic", "entity"), {}),
        (ENTITY_CENTRIC, "entity-centric", RETRIEVERS, {"weight_entity": 2.0}),
        (TEMPORAL, "temporal", RETRIEVERS, {"weight_temporal": 1.5}),
        (EXPLORATORY, "exploratory", RETRIEVERS, {}),
        (HYBRID, "hybrid", RETRIEVERS, {}),
    ],
)
@pytest.mark.parametrize("system", ["recall", "adaptive"])
def test_each_plan_is_reached_by_a_query_and_asks_whom_it_names(
    world: Namespace, system: str, text: str, plan: str, asked: tuple[str, ...], weights: dict[str, float]
) -> None:
    retrieval = retrieve(make_query(world, text, system))
    told = answer_to_dict(retrieval)["plan"]
    assert told["name"] == plan
    assert told["retrievers"] == list(asked)
    assert set(retrieval.fetched.lists) == set(asked)
    usual = SYSTEMS[system].params().as_dict()
    assert {name: value for name, value in told["params"].items() if value != usual[name]} == weights


@pytest.mark.parametrize("system", ["recall", "adaptive", "memsense", "blend"])
@pytest.mark.parametrize("mmr", ["plan", "on", "off"])
@pytest.mark.parametrize("text", [PRECISE, ENTITY_CENTRIC, TEMPORAL, EXPLORATORY, HYBRID])
def test_vectors_are_read_only_where_candidates_are_compared_with_each_other(
    world: Namespace, system: str, text: str, mmr: str
) -> None:
    params = {"mmr": mmr} if system in ("recall", "adaptive") else {}
    with CaptureQueriesContext(connection) as captured:
        retrieval = retrieve(make_query(world, text, system, params=params))
    diversified = mmr == "on" or (mmr == "plan" and text == EXPLORATORY)
    compared = {"recall": diversified, "adaptive": diversified, "memsense": True, "blend": False}[system]
    assert (VECTORS in [query["sql"] for query in captured]) == compared
    assert (retrieval.signals.vectors is not None) == compared


def test_a_precise_query_needs_names_for_nearly_half_of_its_words(world: Namespace) -> None:
    assert answer_to_dict(retrieve(make_query(world, PRECISE)))["plan"]["specificity"]["value"] >= 0.8
    # With all else at its highest, the share of names must still be three of seven words.
    assert pytest.approx(3 / 7) == (0.8 - 0.25 - 0.25 - 0.15) / 0.35
    fewer = answer_to_dict(retrieve(make_query(world, "Which relation has Jonas to Lisbon since 2026-01-05")))["plan"]
    assert fewer["specificity"]["value"] < 0.8
    assert fewer["name"] == "entity-centric"


def test_a_precise_query_gets_five_at_most_unless_the_caller_says_otherwise(world: Namespace) -> None:
    assert len(answer_to_dict(retrieve(make_query(world, PRECISE, top_k=10)))["results"]) == 5
    assert len(answer_to_dict(retrieve(make_query(world, PRECISE, top_k=3)))["results"]) == 3
    assert (
        len(answer_to_dict(retrieve(make_query(world, PRECISE, top_k=10, params={"precise_top_k": 8})))["results"]) == 8
    )


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (ENTITY_CENTRIC, {"weight_entity": 0.25}),
        (ENTITY_CENTRIC, {"weight_entity": 1.0}),  # the default itself, said aloud
        (TEMPORAL, {"weight_temporal": 0.0}),
        (TEMPORAL, {"weight_temporal": 1.0}),
    ],
)
def test_what_the_caller_says_wins_over_the_plan(world: Namespace, text: str, given: dict[str, float]) -> None:
    told = answer_to_dict(retrieve(make_query(world, text, params=given)))
    assert {name: told["plan"]["params"][name] for name in given} == given
    ((name, weight),) = given.items()
    route = name.removeprefix("weight_")
    shares = [one["retrievers"][route] for one in told["results"] if route in one["retrievers"]]
    assert bool(shares) == bool(weight)  # a retriever of weight 0 is not asked
    assert [one["contribution"] for one in shares] == pytest.approx([weight / (60 + one["rank"]) for one in shares])


@pytest.mark.parametrize(
    ("text", "given", "plan"),
    [
        (ENTITY_CENTRIC, {"entity_plan_weight": 3.0}, {"weight_entity": 3.0}),
        (TEMPORAL, {"temporal_plan_weight": 0.5}, {"weight_temporal": 0.5}),
    ],
)
def test_the_weight_of_a_plan_can_be_set(
    world: Namespace, text: str, given: dict[str, float], plan: dict[str, float]
) -> None:
    told = answer_to_dict(retrieve(make_query(world, text, params=given)))["plan"]["params"]
    assert {name: told[name] for name in plan} == plan


@pytest.mark.parametrize(
    ("text", "given", "plan"),
    [
        (PRECISE, {"precise_from": 0.9}, "entity-centric"),
        (TEMPORAL, {"window_from": 0.8}, "exploratory"),
        (HYBRID, {"exploratory_below": 0.5}, "exploratory"),
        (HYBRID, {"window_from": 0.3}, "temporal"),
    ],
)
def test_the_threshold_of_a_plan_can_be_set(world: Namespace, text: str, given: dict[str, float], plan: str) -> None:
    assert answer_to_dict(retrieve(make_query(world, text)))["plan"]["name"] != plan
    assert answer_to_dict(retrieve(make_query(world, text, params=given)))["plan"]["name"] == plan


# What is embedded


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("What does Maya prefer?", "What does prefer?"),
        ("What does Maya Lindqvist prefer?", "What does prefer?"),
        ("Maya's coffee and Priya’s schema", "coffee and schema"),
        ("maya and PRIYA drink coffee", "and drink coffee"),
        ("Which database does Invoicing use in Lisbon?", "Which database does Invoicing use in Lisbon?"),
        ("Mayan ruins near Priyanka", "Mayan ruins near Priyanka"),
        ("Maya, Priya and Jonas", ", and"),
        ("Maya", "Maya"),
        ("Maya? Priya!", "Maya? Priya!"),
        ("the of and", "the of and"),
        ("Does Maya know Maya?", "Does know ?"),
    ],
)
def test_people_are_taken_out_of_what_is_embedded(world: Namespace, text: str, bare: str) -> None:
    query = make_query(world, text)
    assert answer_to_dict(retrieve(query))["plan"]["embedded"] == bare
    alone = np.asarray(embedder(world.embedder).embed([bare])[0], dtype=float)
    assert understand(query).vector == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Maya Lindqvist said that Maya prefers tea", "said that prefers tea"),
        ("Maya says that MAYA drinks", "says that drinks"),
        ("Maya, that is Maya Lindqvist, drinks", ", that is , drinks"),
    ],
)
def test_a_person_who_is_named_twice_is_taken_out_twice(world: Namespace, text: str, bare: str) -> None:
    assert understand(make_query(world, text)).embedded_text == bare


def test_names_that_are_not_embedded_still_find_by_bm25_and_by_the_graph(world: Namespace) -> None:
    retrieval = retrieve(make_query(world, "What does Maya prefer?"))
    assert retrieval.parsed is not None
    assert {"maya", "prefer"} <= set(retrieval.parsed.terms.document_frequencies)
    spoken = set(Memory.objects.within(world).filter(content__contains="Maya").values_list("id", flat=True))
    assert spoken <= set(retrieval.fetched.lists["bm25"])
    assert retrieval.fetched.lists["entity"]
    assert retrieval.fetched.lists["traversal"]


def test_who_is_no_person_stays_in_what_is_embedded(world: Namespace) -> None:
    add_entity(world, "Standup", "ritual")
    assert understand(make_query(world, "When does Standup begin?")).embedded_text == "When does Standup begin?"


def test_a_family_name_means_its_owner_a_little_less_surely(world: Namespace) -> None:
    retrieval = retrieve(make_query(world, "What does Lindqvist prefer?"))
    assert retrieval.parsed is not None
    assert [one.confidence for one in retrieval.parsed.entities] == [0.95]
    assert retrieval.query_plan.plan.name == "entity-centric"
    lowest = retrieve(make_query(world, "What does Lindqvist prefer?", params={"mention_weight": 0.0}))
    assert set(lowest.fetched.lists["entity"].values()) == {0.95}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("text", ["Maya", "Maya Priya", "the of and", "?!", "ß", "日本語", "x" * 3000, "%s %(x)s {y}"])
def test_whatever_is_asked_gets_an_answer(world: Namespace, system: str, text: str) -> None:
    never = {"abstain_below": 0.0} if system == "blend" else {}
    answer = answer_to_dict(retrieve(make_query(world, text, system, params=never)), explain="full")
    assert answer["results"]
    assert answer["timed_out"] == []
    for one in answer["results"]:
        assert evaluate(one["explanation"]) == pytest.approx(one["score"], abs=1e-9)


def test_an_empty_namespace_says_that_nothing_was_found() -> None:
    empty = Namespace.objects.create(slug="empty", title="Empty")
    for system in SYSTEMS:
        answer = answer_to_dict(retrieve(make_query(empty, "What does Maya prefer?", system)))
        assert answer["abstained"]
        assert answer["reason"] == "No retriever found anything."
        assert answer["nearest"] == answer["results"] == []


# The reranker


def matched_words(retrieval: Retrieval) -> dict[Any, float]:
    """MaxSim of every candidate, word by word, from the stored states; what came before in its session counts less."""
    reading, params = retrieval.parsed, retrieval.params
    assert reading is not None
    assert reading.tokens is not None
    assert isinstance(params, MaxSimParams)
    weights = reading.token_weights(params.stop_weight)
    best: dict[Any, list[float]] = {}
    for states in TokenStates.objects.within(retrieval.query.namespace):
        stored = np.asarray(
            TokenMatrix.from_bytes(bytes(states.packed), states.tokens, states.scale).vectors, dtype=float
        )
        best[states.memory_id] = [max(0.0, *(float(mine @ theirs) for theirs in stored)) for mine in reading.tokens]
    scores = {}
    for memory in Memory.objects.within(retrieval.query.namespace).filter(id__in=best):
        earlier = Memory.objects.within(retrieval.query.namespace).filter(
            session_id=memory.session_id, level=memory.level, status="active", happened_at__lte=memory.happened_at
        )
        earlier = earlier.exclude(happened_at=memory.happened_at, id__gte=memory.id).order_by("-happened_at", "-id")
        before = earlier.first() if memory.session_id else None
        beside = best.get(before.id) if before else None
        met = [
            max(own, params.maxsim_before * (beside[place] if beside else 0.0))
            for place, own in enumerate(best[memory.id])
        ]
        told = sum(w * m**params.maxsim_power for w, m in zip(weights, met, strict=True))
        scores[memory.id] = told / sum(weights)
    return scores


@pytest.mark.parametrize(
    ("text", "reranker", "asked"),
    [
        (EXPLORATORY, "plan", True),
        (EXPLORATORY, "off", False),
        (EXPLORATORY, "on", True),
        (HYBRID, "plan", False),
        (HYBRID, "on", True),
        (ENTITY_CENTRIC, "plan", False),
        (ENTITY_CENTRIC, "on", True),
        (PRECISE, "plan", False),
    ],
)
def test_the_reranker_is_one_more_list_where_the_plan_or_the_caller_asks_for_it(
    world: Namespace, text: str, reranker: str, asked: bool
) -> None:
    retrieval = retrieve(make_query(world, text, params={"reranker": reranker}))
    assert ("rerank" in retrieval.signals.ranks) == asked
    answer = answer_to_dict(retrieval)
    for one in answer["results"]:
        assert ("rerank" in one["retrievers"]) == asked
    if not asked:
        return
    scores = matched_words(retrieval)
    ids = [row["id"] for row in retrieval.candidates.rows]
    near = dict(zip(ids, retrieval.signals.cosine, strict=True))
    expected = sorted(ids, key=lambda id: (-scores[id], -near[id], id))
    ranks = dict(zip(ids, retrieval.signals.ranks["rerank"], strict=True))
    assert sorted(ids, key=lambda id: ranks[id]) == expected
    for one in answer["results"]:
        found = one["retrievers"]["rerank"]
        assert found["score"] == pytest.approx(scores[one["id"]], abs=1e-6)
        assert found["contribution"] == pytest.approx(1 / (60 + found["rank"]))


def test_words_weigh_by_their_rarity_and_stop_words_little(world: Namespace) -> None:
    reading = understand(make_query(world, "what is the oven?"))
    *stops, oven, sign = reading.token_weights(0.5).tolist()
    assert (stops, sign) == ([0.5, 0.5, 0.5], 0.0)
    assert oven == pytest.approx(math.log((21 - 1 + 0.5) / 1.5 + 1))
    assert set(understand(make_query(world, "what is the")).token_weights(0.0).tolist()) == {1.0}
