"""An explanation as a person reads it: each number with the sum it comes from."""

from dataclasses import dataclass
from typing import Any

from memories.templatetags.numbers import about
from scoring.term import Tree

# What a step without a name of its own is called, and how its parts are written.
STEPS = {
    "+": ("sum", " + "),
    "−": ("difference", " − "),
    "×": ("product", " × "),
    "÷": ("quotient", " ÷ "),
    "min": ("the smaller", ""),
    "max": ("the larger", ""),
    "exp2": ("power of 2", ""),
    "exp": ("power of e", ""),
    "ln": ("logarithm", ""),
    "scale": ("scaled", ""),
}
LEAVES = {"param": "parameter", "input": "known of it", "const": "of the formula"}


@dataclass(frozen=True)
class Node:
    """One number, how it was made, and what it was made from."""

    name: str
    equation: str
    value: float
    parts: tuple["Node", ...]


def node(tree: Tree) -> Node:
    """An explanation with its steps in words; a number of the formula itself is no line of its own."""
    parts: list[Tree] = tree.get("parts", [])
    name = str(tree["name"])
    shown = tuple(node(part) for part in parts if part.get("op") != "const")
    return Node(
        STEPS[name][0] if name in STEPS else name.replace("_", " "), equation(tree, parts), float(tree["value"]), shown
    )


def equation(tree: Tree, parts: list[Tree]) -> str:
    """How a number comes from its parts; each by its name, or by its value where it has none."""
    op: Any = tree.get("op", "")
    if not parts:
        return LEAVES.get(op, "")
    told = [called(part) for part in parts]
    if op == "−" and len(told) == 1:
        return f"−{told[0]}"
    joint = STEPS[op][1] if op in STEPS else ""
    return joint.join(told) if joint else f"{op}({', '.join(told)})"


def called(part: Tree) -> str:
    """A part as it stands in an equation."""
    name = str(part["name"])
    leaf = not part.get("parts")
    return about(float(part["value"])) if leaf or name in STEPS or name == "weight" else name.replace("_", " ")
