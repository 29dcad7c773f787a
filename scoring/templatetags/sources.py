"""Where a number comes from, in words a reader knows."""

from django import template

from scoring.catalogue import SOURCES

register = template.Library()
NAMES = {source.seed: source.system for source in SOURCES}


@register.filter
def origin(seed: str) -> str:
    """Name the system behind a source's number.

    >>> origin("000 Type prior"), origin("ours: the paper names no pool")
    ('recall: Type prior', 'ours: the paper names no pool')
    """
    number, _, section = seed.partition(" ")
    return f"{NAMES[number]}: {section}" if number in NAMES and section else seed
