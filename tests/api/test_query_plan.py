"""What a query's plan is chosen by, as the answer tells it."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from memories.contracts.new_memory import NewMemory
from memories.models import Namespace
from memories.models.choices import Role
from memories.writing.remember import remember
from tests.support.access import key_to
from tests.support.explanations import evaluate

pytestmark = pytest.mark.django_db

FACTS = ("Maya knows the harbour", "The harbour freezes", "Jonas sails to the harbour", "Torsk is a fat ginger cat")


@pytest.fixture(scope="module")
def harbour(django_db_setup: None, django_db_blocker: Any) -> Iterator[Namespace]:
    """Four memories: three hold “harbour”, one each of the other words."""
    with django_db_blocker.unblock():
        namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
        outcomes = remember(namespace, [NewMemory(content=fact) for fact in FACTS], by="tests")
        assert len({outcome.memory.id for outcome in outcomes if outcome.memory}) == len(FACTS)
    yield namespace
    with django_db_blocker.unblock():
        namespace.delete()


def plan_of(namespace: Namespace, query: str, **more: Any) -> dict[str, Any]:
    """The plan of a query's answer."""
    client = Client(headers=key_to(namespace, Role.READ))
    body = {"query": query, "system": "recall", "explain": "full", **more}
    response = client.post(f"/api/v1/{namespace.slug}/retrieve/", body, "application/json")
    assert response.status_code == 200, response.content
    plan: dict[str, Any] = response.json()["plan"]
    return plan


def specificity_part(plan: dict[str, Any], name: str) -> float:
    """A part of the specificity, from its explanation alone."""
    tree = plan["specificity"]
    assert evaluate(tree) == pytest.approx(tree["value"], abs=1e-9)
    [value] = [leaf["value"] for product in tree["parts"] for leaf in leaves(product) if leaf["name"] == name]
    return float(value)


def leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The leaves of an explanation."""
    if not node.get("parts"):
        yield node
    for part in node.get("parts") or ():
        yield from leaves(part)


ONE, THREE = (math.log((4 - count + 0.5) / (count + 0.5) + 1) for count in (1, 3))  # idf in four memories


@pytest.mark.parametrize(
    ("query", "idfs"),
    [
        ("cat", [ONE]),
        ("harbour", [THREE]),
        ("harbour cat", [THREE, ONE]),
        ("Does the harbour freeze?", [0, 0, THREE, ONE]),
        ("What do you know?", [0, 0, 0, ONE]),
        ("What do you believe?", [0, 0, 0]),
        ("What do YOU do, and what don't you do?", [0, 0, 0, 0, 0, 0]),
        ("the of and", [0, 0, 0]),
        ("zeppelin", []),
        ("zeppelin 4471-KX", []),
        ("harbour zeppelin", [THREE]),
        ("?!", []),
    ],
)
def test_lexical_rarity_is_the_mean_idf_of_the_terms_against_the_highest(
    harbour: Namespace, query: str, idfs: list[float]
) -> None:
    expected = sum(idfs) / len(idfs) / ONE if idfs else 0.0
    assert specificity_part(plan_of(harbour, query), "lexical_rarity") == pytest.approx(expected)


def test_a_question_of_stop_words_is_exploratory_and_never_looks_rare(harbour: Namespace) -> None:
    for query in ("What do you know?", "What do you believe?", "What is it that you have?"):
        plan = plan_of(harbour, query)
        assert specificity_part(plan, "lexical_rarity") <= 0.25
        assert plan["name"] == "exploratory"


@pytest.mark.parametrize(
    ("query", "cue", "precision", "plan"),
    [
        ("What happened on 5 May 2024?", "exact", 1.0, "temporal"),
        ("What happened on 2024-02-29?", "exact", 1.0, "temporal"),
        ("What happened on 29 February?", "exact", 1.0, "temporal"),
        ("What happened last week?", "relative", 0.7, "temporal"),
        ("What happened in May?", "relative", 0.7, "temporal"),
        ("What happened in May 2024?", "month", 0.7, "temporal"),
        ("What happened in Q2 2024?", "month", 0.7, "temporal"),
        ("What happened in the summer of 2024?", "vague", 0.3, "exploratory"),
        ("What happened in 2024?", "vague", 0.3, "exploratory"),
        ("What happened recently?", "vague", 0.3, "exploratory"),
        ("What happened?", None, 0.0, "exploratory"),
    ],
)
def test_an_exact_date_is_more_precise_than_a_month_and_a_month_than_a_year(
    harbour: Namespace, query: str, cue: str | None, precision: float, plan: str
) -> None:
    found = plan_of(harbour, query)
    assert (found["window"] and found["window"]["cue"]) == cue
    assert specificity_part(found, "temporal_precision") == precision
    assert found["name"] == plan
    assert found["params"]["weight_temporal"] == (1.5 if plan == "temporal" else 1.0)


def test_a_vague_window_is_searched_all_the_same(harbour: Namespace) -> None:
    found = plan_of(harbour, "What happened in 2024?")
    assert found["window"]["start"].startswith("2024-01-01")
    assert "temporal" in found["retrievers"]
