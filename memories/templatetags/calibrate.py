"""Positions on a line from 0 to 1."""

from django import template

register = template.Library()


@register.filter
def along(value: float) -> str:
    """Position of a value on the line, in percent, clamped to its ends.

    >>> along(0.75), along(-0.2)
    ('75.0', '0.0')
    """
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
