"""What the ranked lists are called and which colour each has, on every bar and chart."""

from collections.abc import Iterable
from typing import NamedTuple


class Look(NamedTuple):
    """A list's name in words, and its colour token."""

    name: str
    colour: str


LOOKS = {
    "semantic": Look("meaning", "semantic"),
    "bm25": Look("words", "words"),
    "entity": Look("entity", "entity"),
    "temporal": Look("time", "time"),
    "traversal": Look("paths", "paths"),
    "context": Look("context", "semantic"),
    "vec_full": Look("whole", "semantic"),
    "vec_user": Look("user’s words", "semantic"),
    "vec_asst": Look("assistant’s words", "semantic"),
    "vec_next_user": Look("what was said next", "semantic"),
    "lexical": Look("words", "words"),
    "facet_personal_info": Look("personal", "semantic"),
    "facet_preferences": Look("preferences", "semantic"),
    "facet_events": Look("events", "semantic"),
    "rerank": Look("reranker", "ink"),
    "word by word": Look("word by word", "ink"),  # stands beside other parts, which are grey
}
REST = "rest"  # of a score: what no list brought


def look(route: str) -> Look:
    """How a list looks; another part of a score keeps its own name, in grey."""
    return LOOKS.get(route, Look(route.removesuffix(" share").replace("_", " "), "mid"))


def colours(routes: Iterable[str]) -> list[Look]:
    """The key of some lists, each name once."""
    return list(dict.fromkeys(look(route) for route in routes))
