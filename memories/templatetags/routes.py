"""How retrievers are called and coloured, the same on every page."""

from django import template

register = template.Library()

CALLED = {
    "semantic": "meaning",
    "bm25": "words",
    "temporal": "time",
    "traversal": "paths",
    "lexical": "word search",
    "vec_full": "whole text",
    "vec_user": "what users said",
    "vec_asst": "what assistants said",
    "vec_next_user": "what was said next",
    "facet_personal_info": "personal details",
}
HUES = {
    "semantic": "semantic",
    "bm25": "words",
    "lexical": "words",
    "entity": "entity",
    "temporal": "time",
    "traversal": "paths",
}


@register.filter
def called(route: str) -> str:
    """What a person calls a retriever.

    >>> called("bm25"), called("facet_events")
    ('words', 'events')
    """
    return CALLED.get(route, route.removeprefix("facet_"))


@register.filter
def hue(route: str) -> str:
    """The colour token of a retriever; memsense's vectors are all meaning.

    >>> hue("temporal"), hue("vec_user")
    ('time', 'semantic')
    """
    return HUES.get(route, "semantic")


@register.filter
def nth(rank: int) -> str:
    """A rank in words.

    >>> nth(1), nth(2), nth(11), nth(23)
    ('1st', '2nd', '11th', '23rd')
    """
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"
