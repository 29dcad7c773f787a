"""Source 002, “How to Build a Confidence Scoring Pipeline”."""

from functools import partial

import numpy as np

from scoring import belief
from scoring.catalogue.entry import CatalogueSource, Formula, PrintedValue, SourceClaim, constants
from scoring.policy import WritePolicyParams
from scoring.signals import Signals
from scoring.systems import adaptive, recall
from scoring.systems.adaptive import AdaptiveParams

_policy = WritePolicyParams()
_params = AdaptiveParams()
_CORROBORATION: tuple[belief.EvidenceKind, ...] = ("corroboration",)
_CONTRADICTION: tuple[belief.EvidenceKind, ...] = ("contradiction",)


def _multiplier(value: float) -> float:
    return float(belief.belief_multiplier(np.asarray(value), _params.belief_floor, _params.belief_slope))


def _belief_after(*evidence: belief.EvidenceKind) -> float:
    return belief.belief_from_history(
        evidence,
        start=_policy.belief_start,
        boost=_policy.belief_boost,
        penalty=_policy.belief_penalty,
        protected=_policy.belief_protected,
        needed=_policy.belief_needed,
    ).value


def _share_of_recall(value: float) -> float:
    """Score of a fresh memory relative to recall's weight."""
    fresh = Signals(ids=np.array(["a"]), belief=np.array([value]), ranks={"semantic": np.array([1.0])})
    return float(adaptive.score(fresh, _params).value[0] / recall.score(fresh, _params).value[0])


SOURCE = CatalogueSource(
    number="002",
    title="How to Build a Confidence Scoring Pipeline",
    system="adaptive",
    formulas=(
        Formula(
            "Belief update",
            "Step-by-Step Implementation",
            belief.update_belief,
            (
                constants(
                    WritePolicyParams,
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
                PrintedValue("5.0", "a new memory", _belief_after),
                PrintedValue("0.0", "the lowest belief", lambda: _belief_after(*_CONTRADICTION * 10)),
                PrintedValue("10.0", "the highest belief", lambda: _belief_after(*_CORROBORATION * 20)),
                PrintedValue(
                    "0.5", "one corroborating source", lambda: _belief_after("corroboration") - _belief_after()
                ),
                PrintedValue(
                    "1.5", "one contradicting source", lambda: _belief_after() - _belief_after("contradiction")
                ),
            ),
            note="Clamped at each step, in the order of the evidence.",
            symbols="b belief from 0 to 10",
        ),
        Formula(
            "Evidence gate",
            "apply_evidence_gate",
            belief.belief_from_history,
            printed_values=(
                PrintedValue(
                    "8.0",
                    "belief 7.8 after a second corroboration",
                    lambda: (
                        belief.update_belief(
                            belief.Belief(7.8, 1, 0), "corroboration", boost=0.5, penalty=1.5, protected=8.0, needed=3
                        ).value
                    ),
                ),
                PrintedValue(
                    "8.5",
                    "seven corroborations of a new memory",
                    lambda: _belief_after(*_CORROBORATION * 7),
                    derived=True,
                ),
            ),
            note="Above 8 only with three distinct corroborations. A source is who or what said it: a user, a "
            "document, a tool. Another session of the same user repeats, which raises recall's r(n), "
            "and corroborates nothing.",
        ),
        Formula(
            "Corroboration",
            "detect_corroboration",
            belief.corroborates,
            (constants(WritePolicyParams, {"corroboration_cosine": "0.85", "corroboration_shared": "1"}),),
            note="The text requires “no contradictory signals”, its code does not check them; ours does.",
        ),
        Formula(
            "Contradiction candidates",
            "detect_contradictions",
            belief.may_contradict,
            (
                constants(WritePolicyParams, {"contradiction_shared": "2"}),
                constants(WritePolicyParams, {"contradiction_low": "0.4"}),
            ),
            printed_values=(
                PrintedValue(
                    "0.75",
                    "the upper bound",
                    lambda: _policy.contradiction_high,
                    "shipped as 1: the closest contradictions have cosines above .75; .75 can be set",
                    ours=True,
                ),
            ),
            claims=(
                SourceClaim(
                    "0.4 ≤ sim ≤ 0.75 finds contradictions",
                    (),
                    "Measured on MiniLM, “PostgreSQL 14” and “15” have a cosine of .930 and would be missed.",
                ),
            ),
        ),
        Formula(
            "Belief multiplier",
            "Step-by-Step Implementation",
            belief.belief_multiplier,
            (constants(AdaptiveParams, {"belief_floor": "0.5", "belief_slope": "0.05"}),),
            (
                PrintedValue("0.5", "belief 0", partial(_multiplier, 0)),
                PrintedValue("1.0", "belief 10", partial(_multiplier, 10)),
            ),
        ),
        Formula(
            "Adaptive score",
            "Step-by-Step Implementation",
            adaptive.score,
            printed_values=(
                PrintedValue("0.5", "of recall's weight at belief 0", partial(_share_of_recall, 0.0)),
                PrintedValue("1.0", "of recall's weight at belief 10", partial(_share_of_recall, 10.0)),
            ),
        ),
    ),
)
