"""Source 000, thresholds of cosines: each decides exactly where the text says, tried with planted vectors."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memories.models import Job, Memory, NamespaceStatistics
from memories.models.vector import index_name
from memories.providers.embedder import embedder
from tests.support.access import member_of
from tests.support.agent import Agent
from tests.support.planted_vectors import plant_vector, unit_vector, vector_at_cosine
from tests.support.retrieval_world import NOW

pytestmark = pytest.mark.django_db

KNOWN, NEW = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"  # of which a judge is unsure


def store_at(agent: Agent, cosine: float, known: str = KNOWN, new: str = NEW) -> dict[str, Any]:
    """Store a memory at a cosine to a known one; the outcome."""
    id = agent.remember(known, session="a", source="Ada")["memory"]["id"]
    vector = np.asarray(embedder("all-MiniLM-L6-v2").embed([new])[0], dtype=float)
    plant_vector(id, vector_at_cosine(vector, cosine, unit_vector(0)))
    return agent.remember(new, session="b", source="Bo")


@pytest.mark.parametrize(("cosine", "outcome"), [(0.96, "merged"), (0.925, "merged"), (0.915, "escalated")])
def test_above_92_hundredths_two_memories_are_merged(agent: Agent, cosine: float, outcome: str) -> None:
    words = "The invoicing service uses PostgreSQL as {} database"
    told = store_at(agent, cosine, words.format("its"), words.format("the"))
    assert told["outcome"] == outcome
    assert ("near duplicate" in told["reason"]) == (outcome == "merged")
    absorbed = Memory.objects.filter(status="merged").values_list("content", flat=True)
    assert list(absorbed) == [words.format("the")] * (outcome == "merged")


@pytest.mark.parametrize("cosine", [0.915, 0.855])
def test_from_85_to_92_hundredths_a_judge_decides_and_a_person_where_it_cannot(agent: Agent, cosine: float) -> None:
    outcome = store_at(agent, cosine)
    assert outcome["outcome"] == "escalated"
    (pair,) = agent.get("reviews/")["results"]
    assert pair["cosine"] == pytest.approx(cosine, abs=1e-3)
    assert Memory.objects.filter(status="active").count() == 2


@pytest.mark.parametrize("cosine", [0.845, 0.5])
def test_below_85_hundredths_both_are_kept_and_nobody_is_asked(agent: Agent, cosine: float) -> None:
    outcome = store_at(agent, cosine)
    assert (outcome["outcome"], outcome["reason"]) == ("stored", "")
    assert agent.get("reviews/")["results"] == []


@pytest.mark.parametrize(("cosine", "summaries"), [(0.76, 1), (0.74, 0)])
def test_memories_of_a_subject_are_summed_up_from_75_hundredths(agent: Agent, cosine: float, summaries: int) -> None:
    agent.post("entities/", name="Maya", kind="person")
    texts = ("Maya drinks her coffee black", "Maya sails on Sundays", "Maya collects old maps")
    ids = [agent.remember(text, subject="Maya", session=text)["memory"]["id"] for text in texts]
    for number, id in enumerate(ids):
        plant_vector(
            id, unit_vector(0) if number == 0 else vector_at_cosine(unit_vector(0), cosine, unit_vector(number))
        )
    assert agent.run("reflect")["consolidation"]["summaries"] == summaries
    assert [agent.memory(id)["status"] for id in ids] == ["active"] * 3
    assert len(agent.get("memories/", level="summary")["results"]) == summaries


def drifting(agent: Agent, distance: float, common: int, own: int) -> dict[str, Any]:
    """What reflection finds of an entity whose memories moved by a distance and changed some relations."""
    agent.post("entities/", name="Lighthouse", kind="system")
    bodies = []
    for period, days in (("before", 90), ("lately", 1)):
        at = (NOW - timedelta(days=days)).isoformat()
        for number in range(common + own):
            predicate = f"relation {number}" if number < common else f"relation {period} {number}"
            bodies.append(
                {
                    "content": f"Lighthouse {period} {predicate} {'abcdefghijklmnopq'[number] * 5}",
                    "type": "Fact",
                    "source_level": "direct",
                    "subject": "Lighthouse",
                    "predicate": predicate,
                    "object": f"{period} {number}",
                    "created_at": at,
                    "happened_at": at,
                }
            )
    version = agent.post("policies/", name="apart", params={"dedup_duplicate": 0.98, "dedup_escalate": 0.92})
    agent.post(f"policies/{version['id']}/publish/")
    outcomes = agent.post("memories/batch/", memories=bodies)["results"]
    assert Memory.objects.filter(status="active").count() == len(bodies)
    for one in outcomes:
        lately = "lately" in one["memory"]["content"]
        plant_vector(
            one["memory"]["id"],
            vector_at_cosine(unit_vector(0), 1 - distance, unit_vector(1)) if lately else unit_vector(0),
        )
    found: dict[str, Any] = agent.run("reflect")["drift"]
    assert found["looked_at"] == 1
    return found


@pytest.mark.parametrize(
    ("distance", "common", "own", "drifted"),
    [(0.42, 0, 3, 1), (0.38, 0, 3, 0), (0.6, 5, 3, 1), (0.6, 2, 1, 0)],
    ids=["moved", "moved too little", "an overlap of .45", "an overlap of .5"],
)
def test_an_entity_drifts_where_its_memories_moved_by_more_than_4_tenths_and_half_its_relations_changed(
    agent: Agent, distance: float, common: int, own: int, drifted: int
) -> None:
    found = drifting(agent, distance, common, own)
    assert found["drifted"] == drifted
    for example in found["examples"]:
        assert example["distance"] == pytest.approx(distance, abs=2e-3)
        assert example["overlap"] == pytest.approx(common / (common + 2 * own), abs=1e-3)


@pytest.mark.parametrize(("cosine", "belief"), [(0.86, 5.5), (0.84, 5.0)])
def test_a_claim_corroborates_from_85_hundredths(agent: Agent, cosine: float, belief: float) -> None:
    agent.post("entities/", name="Maya", kind="person")
    known = agent.remember(KNOWN, session="a", source="Ada")["memory"]["id"]
    vector = np.asarray(embedder("all-MiniLM-L6-v2").embed([NEW])[0], dtype=float)
    plant_vector(known, vector_at_cosine(vector, cosine, unit_vector(0)))
    agent.remember(NEW, session="b", source="Bo")
    assert agent.memory(known)["belief"] == belief


@pytest.mark.parametrize(("recall", "alert"), [(0.945, True), (0.955, False)])
def test_the_index_is_reported_below_95_hundredths_of_recall(agent: Agent, recall: float, alert: bool) -> None:
    name = index_name(agent.namespace.id, agent.namespace.embedder)
    NamespaceStatistics.objects.create(namespace=agent.namespace, documents=30_000, vector_index=name)
    Job.objects.create(
        namespace=agent.namespace,
        kind="measure",
        by="tests",
        state="done",
        finished_at=NOW,
        result={"measure": {"recalls": [recall] * 10, "asked_before": 10}},
    )
    page = " ".join(member_of(agent.namespace).get("/here/health/").content.decode().split())
    assert ("The recall of the index is too low." in page) == alert


@pytest.mark.parametrize(("boost", "rise_above"), [(0.35, 1), (0.21, 0)])
def test_high_confidence_starts_at_three_quarters(agent: Agent, boost: float, rise_above: int) -> None:
    before = 0.45 * 0.95 + 0.25 * 0.80 + 0.10 * 0.80
    assert agent.remember(KNOWN)["memory"]["confidence"] == pytest.approx(before)
    # With less weight on repetition, of which there is none yet, a first mention is surer.
    params = {"weight_repetition": 0.20 * (1 - boost)}
    after = before / (1 - 0.20 * boost)
    version = agent.post("policies/", name="tests", params=params)
    preview = agent.get(f"policies/{version['id']}/preview/")["high_confidence"]
    assert (after > 0.75) == bool(rise_above)
    assert after > 0.70
    assert (preview["threshold"], preview["rise_above"]) == (0.75, rise_above)
