"""Appendix C of the paper, all ten steps, through the code that serves retrieval."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from scoring.catalogue.worked_example import WorkedMemory, worked_steps
from scoring.evidence import Evidence
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES, Signals
from scoring.specificity import Plan
from scoring.systems import SYSTEMS
from scoring.systems.recall import RecallParams, memory_confidence
from scoring.systems.system import rank
from scoring.term import Term

# The numbers of each step by decimal arithmetic to fifty digits, from what the appendix states; see the test below.
GOLDEN: dict[str, list[str]] = json.loads((Path(__file__).parent / "worked_example.json").read_text())


def test_the_golden_numbers_follow_from_the_appendix() -> None:
    log_n, boost = Decimal(4).ln(), 1 + Decimal(5).ln()
    repetition, rrf = 1 - 1 / (1 + log_n), Decimal(1) / 63 + Decimal(1) / 61
    signals = {"0.45": Decimal("0.95"), "0.20": repetition, "0.25": Decimal("0.80"), "0.10": Decimal("0.75")}
    confidence = sum(Decimal(weight) * signal for weight, signal in signals.items())
    expected = {
        "Repetition boost": repetition,
        "Confidence computation": confidence,
        "Access boost": boost,
        "RRF fusion score": rrf,
        "Final retrieval weight": rrf * boost / 2,
    }
    assert {name: round(Decimal(GOLDEN[name][-1]), 18) for name in expected} == {
        name: round(number, 18) for name, number in expected.items()
    }


def test_each_number_of_the_ten_steps_is_the_golden_one_and_is_ruled_on_where_the_paper_differs() -> None:
    evidence = Evidence(frozenset({"direct"}), repetitions=3, model="Claude Haiku", type="Preference")
    signals = Signals(
        ids=np.array(["a"]),
        type=np.array([TYPES.index("Preference")]),
        age_days=np.array([90.0]),
        access_count=np.array([4.0]),
    )
    steps = worked_steps(WorkedMemory(evidence, signals, place=4))
    assert [step.title for step in steps] == list(GOLDEN)
    for step in steps:
        computed = [number.computed for number in step.numbers]
        assert computed == pytest.approx(list(map(float, GOLDEN[step.title])), rel=0, abs=1e-9)
        assert all(number.agrees != bool(number.ruling) for number in step.numbers)
    assert [number.printed for step in steps for number in step.numbers if number.ruling] == [
        "0.03226",
        "1.3045",
        "0.04213",
    ]


def test_the_worked_example_comes_out_step_by_step() -> None:
    policy, params = WritePolicyParams(), RecallParams()
    heard = Evidence(frozenset({"direct"}), repetitions=3, model="Claude Haiku", type="Preference")
    stored = memory_confidence(heard, policy)

    assert value(stored, "source_direct") == 0.95  # step 1
    assert value(stored, "repetition") == pytest.approx(0.581, abs=5e-4)  # step 2
    assert value(stored, "extractor_haiku") == 0.80  # step 3
    assert value(stored, "prior_preference") == 0.75  # step 4
    assert float(stored.value) == pytest.approx(0.8187, abs=5e-5)  # step 5

    answer = rank(
        SYSTEMS["recall"], candidates(float(stored.value)), params, top_k=50, diversify=Plan("hybrid").diversify
    )
    row = 3
    assert value(answer.score, "freshness", row) == 0.5  # step 6
    assert value(answer.score, "access boost", row) == pytest.approx(2.6094, abs=5e-5)  # step 7
    assert value(answer.score, "RRF", row) == pytest.approx(0.032266, abs=5e-7)  # step 8
    assert value(answer.score, "weight", row) == pytest.approx(0.042099, abs=5e-7)  # step 9
    assert answer.order.rows.tolist().index(row) == 3  # step 10: fourth, well within the cut of 50
    assert all(passed[row] for passed in answer.gates.values())


def value(term: Term, name: str, row: int | None = None) -> float:
    found = term.find(name)
    assert found is not None
    return float(found.value if row is None else found.value[row])


def candidates(confidence: float) -> Signals:
    """The example in fourth row, behind three memories that weigh more and before two that weigh less."""
    return Signals(
        ids=np.array(list("abcdef")),
        type=np.full(6, TYPES.index("Preference")),
        age_days=np.array([1.0, 2.0, 3.0, 90.0, 200.0, 300.0]),
        access_count=np.array([9.0, 9.0, 9.0, 4.0, 0.0, 0.0]),
        confidence=np.array([0.9, 0.9, 0.9, confidence, 0.9, 0.9]),
        ranks={
            "semantic": np.array([1.0, 2.0, 4.0, 3.0, 5.0, 6.0]),
            "bm25": np.array([2.0, 3.0, 4.0, 1.0, 5.0, np.inf]),
        },
    )
