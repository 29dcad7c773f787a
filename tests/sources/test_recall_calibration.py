"""Source 000, guards and Appendix A: risk of an answer, agreement, fitted weights, the sweep of k."""

import pytest

from memories.models import JudgementSet, Memory
from memories.retrieval.query import Config
from scoring.systems import SYSTEMS
from tests.support.agent import Agent
from tests.support.judged_world import trace_set

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

KNOWN = "The office has a garden."
VAGUE = ("The office is bright.", "The office is quiet.", "The office is cosy.")
SERVED = {"weight_source": 0.45, "weight_repetition": 0.20, "weight_extractor": 0.25, "weight_prior": 0.10}
CRITICAL = ("Maya Lindqvist paid 9,400 euros.", "Jonas Ek owns 12 horses.")


@pytest.mark.parametrize(
    ("claims", "risk", "faithfulness"),
    [
        ((KNOWN,), "none", 1.0),
        ((KNOWN, *VAGUE[:1]), "low", 1 / 2),
        ((KNOWN, *VAGUE[:2]), "low", 1 / 3),
        ((KNOWN, *CRITICAL[:1]), "medium", 1 / 2),
        ((KNOWN, *CRITICAL), "medium", 1 / 3),
        ((KNOWN, *VAGUE), "high", 1 / 4),
        ((KNOWN, VAGUE[0], *CRITICAL), "high", 1 / 4),
        ((), "none", 1.0),
    ],
)
def test_risk_follows_the_table(agent: Agent, claims: tuple[str, ...], risk: str, faithfulness: float) -> None:
    checked = agent.post("faithfulness/", answer=" ".join(claims) or "Hello!", texts=[KNOWN])
    assert (checked["supported"], checked["unsupported"]) == (len(claims[:1]), len(claims[1:]))
    assert checked["critical"] == sum(claim in CRITICAL for claim in claims)
    assert checked["risk"] == risk
    assert checked["faithfulness"] == pytest.approx(faithfulness)


def rate(agent: Agent, disputed: int = 0, only: str = "") -> None:
    """Store sixty memories whose signals vary, and let two annotators rate them by weights of their own.

    One of them takes the first memories, or the first of a type, for events.
    """
    levels = {"direct": 0.95, "confirmation": 0.8, "weak_inference": 0.5, "speculation": 0.3}
    types = {"Entity": 0.9, "Event": 0.85, "Fact": 0.8, "Preference": 0.75, "Relation": 0.7}
    models = {"sonnet": 0.9, "haiku": 0.8, "other": 0.65}
    bodies, ratings = [], []
    for number in range(60):
        level, type, model = (list(table)[number % len(table)] for table in (levels, types, models))
        text = f"Note {number}: {'abcdefghijklmnopqrstuvwxyz'[number % 26] * 4} stands beside {number * 37}"
        bodies.append({"content": text, "type": type, "source_level": level, "extractor": {"model": model}})
        ratings.append(round(0.3 * levels[level] + 0.55 * models[model] + 0.15 * types[type], 4))
    outcomes = agent.post("memories/batch/", memories=bodies)["results"]
    places = [place for place, one in enumerate(outcomes) if only in ("", one["memory"]["type"])][:disputed]
    annotations = [
        {
            "memory": one["memory"]["id"],
            "annotator": name,
            "type": "Event" if name == "bob" and place in places else one["memory"]["type"],
            "right": rating > 0.5,
            "confidence": rating,
        }
        for place, (one, rating) in enumerate(zip(outcomes, ratings, strict=True))
        for name in ("ada", "bob")
    ]
    agent.post("annotations/", annotations=annotations)


def test_fitted_weights_are_positive_and_sum_to_one(agent: Agent) -> None:
    rate(agent)
    weights = agent.get("calibration/")["weights"]
    assert weights["served"] == SERVED
    assert all(value > 0 for value in weights["fitted"].values())
    assert sum(weights["fitted"].values()) == pytest.approx(1.0, abs=5e-4)
    assert weights["error"]["after"] < weights["error"]["before"] / 10


@pytest.mark.parametrize("disputed", [4, 30])
def test_agreement_is_cohens_kappa_and_must_exceed_three_quarters(agent: Agent, disputed: int) -> None:
    rate(agent, disputed)
    types = list(Memory.objects.order_by("id").values_list("type", flat=True))
    others = ["Event" if place < disputed else type for place, type in enumerate(types)]
    observed = sum(a == b for a, b in zip(types, others, strict=True)) / 60
    chance = sum(types.count(type) * others.count(type) for type in set(types)) / 60**2
    kappa = (observed - chance) / (1 - chance)
    found = agent.get("calibration/")
    assert found["gate"] == 0.75
    assert found["kappa"]["value"] == pytest.approx(kappa, abs=5e-4)
    assert found["valid"] == (kappa > 0.75) == (disputed == 4)


@pytest.mark.parametrize(("disputed", "kappa", "first"), [(4, 0.762, False), (5, 0.691, True)])
def test_a_kappa_of_preferences_below_seven_tenths_has_their_prior_recalibrated_first(
    agent: Agent, disputed: int, kappa: float, first: bool
) -> None:
    rate(agent, disputed, only="Preference")
    found = agent.get("calibration/")
    (preference,) = (one for one in found["types"] if one["type"] == "Preference")
    assert preference["kappa"]["value"] == pytest.approx(kappa, abs=1e-3)
    named = [finding["what"] for finding in found["findings"]]
    assert any("Preference prior first" in what for what in named) == first
    assert not first or "Preference prior" in named[0]


def test_the_sweep_of_k_shows_where_the_paper_looked(reader: Agent, judgement_set: JudgementSet) -> None:
    trace_set(reader.namespace, judgement_set, Config(SYSTEMS["recall"]))
    (curve,) = reader.get("sensitivity/", system="recall", param="rrf_k")["curves"]
    measured = dict(zip(curve["values"], curve["metric"], strict=True))
    assert {20, 30, 40, 50, 60, 70, 80, 90, 120} <= measured.keys()
    for k in (20, 60, 120):
        one = reader.post("evaluations/", system="recall", params={"rrf_k": k}, set=judgement_set.name, record=False)
        assert measured[k] == pytest.approx(one["metrics"]["ndcg@10"]["mean"])
