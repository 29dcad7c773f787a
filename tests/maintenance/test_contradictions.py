"""Contradictions found later, and corroborations withdrawn."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from memories.maintenance.contradictions import JudgedPair, find_contradictions
from memories.models import Job, Memory, MemoryEdge, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import EdgeKind, Verdict
from scoring.policy import WritePolicyParams
from tests.support.chat_server import chat_server
from tests.support.reflection import NOW, add_entity, publish_policy, reflect, reload_memory, start_step, store_memory

pytestmark = pytest.mark.django_db
# Cosine .808, below what the write path compares.
KEEPS = "Grind keeps 4 connections to Slottet", "According to Priya, Grind keeps 9 connections to Slottet"


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def pair(namespace: Namespace) -> tuple[Memory, Memory]:
    """Two memories that contradict each other, too far apart to be seen when they are stored."""
    add_entity(namespace, "Grind")
    add_entity(namespace, "Slottet")
    one = store_memory(namespace, KEEPS[0], session="a")
    other = store_memory(namespace, KEEPS[1], session="b")
    assert not MemoryEdge.objects.exists()
    return one, other


def test_a_pair_that_shares_two_entities_and_differs_in_a_number_costs_both_belief_once(
    namespace: Namespace, pair: tuple[Memory, Memory]
) -> None:
    facts = reflect(namespace, "contradictions")
    assert (facts["contradictions"], facts["looked_at"]) == (1, 2)
    edge = MemoryEdge.objects.get()
    assert (edge.kind, edge.source_id, edge.target_id) == ("contradiction", pair[1].id, pair[0].id)
    assert [reload_memory(one).belief for one in pair] == [3.5, 3.5]
    assert facts["examples"][0]["memories"] == [str(pair[1].id), str(pair[0].id)]
    event = ScoreEvent.objects.get(memory_id=pair[0].id, cause="contradicted")
    assert (event.other_id, event.by, event.before["belief"], event.after["belief"]) == (pair[1].id, "tests", 5.0, 3.5)
    for params in ({}, {"full": True}):
        assert not reflect(namespace, "contradictions", **params).get("contradictions")
    assert [reload_memory(one).belief for one in pair] == [3.5, 3.5]


def test_a_step_that_is_begun_anew_applies_nothing_twice(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    work = start_step(namespace, "contradictions")
    find_contradictions(work)
    again = Job.objects.get(id=work.job.id)
    work.job = again
    find_contradictions(work)
    assert (work.step_result["contradictions"], work.step_result["looked_at"]) == (1, 2)
    assert [reload_memory(one).belief for one in pair] == [3.5, 3.5]


def test_numbers_in_memories_about_other_things_are_no_contradiction(namespace: Namespace) -> None:
    add_entity(namespace, "Maya")
    add_entity(namespace, "Elias")
    store_memory(namespace, "Maya and Elias have been married since June 2025", session="a")
    store_memory(namespace, "The daughter of Maya and Elias was born on 9 March 2021", session="b")
    facts = reflect(namespace, "contradictions")
    assert (facts["contradictions"], facts["unsure"]) == (0, 1)
    assert not MemoryEdge.objects.exists()


def test_what_is_said_of_two_subjects_is_no_contradiction(namespace: Namespace) -> None:
    add_entity(namespace, "Grind")
    add_entity(namespace, "Slottet")
    for name, subject, words in zip("ab", ("Maya", "Elias"), KEEPS, strict=True):
        store_memory(namespace, words, session=name, subject=subject)
    assert reflect(namespace, "contradictions")["contradictions"] == 0


def test_what_holds_after_the_other_has_ended_contradicts_nothing(namespace: Namespace) -> None:
    add_entity(namespace, "Grind")
    add_entity(namespace, "Slottet")
    store_memory(namespace, KEEPS[0], session="a", valid_until=NOW)
    store_memory(namespace, KEEPS[1], session="b", valid_from=NOW)
    assert reflect(namespace, "contradictions")["contradictions"] == 0


def test_only_pairs_with_a_fresh_side_are_looked_at_again(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    publish_policy(namespace, contradiction_words=0.99)
    assert reflect(namespace, "contradictions")["contradictions"] == 0
    Job.objects.update(started_at=NOW.replace(year=2100))
    assert reflect(namespace, "contradictions")["looked_at"] == 0
    assert reflect(namespace, "contradictions", full=True)["looked_at"] == 2


def test_another_policy_has_everything_looked_at_again(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    publish_policy(namespace, contradiction_words=0.99)
    assert reflect(namespace, "contradictions")["contradictions"] == 0
    publish_policy(namespace, contradiction_words=0.5)
    assert reflect(namespace, "contradictions")["contradictions"] == 1


def test_a_pair_that_a_person_decided_about_is_left_alone(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    ReviewItem.objects.create(
        namespace=namespace, first=pair[0], second=pair[1], cosine=0.8, state=Verdict.DISTINCT, decided_at=NOW
    )
    assert reflect(namespace, "contradictions")["contradictions"] == 0


def test_an_edge_that_somebody_took_away_does_not_come_back(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    reflect(namespace, "contradictions")
    MemoryEdge.objects.all().delete()
    assert reflect(namespace, "contradictions", full=True)["contradictions"] == 0


def test_a_judge_that_is_given_decides(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    asked: list[Any] = []

    def no(pairs: Sequence[JudgedPair], policy: WritePolicyParams) -> list[bool | None]:
        asked.extend(pairs)
        return [False for _ in pairs]

    work = start_step(namespace, "contradictions")
    find_contradictions(work, no)
    assert [(judged.later.id, judged.earlier.id) for judged in asked] == [(pair[1].id, pair[0].id)]
    assert not MemoryEdge.objects.exists()


@pytest.mark.parametrize(("verdict", "edges"), [("contradiction", 1), ("compatible", 0)])
def test_the_language_model_that_judges_here_decides(
    namespace: Namespace, pair: tuple[Memory, Memory], settings: Any, verdict: str, edges: int
) -> None:
    settings.RECALL_JUDGE = f"openai/{verdict}"  # a name of its own, for models are made once
    with chat_server() as server:
        server.reply = lambda asked: json.dumps({"verdict": verdict})
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{server.server_port}/v1"
        find_contradictions(start_step(namespace, "contradictions"))
    assert MemoryEdge.objects.count() == edges


def test_a_corroboration_whose_pair_conflicts_now_is_withdrawn_as_if_it_had_never_come(namespace: Namespace) -> None:
    publish_policy(namespace, corroboration_cosine=0.7)
    add_entity(namespace, "Arrive")
    old = store_memory(namespace, "Arrive uses Grafana for its dashboards", source="the runbook")
    new = store_memory(namespace, "Grafana is what Arrive uses to show metrics on dashboards", source="Priya")
    store_memory(namespace, "Arrive uses Grafana for its dashboards", source="the wiki")
    assert (reload_memory(old).belief, reload_memory(old).corroborations) == (6.0, 2)
    assert MemoryEdge.objects.get().kind == EdgeKind.SUPPORTS
    # As after a rule learnt to see that the two disagree.
    Memory.objects.filter(id=new.id).update(content="Arrive does not use Grafana for its dashboards")
    facts = reflect(namespace, "contradictions")
    assert (facts["withdrawn"], facts["contradictions"]) == (1, 1)
    assert MemoryEdge.objects.get().kind == EdgeKind.CONTRADICTION
    # One corroboration is left, and then a contradiction: 5 + .5 − 1.5.
    assert (reload_memory(old).belief, reload_memory(old).corroborations, reload_memory(old).contradictions) == (
        4.0,
        1,
        1,
    )
    assert (reload_memory(new).belief, reload_memory(new).contradictions) == (3.5, 1)
    causes = [event.cause for event in ScoreEvent.objects.filter(memory_id=old.id).order_by("id")]
    assert causes == ["stored", "corroborated", "observed", "corroboration withdrawn", "contradicted"]
    assert not reflect(namespace, "contradictions", full=True).get("withdrawn")


def test_another_namespace_is_not_touched(namespace: Namespace, pair: tuple[Memory, Memory]) -> None:
    other = Namespace.objects.create(slug="other", title="Other", clock=NOW)
    add_entity(other, "Grind")
    add_entity(other, "Slottet")
    mine = store_memory(other, KEEPS[0], session="a")
    reflect(namespace, "contradictions")
    assert reload_memory(mine).belief == 5.0
