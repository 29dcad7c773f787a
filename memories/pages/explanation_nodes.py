"""Explanation trees with readable labels: each value with its equation."""

from dataclasses import dataclass
from typing import Any

from memories.contracts.number_format import format_rounded
from scoring.term import Tree

# Label of an unnamed operation, and the infix sign between its operands.
OPERATIONS = {
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
LEAF_LABELS = {"param": "parameter", "input": "input", "const": "constant"}


@dataclass(frozen=True)
class ExplanationNode:
    """A value with its equation and operands."""

    name: str
    equation: str
    value: float
    parts: tuple["ExplanationNode", ...]


def explanation_node(tree: Tree) -> ExplanationNode:
    """Convert an explanation tree; constants get no line of their own."""
    parts: list[Tree] = tree.get("parts", [])
    name = str(tree["name"])
    children = tuple(explanation_node(part) for part in parts if part.get("op") != "const")
    return ExplanationNode(
        OPERATIONS[name][0] if name in OPERATIONS else name.replace("_", " "),
        node_equation(tree, parts),
        float(tree["value"]),
        children,
    )


def node_equation(tree: Tree, parts: list[Tree]) -> str:
    """The equation of a node; operands by name, or by value if unnamed."""
    op: Any = tree.get("op", "")
    if not parts:
        return LEAF_LABELS.get(op, "")
    operands = [operand_label(part) for part in parts]
    if op == "−" and len(operands) == 1:
        return f"−{operands[0]}"
    infix = OPERATIONS[op][1] if op in OPERATIONS else ""
    return infix.join(operands) if infix else f"{op}({', '.join(operands)})"


def operand_label(part: Tree) -> str:
    """An operand in an equation."""
    name = str(part["name"])
    if not part.get("parts") or name in OPERATIONS or name == "weight":
        return format_rounded(float(part["value"]))
    return name.replace("_", " ")
