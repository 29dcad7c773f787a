"""Which names a namespace cannot have, because an address of the site begins with them."""

from collections.abc import Iterable, Iterator

from django.urls import URLPattern, URLResolver, get_resolver


def reserved() -> set[str]:
    """The words that stand where a namespace's name would, at the site's root and in the API."""
    addresses = list(_addresses(get_resolver().url_patterns))
    places = [address.split("/") for address in addresses]
    roots = {parts[0] for parts in places}
    in_api = {parts[2] for parts in places if parts[:2] == ["api", "v1"] and len(parts) > 2}
    return {word for word in {"static", *roots, *in_api} if word and "<" not in word}


def _addresses(patterns: Iterable[URLPattern | URLResolver], start: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = start + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _addresses(pattern.url_patterns, here)
        else:
            yield here
