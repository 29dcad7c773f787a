"""Seed 000, the write side: confidence and what later evidence does to it."""

from functools import partial

import numpy as np

from scoring import calibration, confidence
from scoring.catalogue.entry import Claim, Figure, Formula, constants
from scoring.evidence import Evidence, Grounding
from scoring.policy import WritePolicy
from scoring.systems import recall

_policy = WritePolicy()
_TABLE_R = "observations are counted from 0 (Appendix B), and the formula wins over the table"


def _r(n: float) -> float:
    return float(confidence.repetition(np.asarray(n)))


def _conf(level: str, n: int, model: str, type: str, grounding: Grounding = "supported") -> float:
    heard = Evidence(frozenset({level}), repetitions=n, type=type, model=model, grounding=grounding)
    return float(recall.confidence(heard, _policy).value)


def _repetition_figure(n: int, printed: str) -> Figure:
    ruling = "" if n == 0 else _TABLE_R
    return Figure(printed, f"r({n})", partial(_r, n), ruling)


def _prior(agreement: float) -> float:
    return calibration.type_prior(
        agreement,
        low=_policy.prior_lowest,
        span=_policy.prior_span,
        steepness=_policy.prior_steepness,
        midpoint=_policy.prior_midpoint,
    )


_SOURCE_LEVELS = {
    "source_direct": "0.95", "source_confirmation": "0.80", "source_strong_inference": "0.70",
    "source_weak_inference": "0.50", "source_speculation": "0.30",
}  # fmt: skip
_EXTRACTORS = {
    "extractor_sonnet_opus": "0.90", "extractor_haiku": "0.80", "extractor_gpt4": "0.85",
    "extractor_gpt35": "0.65", "extractor_unknown": "0.65",
}  # fmt: skip
_PRIORS = {
    "prior_entity": "0.90", "prior_event": "0.85", "prior_fact": "0.80",
    "prior_preference": "0.75", "prior_relation": "0.70", "prior_unknown": "0.75",
}  # fmt: skip

