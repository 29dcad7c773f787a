"""Template filter for positions on an axis from 0 to 1."""

from django import template

register = template.Library()


@register.filter("along")
def axis_percent(value: float) -> str:
    """A value's position on the axis in percent, clipped to the ends.

    >>> axis_percent(0.75), axis_percent(-0.2)
    ('75.0', '0.0')
    """
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
