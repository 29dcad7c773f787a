"""Template filters of the Guards page: counts per thousand and rates."""

from django import template

from memories.contracts.number_format import format_number, format_per_thousand

register = template.Library()
register.filter("tally", format_per_thousand)


@register.filter("rate")
def format_rate(share: float) -> str:
    """A product of rates without floating-point noise.

    >>> format_rate(0.2 * 0.5 * 0.3)
    '.03'
    """
    return format_number(round(share, 6))
