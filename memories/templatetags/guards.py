"""Template filters of the Guards page: counts per thousand and rates."""

from django import template

from memories.contracts.number_format import format_count, format_number

register = template.Library()


@register.filter("tally")
def format_per_thousand(count: float) -> str:
    """A count per thousand, with more decimals the smaller it is.

    >>> format_per_thousand(1000.0), format_per_thousand(30.0), format_per_thousand(12.54), format_per_thousand(0.126)
    ('1,000', '30', '12.5', '.13')
    """
    decimals = 0 if count >= 100 else 1 if count >= 1 else 2
    rounded = round(count, decimals)
    return format_count(round(rounded)) if rounded == round(rounded) else format_number(rounded)


@register.filter("rate")
def format_rate(share: float) -> str:
    """A product of rates without floating-point noise.

    >>> format_rate(0.2 * 0.5 * 0.3)
    '.03'
    """
    return format_number(round(share, 6))


tally = format_per_thousand  # earlier name, for modules that still use it
