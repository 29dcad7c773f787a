"""Slugs a namespace cannot have, because URLs of the site begin with them."""

from collections.abc import Iterable, Iterator

from django.urls import URLPattern, URLResolver, get_resolver


def reserved_slugs() -> set[str]:
    """The path segments the site uses where a slug would be, at its root and in the API."""
    paths = [route.split("/") for route in _routes(get_resolver().url_patterns)]
    roots = {parts[0] for parts in paths}
    in_api = {parts[2] for parts in paths if parts[:2] == ["api", "v1"] and len(parts) > 2}
    return {word for word in {"static", *roots, *in_api} if word and "<" not in word}


def _routes(patterns: Iterable[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield route
