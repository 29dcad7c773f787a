"""Template tag for the options of a select."""

from collections.abc import Iterable
from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("parts/options.html")
def options(choices: Iterable[Any], selected: Any = "") -> dict[str, Any]:
    """Options from values, or from (value, text) pairs.

    >>> options(["read", "write"], "write")["options"]
    [('read', 'read', False), ('write', 'write', True)]
    """
    pairs = (choice if isinstance(choice, tuple) else (choice, choice) for choice in choices)
    return {"options": [(value, text, value == selected) for value, text in pairs]}
