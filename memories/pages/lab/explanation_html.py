"""A score's explanation as nested HTML lists; each parameter links to its slider.

Built as strings: rendering a hundred small templates would take longer than the ranking itself.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.contracts.number_format import format_number, format_rounded
from memories.pages.retriever_styles import RETRIEVER_STYLES
from scoring.term import Tree

LEAF_OPS = ("param", "const", "input")
MAX_INLINE_LEAVES = 3  # operands up to which an equation is printed with its values
INFIX_OPS = {"+": " + ", "−": " − ", "×": " × ", "÷": " ÷ "}
FUNCTION_OPS = {"min": "min", "max": "max", "ln": "ln", "scale": "scaled", "exp": "exp"}


def render_explanation(tree: Tree, changed: Mapping[str, Any]) -> SafeString:
    """The explanation of one score; `changed` holds the start values of changed parameters."""
    inside = "".join(explanation_item_html(part, changed) for part in named_children(tree))
    label = f'<span class="name"><b>{node_label_html(tree)}</b></span>'
    head = f'<div class="node">{label}{equation_html(tree)}{node_value_html(tree, changed)}</div>'
    return mark_safe(f'<div class="tree">{head}<ul>{inside}</ul></div>')  # every name in it is escaped


def explanation_item_html(node: Tree, changed: Mapping[str, Any]) -> str:
    """One node; a <details> if it has children."""
    label = f'<span class="name">{node_label_html(node)}</span>'
    line = f"{label}{equation_html(node, changed)}{node_value_html(node, changed)}"
    parts = [] if fits_inline(node) else named_children(node)
    if not parts:
        return f'<li class="node">{line}</li>'
    inside = "".join(explanation_item_html(part, changed) for part in parts)
    return f'<li><details><summary class="node">{line}</summary><ul>{inside}</ul></details></li>'


def named_children(node: Tree) -> list[Tree]:
    """Named descendants; unnamed arithmetic between them is part of the equation."""
    children: list[Tree] = []
    for part in node["parts"]:
        if is_arithmetic(part):
            children += named_children(part)
        elif part["op"] != "const":
            children.append(part)
    return children


def is_arithmetic(node: Tree) -> bool:
    """Whether a node is an unnamed operation."""
    return bool(node["parts"]) and node["name"] == node["op"]


def leaf_operands(node: Tree) -> list[Tree]:
    """Operands of an equation: leaves and named nodes."""
    return [leaf for part in node["parts"] for leaf in (leaf_operands(part) if is_arithmetic(part) else [part])]


def fits_inline(node: Tree) -> bool:
    """Whether an equation is short enough to be printed with its values."""
    operands = leaf_operands(node)
    return 0 < len(operands) <= MAX_INLINE_LEAVES and all(operand["op"] in LEAF_OPS for operand in operands)


def equation_html(node: Tree, changed: Mapping[str, Any] | None = None) -> str:
    """How a value follows from its operands."""
    if node["op"] == "param":
        before = (changed or {}).get(node["name"])
        note = f", was {escape(format_number(before))}" if before is not None else ""
        return f'<span class="eq"><a href="#p-{escape(node["name"])}">parameter</a>{note}</span>'
    if not node["parts"]:
        return '<span class="eq"></span>'
    return f'<span class="eq">{operation_html(node, with_values=fits_inline(node))}</span>'


def operation_html(node: Tree, *, with_values: bool) -> str:
    """An operation with its operands."""
    op, parts = node["op"], [operand_html(part, with_values=with_values) for part in node["parts"]]
    if op == "exp2":
        return f"2^({parts[0].removeprefix('(').removesuffix(')')})"
    if op == "−" and len(parts) == 1:
        return f"−{parts[0]}"
    if op in FUNCTION_OPS:
        return f"{FUNCTION_OPS[op]}({', '.join(parts[:1] if op == 'scale' else parts)})"
    return INFIX_OPS.get(op, f" {escape(op)} ").join(parts)


def operand_html(node: Tree, *, with_values: bool) -> str:
    """An operand: a value, a name, or a nested operation in brackets."""
    if is_arithmetic(node):
        inner = operation_html(node, with_values=with_values)
        return inner if node["op"] in FUNCTION_OPS or node["op"] == "exp2" else f"({inner})"
    if node["op"] == "const":
        return format_number(node["value"])
    text = format_rounded(node["value"]) if with_values else node_label_html(node)
    return f'<a href="#p-{escape(node["name"])}">{text}</a>' if node["op"] == "param" else text


def node_label_html(node: Tree) -> str:
    """A node's label; retrievers by their display name."""
    label = str(node["name"])
    first, space, more = label.partition(" ")
    if first in RETRIEVER_STYLES:
        label = f"{RETRIEVER_STYLES[first].name}{space}{more}"
    return escape(label.replace("_", " "))


def node_value_html(node: Tree, changed: Mapping[str, Any]) -> str:
    """A node's value, highlighted if it is a changed parameter."""
    value = node["value"]
    text = (
        format_rounded(value)
        if abs(value) >= 10 or node["op"] in LEAF_OPS
        else format_number(value, 5 if abs(value) < 0.1 else 4)
    )
    if node["op"] == "param" and node["name"] in changed:
        text = f'<span class="marked">{text}</span>'
    return f'<span class="num">{text}</span>'
