"""Template filter for the readable name of a source."""

from django import template

from scoring.catalogue import SOURCES

register = template.Library()
SYSTEM_NAMES = {source.number: source.system for source in SOURCES}


@register.filter
def origin(source: str) -> str:
    """Replace a source's number by its system's name.

    >>> origin("000 Type prior"), origin("ours: the paper names no pool")
    ('recall: Type prior', 'ours: the paper names no pool')
    """
    number, _, section = source.partition(" ")
    return f"{SYSTEM_NAMES[number]}: {section}" if number in SYSTEM_NAMES and section else source
