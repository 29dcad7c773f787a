"""What two settings do not have in common, in words."""

from typing import Any

from memories.models import ProfileVersion
from memories.retrieval.query import Setting
from memories.retrieval.settings import of_served
from memories.templatetags.numbers import figure
from scoring.params import Declaration, Number, Switch

USUAL = " (default)"  # which a plan may move; what is given stands


def differences(before: ProfileVersion | None, after: ProfileVersion) -> list[str]:
    """What changes from one version to another, or from what ships: one line each."""
    return between(of_served(before), of_served(after))


def between(one: Setting, other: Setting) -> list[str]:
    """What changes from one setting to another, in the order of the declarations."""
    if one.system is not other.system:
        given = [f"{label(declared)} {told(declared, other.given, name)}" for name, declared in chosen(other)]
        return [f"system {one.system.name} → {other.system.name}", *given]
    return [
        f"{label(declared)} {told(declared, one.given, name)} → {told(declared, other.given, name)}"
        for name, declared in one.system.params.declared().items()
        if one.given.get(name) != other.given.get(name)
    ]


def chosen(setting: Setting) -> list[tuple[str, Declaration]]:
    """The parameters that a setting gives."""
    return [(name, one) for name, one in setting.system.params.declared().items() if name in setting.given]


def label(declared: Declaration) -> str:
    """What a parameter is called, and among which others."""
    return f"{declared.group}: {declared.affects}"


def told(declared: Declaration, given: Any, name: str) -> str:
    """A value as one reads it, with its unit."""
    value = given.get(name, declared.default)
    usual = "" if name in given else USUAL
    if isinstance(declared, Switch):
        return ("on" if value else "off") + usual
    if isinstance(declared, Number):
        return f"{figure(value)}{f' {declared.unit}' if declared.unit else ''}{usual}"
    return f"{value}{usual}"
