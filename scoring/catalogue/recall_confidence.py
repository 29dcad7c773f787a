"""Source 000, write path: confidence and its updates."""

from functools import partial

import numpy as np

from scoring import calibration, confidence
from scoring.catalogue.entry import Formula, PrintedValue, SourceClaim, constants
from scoring.evidence import Evidence, Grounding
from scoring.policy import WritePolicyParams
from scoring.systems import recall

_policy = WritePolicyParams()
_REPETITION_RULING = "observations count from 0 (Appendix B), and the formula wins over the table"


def _r(n: float) -> float:
    return float(confidence.repetition(np.asarray(n)))


def _conf(level: str, n: int, model: str, type: str, grounding: Grounding = "supported") -> float:
    evidence = Evidence(frozenset({level}), repetitions=n, type=type, model=model, grounding=grounding)
    return float(recall.memory_confidence(evidence, _policy).value)


def _surest() -> float:
    """The confidence that endless repetition of the best evidence approaches."""
    return (
        _policy.weight_source * _policy.source_direct
        + _policy.weight_repetition
        + _policy.weight_extractor
        + _policy.weight_prior * _policy.prior_entity
    )


def _repetition_value(n: int, printed: str) -> PrintedValue:
    ruling = "" if n == 0 else _REPETITION_RULING
    return PrintedValue(printed, f"r({n})", partial(_r, n), ruling)


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
        confidence.weighted_confidence,
        (
            constants(
                WritePolicyParams,
                {
                    "weight_source": "0.45",
                    "weight_repetition": "0.20",
                    "weight_extractor": "0.25",
                    "weight_prior": "0.10",
                },
            ),
            constants(WritePolicyParams, {"high_confidence": "0.75"}),
        ),
        (
            PrintedValue("0.4275", "0.45 × 0.95, a direct statement", lambda: 0.45 * _policy.source_direct),
            PrintedValue("0.1162", "0.20 × r(3)", lambda: 0.20 * _r(3)),
            PrintedValue("0.200", "0.25 × 0.80, Claude Haiku", lambda: 0.25 * _policy.extractor_haiku),
            PrintedValue("0.075", "0.10 × 0.75, a Preference", lambda: 0.10 * _policy.prior_preference),
            PrintedValue("0.8187", "Appendix C, step 5", lambda: _conf("direct", 3, "claude-haiku", "Preference")),
            PrintedValue("0.82", "Appendix C, as stored", lambda: _conf("direct", 3, "claude-haiku", "Preference")),
            PrintedValue("0.225", "0.25 × 0.90, Claude Sonnet", lambda: 0.25 * _policy.extractor_sonnet_opus),
            PrintedValue("0.090", "0.10 × 0.90, an Entity", lambda: 0.10 * _policy.prior_entity),
            PrintedValue("0.7425", "the best first mention", lambda: _conf("direct", 0, "claude-sonnet", "Entity")),
            PrintedValue(
                "0.74", "the best first mention, rounded", lambda: _conf("direct", 0, "claude-sonnet", "Entity")
            ),
        ),
        note="Weights are normalised to sum to 1.",
        symbols="s source strength, r repetition, e extractor confidence, t type prior",
    ),
    Formula(
        "Source strength",
        "Source strength values",
        confidence.strongest_source,
        (constants(WritePolicyParams, _SOURCE_LEVELS),),
        (
            PrintedValue(
                "0.65", "from direct to speculation", lambda: _policy.source_direct - _policy.source_speculation
            ),
            PrintedValue(
                "0.29",
                "effect of that gap",
                lambda: _policy.weight_source * (_policy.source_direct - _policy.source_speculation),
            ),
            PrintedValue("0.70", "the mean of three turns (not used)", lambda: float(np.mean([0.5, 0.8, 0.8]))),
            PrintedValue(
                "0.80", "the strongest of three turns", lambda: confidence.strongest_source(np.array([0.5, 0.8, 0.8]))
            ),
        ),
        (
            SourceClaim(
                "speculation lies well below any reasonable retrieval threshold",
                (("a speculation, repeated once", lambda: _conf("speculation", 1, "claude-sonnet", "Entity")),),
                "After one repetition a speculation can pass the minimum confidence of .5.",
            ),
        ),
        note="A memory that states no source level counts as a strong inference (ours). Of a dialogue, the strongest "
        "turn counts, and every turn that asserts the fact raises n; a hedge is a weak inference, an answer that "
        "affirms a question or an earlier fact a confirmation, what only an assistant infers speculation.",
    ),
    Formula(
        "Repetition boost",
        "Repetition boost and why it's logarithmic",
        confidence.repetition,
        printed_values=(
            _repetition_value(0, "0.000"),
            _repetition_value(1, "0.307"),
            _repetition_value(2, "0.478"),
            _repetition_value(5, "0.625"),
            _repetition_value(10, "0.700"),
            _repetition_value(100, "0.824"),
            PrintedValue("1.3863", "ln 4", lambda: float(np.log(4))),
            PrintedValue("2.3863", "1 + ln 4", lambda: 1 + float(np.log(4))),
            PrintedValue("0.4191", "1 ÷ 2.3863", lambda: 1 - _r(3)),
            PrintedValue("0.581", "r(3)", partial(_r, 3)),
        ),
        claims=(
            SourceClaim(
                "the 100th observation adds about as much as the 5th",
                (("the 100th adds", lambda: _r(100) - _r(99)), ("the 5th adds", lambda: _r(5) - _r(4))),
                "It adds far less; the curve saturates, as the formula implies.",
            ),
            SourceClaim(
                "Appendix C: the third mention has n = 3, counting from 1",
                (("r(2), the third mention counted from 0", partial(_r, 2)), ("r(3), as printed", partial(_r, 3))),
                "n counts re-observations and is 0 at the first mention (Appendix B); the example simply has n = 3.",
            ),
        ),
        symbols="n re-observations after the first mention",
    ),
    Formula(
        "Extractor confidence",
        "Extractor confidence",
        confidence.extractor_confidence,
        (constants(WritePolicyParams, _EXTRACTORS),),
        (
            PrintedValue(
                "0.025",
                "from Haiku to Sonnet",
                lambda: _policy.weight_extractor * (_policy.extractor_sonnet_opus - _policy.extractor_haiku),
            ),
            PrintedValue("0.19", "Haiku's table value over a true .61", lambda: _policy.extractor_haiku - 0.61),
            PrintedValue(
                "0.048", "effect on confidence", lambda: _policy.weight_extractor * (_policy.extractor_haiku - 0.61)
            ),
        ),
        note="The table applies if no token probabilities are given; model names are matched case-insensitively.",
        symbols="pᵢ the probability of each of T tokens",
    ),
    Formula(
        "Type prior",
        "Type prior",
        calibration.type_prior,
        (
            constants(WritePolicyParams, _PRIORS),
            constants(
                WritePolicyParams,
                {"prior_lowest": "0.70", "prior_span": "0.20", "prior_steepness": "20", "prior_midpoint": "0.835"},
            ),
        ),
        (
            PrintedValue(
                "0.90",
                "Entity, 95 % agreement",
                lambda: _prior(0.95),
                "a logistic only approaches its limits; the printed priors are the defaults",
                ours=True,
            ),
            PrintedValue(
                "0.70",
                "Relation, 72 % agreement",
                lambda: _prior(0.72),
                "a logistic only approaches its limits; the printed priors are the defaults",
                ours=True,
            ),
        ),
        (
            SourceClaim(
                "an unknown type takes the midpoint between Preference, the lowest prior, and Fact",
                (
                    ("between Preference and Fact", lambda: (_policy.prior_preference + _policy.prior_fact) / 2),
                    ("between Relation and Fact", lambda: (_policy.prior_relation + _policy.prior_fact) / 2),
                ),
                "The lowest prior is Relation; .75 is the midpoint between it and Fact.",
            ),
        ),
        symbols="a the steepness, b the midpoint",
    ),
    Formula(
        "Confirmation",
        "Confirmation update",
        confidence.confirmed_source_strength,
        (constants(WritePolicyParams, {"confirmed_level": "0.80"}),),
        (
            PrintedValue(
                "0.80",
                "a speculation, confirmed",
                lambda: float(confidence.confirmed_source_strength(np.asarray(0.30), 0.80)),
            ),
        ),
    ),
    Formula(
        "Confirmation cap",
        "Confirmation update",
        confidence.capped_confidence,
        (constants(WritePolicyParams, {"confirmed_cap": "0.99"}),),
        (PrintedValue("0.01", "the headroom", lambda: 1 - _policy.confirmed_cap),),
        (
            SourceClaim(
                "the result is clamped at 0.99, not 1.0",
                (("the surest memory: direct, e = 1, an Entity, r → 1", _surest),),
                "With the paper's tables no memory reaches .99; the cap holds where weights or tables are set higher.",
            ),
        ),
    ),
    Formula(
        "Grounding penalty",
        "Grounding confidence penalty",
        confidence.grounded_confidence,
        (
            constants(WritePolicyParams, {"grounding_penalty": "0.20"}),
            constants(WritePolicyParams, {"grounding_floor": "0.3"}, grounding_floor=("0.1", "0.5")),
        ),
        (
            PrintedValue(
                "0.10",
                "a speculation, partially grounded",
                lambda: _conf("speculation", 0, "claude-haiku", "Fact", "partial"),
                "the penalty applies to the confidence, not to s; it still falls below the floor and is dropped",
            ),
        ),
        note="Unsupported memories are rejected outright (ours).",
    ),
)
