"""Appendix C of the paper, all ten steps, through the code that serves retrieval."""

import numpy as np
import pytest

from scoring.evidence import Evidence
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES, Signals
from scoring.specificity import Plan
from scoring.systems import SYSTEMS
from scoring.systems.recall import RecallParams, memory_confidence
from scoring.systems.system import rank
from scoring.term import Term


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
