"""Formats counts and rates of the guards."""

from django import template

from memories.templatetags.numbers import figure, grouped

register = template.Library()


@register.filter
def tally(count: float) -> str:
    """Format a count out of a thousand, with more decimals the smaller it is.

    >>> tally(1000.0), tally(30.0), tally(12.54), tally(0.126)
    ('1,000', '30', '12.5', '.13')
    """
    decimals = 0 if count >= 100 else 1 if count >= 1 else 2
    rounded = round(count, decimals)
    return grouped(round(rounded)) if rounded == round(rounded) else figure(rounded)


@register.filter
def rate(share: float) -> str:
    """Format a product of rates without floating-point noise.

    >>> rate(0.2 * 0.5 * 0.3)
    '.03'
    """
    return figure(round(share, 6))
