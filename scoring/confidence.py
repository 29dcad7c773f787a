r"""Confidence of a memory: its signals, and updates by later evidence."""

from collections.abc import Mapping, Sequence

import numpy as np

from scoring.term import Array, Quantity, exp, ln, maximum, minimum, total

SOURCE_LEVELS = ("direct", "confirmation", "strong_inference", "weak_inference", "speculation")
# First match wins, so smaller models of a family come before the family.
EXTRACTORS: Mapping[str, tuple[str, ...]] = {
    "haiku": ("haiku",),
    "sonnet_opus": ("sonnet", "opus"),
    "gpt35": ("gpt-3.5", "gpt3.5", "gpt-35"),
    "gpt4": ("gpt-4", "gpt4"),
}


def repetition(observations: Quantity) -> Quantity:
    r"""Repetition boost with diminishing returns; 0 at the first mention.

    $$ r(n) = 1 - \frac{1}{1 + \ln(1 + n)} $$

    >>> repetition(np.array([0.0, 1.0, 3.0, 100.0])).round(4)
    array([0.    , 0.4094, 0.5809, 0.8219])
    """
    return 1.0 - 1.0 / (1.0 + ln(1.0 + observations))


def weighted_confidence(signals: Mapping[str, Quantity], weights: Mapping[str, Quantity | float]) -> Quantity:
    r"""Weighted sum of the four signals, at most 1.

    $$ \text{conf}(m) = \min(1.0,\ 0.45\,s + 0.20\,r + 0.25\,e + 0.10\,t) $$

    >>> signals = {"source": np.array([0.95]), "repetition": np.array([0.581]),
    ...            "extractor": np.array([0.80]), "prior": np.array([0.75])}
    >>> weighted_confidence(signals, {"source": 0.45, "repetition": 0.20, "extractor": 0.25, "prior": 0.10}).round(4)
    array([0.8187])
    """
    return minimum(total(weights[name] * signal for name, signal in signals.items()), 1.0)


def grounded_confidence(confidence: Quantity, penalty: Quantity | float) -> Quantity:
    r"""Confidence after the penalty for partial grounding, at least 0.

    $$ \text{adjusted_confidence} = \max(\text{original_confidence} - \text{penalty},\ 0) $$

    >>> grounded_confidence(np.array([0.4675, 0.10]), 0.20).round(4)
    array([0.2675, 0.    ])
    """
    return maximum(confidence - penalty, 0.0)


def confirmed_source_strength(source: Quantity, level: Quantity | float) -> Quantity:
    r"""Source strength after a user's confirmation: raised to the confirmed level, never lowered.

    $$ s = \max(s_{\text{current}},\ 0.80) $$

    >>> confirmed_source_strength(np.array([0.30, 0.95]), 0.80)
    array([0.8 , 0.95])
    """
    return maximum(source, level)


def capped_confidence(confidence: Quantity, cap: Quantity | float) -> Quantity:
    r"""Cap on the confidence of a confirmed memory.

    $$ \text{conf} = \min(\text{conf},\ 0.99) $$

    >>> capped_confidence(np.array([0.85, 1.0]), 0.99)
    array([0.85, 0.99])
    """
    return minimum(confidence, cap)


def strongest_source(sources: Array) -> float:
    r"""Source strength over several turns: the maximum, not the mean.

    $$ s = \max(s_{\text{turn}_1}, \ldots, s_{\text{turn}_k}) $$

    >>> strongest_source(np.array([0.50, 0.80, 0.80]))
    0.8
    """
    return float(np.max(sources))


def extractor_confidence(logprobs: Sequence[float] | Array) -> float:
    r"""Geometric mean of the extracted tokens' probabilities.

    $$ e = \exp\left(\frac{1}{T}\sum_{i=1}^{T} \ln p_i\right) $$

    >>> round(extractor_confidence([-0.1, -0.3, -0.2]), 4)
    0.8187
    """
    values = np.asarray(logprobs, dtype=float)
    if not (values <= 0).all():
        raise ValueError(f"logprobs must be numbers from −∞ to 0; got {values[~(values <= 0)][0]:g}")
    return float(exp(np.asarray(values.mean())))


def extractor_class(model: str) -> str:
    """The row of the extractor table for a model name.

    >>> extractor_class("Claude-Haiku-4.5"), extractor_class("gpt-4o"), extractor_class("inhouse-ner-2")
    ('haiku', 'gpt4', 'unknown')
    """
    name = model.casefold()
    return next(
        (row for row, patterns in EXTRACTORS.items() if any(pattern in name for pattern in patterns)), "unknown"
    )


def utility(useful: Quantity, not_useful: Quantity) -> Quantity:
    r"""Share of positive feedback, with add-one smoothing.

    $$ \text{utility} = \frac{\text{useful} + 1}{\text{useful} + \text{not useful} + 2} $$

    >>> utility(np.array([0.0, 8.0]), np.array([0.0, 0.0]))
    array([0.5, 0.9])
    """
    return (useful + 1.0) / (useful + not_useful + 2.0)


def provenance(depth: Quantity, attenuation: Quantity) -> Quantity:
    r"""Attenuation of confidence per provenance hop.

    $$ \text{confidence}_{\text{effective}} = \text{confidence} \cdot 0.9^{\text{depth}} $$

    >>> provenance(np.array([0.0, 1.0, 3.0]), np.array(0.9)).round(3)
    array([1.   , 0.9  , 0.729])
    """
    return exp(depth * ln(attenuation))
