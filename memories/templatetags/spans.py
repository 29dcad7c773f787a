"""How spans of time are written."""

from django import template

from memories.templatetags.numbers import figure

register = template.Library()


@register.filter("span")
def days(span: float) -> str:
    """A span of days in the unit in which a person would tell it."""
    if span >= 2:
        return f"{figure(round(span, 1))} days"
    hours = span * 24
    return f"{figure(round(hours, 1))} hours" if hours >= 1 else f"{figure(round(hours * 3600, 1))} seconds"
