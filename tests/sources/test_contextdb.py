"""Source 004: similarity, confidence, recency and utility, recomputed from what was stored."""

import math
from datetime import timedelta
from typing import Any

import pytest

from memories.models import Memory
from tests.support.agent import Agent, Json, by_content
from tests.support.retrieval_world import NOW

pytestmark = pytest.mark.django_db

ALPHAS = {"working": 999.0, "episodic": 0.08, "semantic": 0.02, "procedural": 0.001, "general": 0.05}
PRESETS = {
    "belief_system": (0.30, 0.45, 0.20, 0.05, 0.03),
    "agent_memory": (0.35, 0.20, 0.25, 0.20, 0.05),
    "general": (0.40, 0.30, 0.20, 0.10, 0.05),
    "procedural": (0.40, 0.40, 0.15, 0.05, 0.001),
}
QUERY = "What language does the server use?"
# Content, kind, hours since it is valid, provenance depth, hours until it expires.
SHELF: tuple[tuple[str, str, float, int, float | None], ...] = (
    ("The server is written in Go", "semantic", 20, 0, None),
    ("The server crashed on Tuesday", "episodic", 60, 1, None),
    ("Restart the server by the console", "procedural", 900, 2, None),
    ("The server speaks HTTP", "general", 10, 3, 48),
    ("Type the one time code", "working", 1, 0, None),
)


@pytest.fixture
def shelf(agent: Agent) -> Agent:
    """A memory of each kind, some derived, one that expires."""
    for content, kind, hours, depth, left in SHELF:
        told: dict[str, Any] = {
            "kind": kind,
            "provenance_depth": depth,
            "valid_from": (NOW - timedelta(hours=hours)).isoformat(),
            "created_at": (NOW - timedelta(hours=hours + 5)).isoformat(),
        }
        if left is not None:
            told["valid_until"] = (NOW + timedelta(hours=left)).isoformat()
        agent.remember(content, session=content, **told)
    for useful in (True, True, False):
        agent.act(id_of(SHELF[0][0]), "feedback", useful=useful)
    return agent


def id_of(content: str) -> str:
    return str(Memory.objects.get(content=content).id)


def rank(agent: Agent, **body: Any) -> dict[str, Json]:
    return by_content(agent.retrieve(QUERY, system="contextdb", **body))


def composite(one: Json, weights: tuple[float, ...]) -> float:
    parts = (one["sim"], one["conf"], one["rec"], one["util"])
    return math.fsum(weight / sum(weights) * part for weight, part in zip(weights, parts, strict=True))


def test_the_composite_is_the_weighted_sum_of_its_four_dimensions(shelf: Agent) -> None:
    results = rank(shelf)
    assert len(results) == len(SHELF)
    utility = {SHELF[0][0]: (2 + 1) / (2 + 1 + 2)}
    for content, kind, hours, depth, left in SHELF:
        one = results[content]
        kept = 1.0 if left is None else 1 - math.exp(-0.02 * left)
        confidence = shelf.memory(one["id"])["confidence"]
        expected = {
            "sim": max(one["retrievers"]["semantic"]["score"], 0.0),
            "conf": confidence * 0.9**depth * kept,
            "rec": math.exp(-ALPHAS[kind] * hours),
            "util": utility.get(content, 0.5),
        }
        assert {name: one[name] for name in expected} == pytest.approx(expected, abs=1e-9)
        assert one["composite"] == one["score"] == pytest.approx(composite(one, (0.4, 0.3, 0.2, 0.1)), abs=1e-12)


def test_every_result_carries_its_four_components_the_composite_and_its_source(shelf: Agent) -> None:
    for one in rank(shelf).values():
        assert one["source"] == ["semantic"]
        for name in ("sim", "conf", "rec", "util", "composite"):
            assert 0 <= one[name] <= 1


def test_weights_are_normalised_whatever_their_sum(shelf: Agent) -> None:
    given = {"similarity": 0.9, "confidence": 0.9, "recency": 0.6, "utility": 0.3}
    for one in rank(shelf, params=given).values():
        assert one["score"] == pytest.approx(composite(one, tuple(given.values())), abs=1e-12)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_mode_of_a_namespace_ranks_by_the_weights_and_the_decay_of_its_row(shelf: Agent, preset: str) -> None:
    systems = shelf.client.get("/api/v1/systems/").json()["systems"]
    (shipped,) = (one["presets"][preset] for one in systems if one["name"] == "contextdb")
    *weights, alpha = PRESETS[preset]
    assert list(shipped.values()) == [*weights, alpha]
    changed = shelf.client.patch(shelf.url(""), {"mode": preset}, content_type="application/json")
    assert changed.status_code == 200, changed.content
    results = rank(shelf)
    for content, kind, hours, *_ in SHELF:
        one = results[content]
        assert one["score"] == pytest.approx(composite(one, tuple(weights)), abs=1e-12)
        rate = alpha if kind == "general" else ALPHAS[kind]
        assert one["rec"] == pytest.approx(math.exp(-rate * hours), abs=1e-12)


