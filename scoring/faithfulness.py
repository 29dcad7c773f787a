r"""Whether an answer is carried by the memories it was made from."""

import math
from collections.abc import Iterable
from typing import Literal

Risk = Literal["none", "low", "medium", "high"]


def faithfulness(supported: int, claims: int) -> float:
    r"""The share of an answer's claims that its memories support; an answer without claims is faithful.

    $$ \text{faithfulness} = \frac{\text{supported claims}}{\text{total claims}} $$

    >>> faithfulness(3, 4), faithfulness(0, 0)
    (0.75, 1.0)
    """
    return supported / claims if claims else 1.0


def risk(unsupported: int, critical: int) -> Risk:
    r"""The first row that fits: none unsupported, three or more, a critical one, or else low.

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
    r"""The chance that a hallucination escapes all guards, taken as independent.

    $$ P(\text{escapes all}) = \prod_i P(\text{escapes guard}_i) $$

    >>> round(escape_rate([0.20, 0.50, 0.30]), 4)
    0.03
    """
    return math.prod(guards)
