"""A score's explanation as nested lists: the sum of every part, each parameter a link to its slider.

Written as text in one go: a hundred small templates would take longer than the ranking itself.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.pages.lab.routes import LOOKS
from memories.templatetags.numbers import about, figure
from scoring.term import Tree

LEAVES = ("param", "const", "input")
FEW = 3  # leaves of a sum that is written in figures at once
SIGNS = {"+": " + ", "−": " − ", "×": " × ", "÷": " ÷ "}
CALLS = {"min": "min", "max": "max", "ln": "ln", "scale": "scaled", "exp": "exp"}


def explained(tree: Tree, changed: Mapping[str, Any]) -> SafeString:
    """The whole explanation of one score; `changed` holds what the moved parameters were before."""
    inside = "".join(item(part, changed) for part in children(tree))
    head = (
        f'<div class="node"><span class="name"><b>{name(tree)}</b></span>{equation(tree)}{number(tree, changed)}</div>'
    )
    return mark_safe(f'<div class="tree">{head}<ul>{inside}</ul></div>')  # every name in it is escaped


def item(node: Tree, changed: Mapping[str, Any]) -> str:
    """One part, which opens where it has parts of its own."""
    line = f'<span class="name">{name(node)}</span>{equation(node, changed)}{number(node, changed)}'
    parts = [] if in_figures(node) else children(node)
    if not parts:
        return f'<li class="node">{line}</li>'
    inside = "".join(item(part, changed) for part in parts)
    return f'<li><details><summary class="node">{line}</summary><ul>{inside}</ul></details></li>'


def children(node: Tree) -> list[Tree]:
    """The parts that have a name of their own; what is only arithmetic between them is in the equation."""
    found: list[Tree] = []
    for part in node["parts"]:
        if nameless(part):
            found += children(part)
        elif part["op"] != "const":
            found.append(part)
    return found


def nameless(node: Tree) -> bool:
    """Whether a part is only arithmetic."""
    return bool(node["parts"]) and node["name"] == node["op"]


def leaves(node: Tree) -> list[Tree]:
    """What stands at the ends of a sum, or a part that has a name."""
    return [leaf for part in node["parts"] for leaf in (leaves(part) if nameless(part) else [part])]


def in_figures(node: Tree) -> bool:
    """Whether a sum is short enough to be written with its figures."""
    ends = leaves(node)
    return 0 < len(ends) <= FEW and all(end["op"] in LEAVES for end in ends)


def equation(node: Tree, changed: Mapping[str, Any] | None = None) -> str:
    """How a value is made of its parts."""
    if node["op"] == "param":
        was = (changed or {}).get(node["name"])
        note = f", was {escape(figure(was))}" if was is not None else ""
        return f'<span class="eq"><a href="#p-{escape(node["name"])}">parameter</a>{note}</span>'
    if not node["parts"]:
        return '<span class="eq"></span>'
    return f'<span class="eq">{spelt(node, figures=in_figures(node))}</span>'


def spelt(node: Tree, *, figures: bool) -> str:
    """An operation with its operands."""
    op, parts = node["op"], [operand(part, figures=figures) for part in node["parts"]]
    if op == "exp2":
        return f"2^({parts[0].removeprefix('(').removesuffix(')')})"
    if op == "−" and len(parts) == 1:
        return f"−{parts[0]}"
    if op in CALLS:
        return f"{CALLS[op]}({', '.join(parts[:1] if op == 'scale' else parts)})"
    return SIGNS.get(op, f" {escape(op)} ").join(parts)


def operand(node: Tree, *, figures: bool) -> str:
    """A part of an equation: a figure, a name, or a sum in brackets."""
    if nameless(node):
        inner = spelt(node, figures=figures)
        return inner if node["op"] in CALLS or node["op"] == "exp2" else f"({inner})"
    if node["op"] == "const":
        return figure(node["value"])
    shown = about(node["value"]) if figures else name(node)
    return f'<a href="#p-{escape(node["name"])}">{shown}</a>' if node["op"] == "param" else shown


def name(node: Tree) -> str:
    """What a part is called; a list by its name in words."""
    words = str(node["name"])
    first, space, more = words.partition(" ")
    if first in LOOKS:
        words = f"{LOOKS[first].name}{space}{more}"
    return escape(words.replace("_", " "))


def number(node: Tree, changed: Mapping[str, Any]) -> str:
    """A value, marked where somebody moved it."""
    value = node["value"]
    text = about(value) if abs(value) >= 10 or node["op"] in LEAVES else figure(value, 5 if abs(value) < 0.1 else 4)
    if node["op"] == "param" and node["name"] in changed:
        text = f'<span class="marked">{text}</span>'
    return f'<span class="num">{text}</span>'
