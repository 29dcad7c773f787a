"""Places on a line from 0 to 1."""

from django import template

register = template.Library()


@register.filter
def along(value: float) -> str:
    """How far along the line a value lies, in percent; what lies before it is at its beginning.

    >>> along(0.75), along(-0.2)
    ('75.0', '0.0')
    """
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
