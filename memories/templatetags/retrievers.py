"""Template filters for a retriever's label and colour."""

from django import template

from memories.pages.retriever_styles import retriever_style

register = template.Library()


@register.filter
def retriever_label(retriever: str) -> str:
    """A retriever's name in the interface.

    >>> retriever_label("bm25"), retriever_label("facet_events")
    ('BM25', 'events')
    """
    return retriever_style(retriever).name


@register.filter
def retriever_colour(retriever: str) -> str:
    """A retriever's colour token.

    >>> retriever_colour("temporal"), retriever_colour("vec_user")
    ('temporal', 'semantic')
    """
    return retriever_style(retriever).colour
