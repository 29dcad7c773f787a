"""The differences between two configurations, as text."""

from typing import Any

from memories.contracts.number_format import format_number
from memories.models import Namespace, ProfileVersion
from memories.retrieval.config import serving_config
from memories.retrieval.query import Config
from scoring.params import Declaration, Number, Switch

DEFAULT_SUFFIX = " (default)"  # a plan may override a default, never a given value


def version_differences(namespace: Namespace, before: ProfileVersion | None, after: ProfileVersion) -> list[str]:
    """What changes from one version (or what the namespace's mode starts from) to another, one line each."""
    return config_differences(serving_config(namespace, before), serving_config(namespace, after))


def config_differences(before: Config, after: Config) -> list[str]:
    """What changes from one configuration to another, in declaration order."""
    if before.system is not after.system:
        given = [
            f"{diff_param_label(declaration)} {format_param(declaration, after.given, name)}"
            for name, declaration in given_params(after)
        ]
        return [f"system {before.system.name} → {after.system.name}", *given]
    return [
        f"{diff_param_label(declaration)} "
        f"{format_param(declaration, before.given, name)} → {format_param(declaration, after.given, name)}"
        for name, declaration in before.system.params.declarations().items()
        if before.given.get(name) != after.given.get(name)
    ]


def given_params(config: Config) -> list[tuple[str, Declaration]]:
    """The parameters a configuration gives explicitly."""
    return [
        (name, declaration) for name, declaration in config.system.params.declarations().items() if name in config.given
    ]


def diff_param_label(declaration: Declaration) -> str:
    """A parameter's group and label."""
    return f"{declaration.group}: {declaration.affects}"


def format_param(declaration: Declaration, given: Any, name: str) -> str:
    """A value with its unit, marked if it is the default."""
    value = given.get(name, declaration.default)
    suffix = "" if name in given else DEFAULT_SUFFIX
    if isinstance(declaration, Switch):
        return ("on" if value else "off") + suffix
    if isinstance(declaration, Number):
        return f"{format_number(value)}{f' {declaration.unit}' if declaration.unit else ''}{suffix}"
    return f"{value}{suffix}"
