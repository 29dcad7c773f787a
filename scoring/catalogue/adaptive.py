"""Seed 002, “How to Build a Confidence Scoring Pipeline”."""

from functools import partial

import numpy as np

from scoring import belief
from scoring.catalogue.entry import Claim, Figure, Formula, Source, constants
from scoring.policy import WritePolicy
from scoring.signals import Signals
from scoring.systems import adaptive, recall
from scoring.systems.adaptive import AdaptiveParams

_policy = WritePolicy()
_params = AdaptiveParams()
_for: tuple[belief.Evidence, ...] = ("corroboration",)
_against: tuple[belief.Evidence, ...] = ("contradiction",)


def _multiplier(value: float) -> float:
    return float(belief.multiplier(np.asarray(value), _params.belief_floor, _params.belief_slope))


def _after(*evidence: belief.Evidence) -> float:
    return belief.folded(
        evidence,
        start=_policy.belief_start,
        boost=_policy.belief_boost,
        penalty=_policy.belief_penalty,
        protected=_policy.belief_protected,
        needed=_policy.belief_needed,
    ).value


def _against_recall(value: float) -> float:
    """A fresh memory's score as a share of the weight recall gives it."""
    fresh = Signals(ids=np.array(["a"]), belief=np.array([value]), ranks={"semantic": np.array([1.0])})
    return float(adaptive.score(fresh, _params).value[0] / recall.score(fresh, _params).value[0])


SOURCE = Source(
    seed="002",
    title="How to Build a Confidence Scoring Pipeline",
    system="adaptive",
    formulas=(
        Formula(
            "Belief update",
            "Step-by-Step Implementation",
            belief.update,
            (
                constants(
                    WritePolicy,
                    {
                        "belief_start": "5.0",
                        "belief_boost": "0.5",
                        "belief_penalty": "1.5",
                        "belief_protected": "8.0",
                        "belief_archive": "2.0",
                        "belief_needed": "3",
                    },
                ),
            ),
            (
                Figure("5.0", "a new memory", _after),
                Figure("0.0", "the lowest belief", lambda: _after(*_against * 10)),
                Figure("10.0", "the highest belief", lambda: _after(*_for * 20)),
                Figure("0.5", "one corroborating source", lambda: _after("corroboration") - _after()),
                Figure("1.5", "one contradicting source", lambda: _after() - _after("contradiction")),
            ),
            note="Clamped at each step, in the order the evidence came.",
            where="b belief from 0 to 10",
        ),
        Formula(
            "Evidence gate",
            "apply_evidence_gate",
            belief.folded,
            figures=(
                Figure(
                    "8.0",
                    "a belief of 7.8, corroborated for the second time",
                    lambda: (
                        belief.update(
                            belief.Belief(7.8, 1, 0), "corroboration", boost=0.5, penalty=1.5, protected=8.0, needed=3
                        ).value
                    ),
                ),
                Figure("8.5", "seven corroborations from the start", lambda: _after(*_for * 7), worked=True),
            ),
            note="Above 8 only with three distinct corroborations.",
        ),
        Formula(
            "Corroboration",
            "detect_corroboration",
            belief.corroborates,
            (constants(WritePolicy, {"corroboration_cosine": "0.85", "corroboration_shared": "1"}),),
            note="The text asks for “no contradictory signals”, its code forgets them; here they are checked.",
        ),
        Formula(
            "Contradiction candidates",
            "detect_contradictions",
            belief.may_contradict,
            (
                constants(WritePolicy, {"contradiction_shared": "2"}),
                constants(WritePolicy, {"contradiction_low": "0.4"}),
            ),
            figures=(
                Figure(
                    "0.75",
                    "the upper bound",
                    lambda: _policy.contradiction_high,
                    "shipped as 1: the closest contradictions lie above .75; .75 can be set",
                    ours=True,
                ),
            ),
            claims=(
                Claim(
                    "0.4 ≤ sim ≤ 0.75 finds contradictions",
                    (),
                    "Measured on MiniLM, “PostgreSQL 14” and “15” stand at .930: they would never be looked at.",
                ),
            ),
        ),
        Formula(
            "Belief multiplier",
            "Step-by-Step Implementation",
            belief.multiplier,
            (constants(AdaptiveParams, {"belief_floor": "0.5", "belief_slope": "0.05", "protected_above": "8.0"}),),
            (
                Figure("0.5", "no belief at all", partial(_multiplier, 0)),
                Figure("1.0", "full belief", partial(_multiplier, 10)),
            ),
        ),
        Formula(
            "Adaptive score",
            "Step-by-Step Implementation",
            adaptive.score,
            figures=(
                Figure("0.5", "of recall's weight, without any belief", partial(_against_recall, 0.0)),
                Figure("1.0", "of recall's weight, fully believed", partial(_against_recall, 10.0)),
            ),
        ),
    ),
)