def test_the_alpha_of_a_request_replaces_that_of_every_kind(shelf: Agent) -> None:
    given = {"similarity": 0.60, "confidence": 0.20, "recency": 0.15, "utility": 0.05, "alpha": 0.01}
    results = rank(shelf, params=given)
    for content, _, hours, *_ in SHELF:
        one = results[content]
        assert one["rec"] == pytest.approx(math.exp(-0.01 * hours), abs=1e-12)
        assert one["score"] == pytest.approx(composite(one, (0.60, 0.20, 0.15, 0.05)), abs=1e-12)


def test_recency_halves_by_the_half_life_the_table_gives_each_kind(agent: Agent) -> None:
    half_lives = {"episodic": 8.7, "semantic": 34.7, "procedural": 29 * 24, "general": 13.9, "working": 0.0007}
    for kind, hours in half_lives.items():
        at = (NOW - timedelta(hours=hours)).isoformat()
        agent.remember(f"Server {kind} note", kind=kind, valid_from=at, created_at=at, session=kind)
    for content, one in rank(agent).items():
        assert one["rec"] == pytest.approx(0.5, abs=0.006), content


def test_working_memory_is_forgotten_within_seconds(agent: Agent) -> None:
    at = (NOW - timedelta(seconds=10)).isoformat()
    agent.remember("Type the code of the server", kind="working", valid_from=at, created_at=at)
    (one,) = rank(agent).values()
    assert one["rec"] == pytest.approx(math.exp(-999 * 10 / 3600))
    assert one["rec"] < 0.07


def test_recency_counts_from_when_a_fact_became_valid_not_from_when_it_was_stored(agent: Agent) -> None:
    stored, valid = (NOW - timedelta(hours=hours) for hours in (100, 2))
    agent.remember("The server runs Go", created_at=stored.isoformat(), valid_from=valid.isoformat())
    (one,) = rank(agent).values()
    assert one["rec"] == pytest.approx(math.exp(-0.05 * 2))


@pytest.mark.parametrize(("depth", "kept"), [(0, 1.0), (1, 0.9), (2, 0.81), (3, 0.729)])
def test_each_hop_of_provenance_keeps_nine_tenths_of_the_confidence(agent: Agent, depth: int, kept: float) -> None:
    confidence = agent.remember("Bob says the server runs Go", provenance_depth=depth)["memory"]["confidence"]
    (one,) = rank(agent).values()
    assert one["conf"] == pytest.approx(confidence * kept)
    (halved,) = rank(agent, params={"attenuation": 0.5}).values()
    assert halved["conf"] == pytest.approx(confidence * 0.5**depth)


@pytest.mark.parametrize(("hours", "kept"), [(1, 0.0198), (48, 0.6171), (1000, 1.0)])
def test_a_deadline_lowers_confidence_as_it_approaches_and_two_days_before_617_remain(
    agent: Agent, hours: int, kept: float
) -> None:
    end = (NOW + timedelta(hours=hours)).isoformat()
    confidence = agent.remember("The server runs Go", valid_until=end)["memory"]["confidence"]
    (one,) = rank(agent).values()
    assert one["conf"] == pytest.approx(confidence * (1 - math.exp(-0.02 * hours)))
    assert one["conf"] / confidence == pytest.approx(kept, abs=5e-5)


def test_what_has_expired_or_is_not_valid_yet_is_left_out(agent: Agent) -> None:
    past, future = ((NOW + timedelta(hours=hours)).isoformat() for hours in (-3, 3))
    agent.remember("The server runs Go", created_at="2026-01-01T00:00:00Z", valid_until=past, session="a")
    agent.remember("Servers will be replaced by lambdas", valid_from=future, session="b")
    answer = agent.retrieve(QUERY, system="contextdb")
    assert answer["results"] == []
    assert answer["filtered"] == {"expired": 1, "not_yet_valid": 1}


def test_utility_is_one_half_without_feedback_and_moves_with_it(agent: Agent) -> None:
    id = agent.remember("The server runs Go")["memory"]["id"]
    for useful, utility in ((None, 1 / 2), (True, 2 / 3), (False, 2 / 4), (False, 2 / 5)):
        if useful is not None:
            agent.act(id, "feedback", useful=useful)
        (one,) = rank(agent).values()
        assert one["util"] == pytest.approx(utility)


def test_an_established_memory_beats_a_closer_one_of_low_credibility_once_confidence_weighs_more(agent: Agent) -> None:
    rumour = agent.remember(
        "The server uses the language Rust, perhaps", source_level="speculation", provenance_depth=3, session="a"
    )["memory"]["id"]
    known = agent.remember("Go is what our backend is written in", session="b")["memory"]["id"]
    by_similarity = agent.retrieve(QUERY, system="contextdb", params={"similarity": 1.0, "confidence": 0.0})
    by_trust = agent.retrieve(QUERY, system="contextdb", params={"similarity": 0.3, "confidence": 0.9})
    assert [one["id"] for one in by_similarity["results"]] == [rumour, known]
    assert [one["id"] for one in by_trust["results"]] == [known, rumour]
