"""Evaluates explanation trees from JSON, independently of `scoring.term`."""

import math
from typing import Any


def evaluate(node: dict[str, Any]) -> float:
    """Recompute a node from its leaves."""
    if node["op"] in ("const", "input", "param"):
        assert node["parts"] == []
        return float(node["value"])
    parts = [evaluate(part) for part in node["parts"]]
    match node["op"]:
        case "+":
            return math.fsum(parts)
        case "×":
            return math.prod(parts)
        case "−":
            return -parts[0] if len(parts) == 1 else parts[0] - parts[1]
        case "÷":
            return parts[0] / parts[1]
        case "min":
            return min(parts)
        case "max":
            return max(parts, default=0.0)
        case "exp2":
            return 2.0 ** parts[0]
        case "exp":
            return math.exp(parts[0])
        case "ln":
            return math.log(parts[0])
        case "scale":
            value, low, high = parts
            return 0.0 if high == low else (min(max(value, low), high) - low) / (high - low)
        case other:
            raise AssertionError(f"{other!r} is not an operation of the closed set")
