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