CONFIDENCE = (
    Formula(
        "Confidence",
        "Confidence Scoring",
        confidence.confidence,
        (
            constants(
                WritePolicy,
                {
                    "weight_source": "0.45",
                    "weight_repetition": "0.20",
                    "weight_extractor": "0.25",
                    "weight_prior": "0.10",
                },
            ),
            constants(WritePolicy, {"high_confidence": "0.75"}),
        ),
        (
            Figure("0.4275", "0.45 × 0.95, a direct statement", lambda: 0.45 * _policy.source_direct),
            Figure("0.1162", "0.20 × r(3)", lambda: 0.20 * _r(3)),
            Figure("0.200", "0.25 × 0.80, Claude Haiku", lambda: 0.25 * _policy.extractor_haiku),
            Figure("0.075", "0.10 × 0.75, a Preference", lambda: 0.10 * _policy.prior_preference),
            Figure("0.8187", "Appendix C, step 5", lambda: _conf("direct", 3, "claude-haiku", "Preference")),
            Figure("0.82", "Appendix C, as stored", lambda: _conf("direct", 3, "claude-haiku", "Preference")),
            Figure("0.225", "0.25 × 0.90, Claude Sonnet", lambda: 0.25 * _policy.extractor_sonnet_opus),
            Figure("0.090", "0.10 × 0.90, an Entity", lambda: 0.10 * _policy.prior_entity),
            Figure("0.7425", "the best first mention", lambda: _conf("direct", 0, "claude-sonnet", "Entity")),
            Figure("0.74", "the best first mention, rounded", lambda: _conf("direct", 0, "claude-sonnet", "Entity")),
        ),
        note="Weights are divided by their sum, so they add up to 1 whatever is typed.",
        where="s source strength, r repetition, e extractor confidence, t type prior",
    ),
    Formula(
        "Source strength",
        "Source strength values",
        confidence.strongest,
        (constants(WritePolicy, _SOURCE_LEVELS),),
        (
            Figure("0.65", "from direct to speculation", lambda: _policy.source_direct - _policy.source_speculation),
            Figure(
                "0.29",
                "what that gap moves",
                lambda: _policy.weight_source * (_policy.source_direct - _policy.source_speculation),
            ),
            Figure("0.70", "the average of three turns, which is not used", lambda: float(np.mean([0.5, 0.8, 0.8]))),
            Figure("0.80", "the strongest of three turns", lambda: confidence.strongest(np.array([0.5, 0.8, 0.8]))),
        ),
        (
            Claim(
                "speculation lies well below any reasonable retrieval threshold",
                (("a speculation said twice", lambda: _conf("speculation", 1, "claude-sonnet", "Entity")),),
                "After one repetition the best extracted speculation passes the floor of .5.",
            ),
        ),
        note="A memory that does not say how it was learnt counts as a strong inference (ours).",
    ),
    Formula(
        "Repetition boost",
        "Repetition boost and why it's logarithmic",
        confidence.repetition,
        figures=(
            _repetition_figure(0, "0.000"),
            _repetition_figure(1, "0.307"),
            _repetition_figure(2, "0.478"),
            _repetition_figure(5, "0.625"),
            _repetition_figure(10, "0.700"),
            _repetition_figure(100, "0.824"),
            Figure("1.3863", "ln 4", lambda: float(np.log(4))),
            Figure("2.3863", "1 + ln 4", lambda: 1 + float(np.log(4))),
            Figure("0.4191", "1 ÷ 2.3863", lambda: 1 - _r(3)),
            Figure("0.581", "r(3)", partial(_r, 3)),
        ),
        claims=(
            Claim(
                "the 100th observation adds about as much as the 5th",
                (("the 100th adds", lambda: _r(100) - _r(99)), ("the 5th adds", lambda: _r(5) - _r(4))),
                "It adds far less; the curve saturates as the formula says.",
            ),
            Claim(
                "Appendix C: the third mention has n = 3, counting from 1",
                (("r(2), the third mention counted from 0", partial(_r, 2)), ("r(3), as printed", partial(_r, 3))),
                "n counts re-observations and is 0 at the first mention (Appendix B); the example simply has n = 3.",
            ),
        ),
        where="n re-observations after the first mention",
    ),
    Formula(
        "Extractor confidence",
        "Extractor confidence",
        confidence.extractor_confidence,
        (constants(WritePolicy, _EXTRACTORS),),
        (
            Figure(
                "0.025",
                "from Haiku to Sonnet",
                lambda: _policy.weight_extractor * (_policy.extractor_sonnet_opus - _policy.extractor_haiku),
            ),
            Figure("0.19", "Haiku's table value over a true .61", lambda: _policy.extractor_haiku - 0.61),
            Figure("0.048", "what that inflates", lambda: _policy.weight_extractor * (_policy.extractor_haiku - 0.61)),
        ),
        note="The table stands in where no token probabilities are given; the model's name is matched in any case.",
        where="pᵢ the probability of each of T tokens",
    ),
    Formula(
        "Type prior",
        "Type prior",
        calibration.type_prior,
        (
            constants(WritePolicy, _PRIORS),
            constants(
                WritePolicy,
                {"prior_lowest": "0.70", "prior_span": "0.20", "prior_steepness": "20", "prior_midpoint": "0.835"},
            ),
        ),
        (
            Figure(
                "0.90",
                "Entity, 95 % agreement",
                lambda: _prior(0.95),
                "a logistic nears its ends and never reaches them; the printed priors ship",
                ours=True,
            ),
            Figure(
                "0.70",
                "Relation, 72 % agreement",
                lambda: _prior(0.72),
                "a logistic nears its ends and never reaches them; the printed priors ship",
                ours=True,
            ),
        ),
        (
            Claim(
                "an unknown type takes the midpoint between Preference, the lowest prior, and Fact",
                (
                    ("between Preference and Fact", lambda: (_policy.prior_preference + _policy.prior_fact) / 2),
                    ("between Relation and Fact", lambda: (_policy.prior_relation + _policy.prior_fact) / 2),
                ),
                "The lowest prior is Relation; .75 is the midpoint between it and Fact.",
            ),
        ),
        where="a how steep, b the agreement in the middle",
    ),
    Formula(
        "Confirmation",
        "Confirmation update",
        confidence.confirmed,
        (constants(WritePolicy, {"confirmed_level": "0.80"}),),
        (Figure("0.80", "a speculation, confirmed", lambda: float(confidence.confirmed(np.asarray(0.30), 0.80))),),
    ),
    Formula(
        "Confirmation cap",
        "Confirmation update",
        confidence.capped,
        (constants(WritePolicy, {"confirmed_cap": "0.99"}),),
        (Figure("0.01", "the headroom", lambda: 1 - _policy.confirmed_cap),),
    ),
    Formula(
        "Grounding penalty",
        "Grounding confidence penalty",
        confidence.grounded,
        (
            constants(WritePolicy, {"grounding_penalty": "0.20"}),
            constants(WritePolicy, {"grounding_floor": "0.3"}, grounding_floor=("0.1", "0.5")),
        ),
        (
            Figure(
                "0.10",
                "a speculation, partially grounded",
                lambda: _conf("speculation", 0, "claude-haiku", "Fact", "partial"),
                "the penalty applies to the confidence, not to s; it still falls below the floor and is dropped",
            ),
        ),
        note="Unsupported memories are rejected outright (ours).",
    ),
)
