r"""Faithfulness of an answer to its memories."""

import math
from collections.abc import Iterable
from typing import Literal

Risk = Literal["none", "low", "medium", "high"]


def faithfulness(supported: int, claims: int) -> float:
    r"""Share of an answer's claims that its memories support; 1 without claims.

    $$ \text{faithfulness} = \frac{\text{supported claims}}{\text{total claims}} $$

    >>> faithfulness(3, 4), faithfulness(0, 0)
    (0.75, 1.0)
    """
    return supported / claims if claims else 1.0


def risk(unsupported: int, critical: int) -> Risk:
    r"""Risk level, by the first rule that applies.

    $$ 0 \mapsto \text{none},\quad \ge 3 \mapsto \text{high},\quad
       1\text{–}2 \text{ critical} \mapsto \text{medium},\quad \text{else low} $$

    >>> [risk(*counts) for counts in ((0, 0), (2, 0), (2, 1), (3, 0))]
    ['none', 'low', 'medium', 'high']
    """
    if unsupported == 0:
        return "none"
    if unsupported >= 3:
        return "high"
    return "medium" if critical else "low"


def escape_rate(guards: Iterable[float]) -> float:
    r"""Probability that a hallucination escapes all guards, assumed independent.

    $$ P(\text{escapes all}) = \prod_i P(\text{escapes guard}_i) $$

    >>> round(escape_rate([0.20, 0.50, 0.30]), 4)
    0.03
    """
    return math.prod(guards)
