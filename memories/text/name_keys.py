"""Keys by which names are looked up in an index: whoever shares none with a text cannot be meant by it.

A key is the beginning of a name, or a part of a person's name; a fuzzy key is a piece that some misspelling leaves.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from memories.text.fuzzy_names import DIGITS, MAX_FUZZY_LENGTH, MIN_FUZZY_LENGTH, min_ratio_of_length
from memories.text.nicknames import RELATED_NAMES
from memories.text.person_names import family_name, is_proper_name, name_words
from memories.text.spelling import TextToken, lookup_key, singular_form, strip_possessive, tokenize_text
from memories.text.stopwords import LEGAL_FORMS

MAX_TOKENS = 3  # of a key; longer names are found by their beginning
FUZZY_LENGTHS = range(MIN_FUZZY_LENGTH, MAX_FUZZY_LENGTH + 1)


def name_keys(name: str, *, person: bool) -> set[str]:
    """The keys that a name is stored under."""
    key = lookup_key(name)
    parts = [key]
    words = name_words(name)
    if person and words and is_proper_name(name):
        parts += [words[0], words[-1], " ".join(family_name(words))]
    *firm, last = key.split() or [""]
    if not person and firm and last.strip(".") in LEGAL_FORMS:
        parts.append(" ".join(firm))
    return {beginning(part) for part in parts} - {""}


def surface_keys(surface: str) -> set[str]:
    """The keys of all names that a surface form may mean, misspellings apart."""
    base = lookup_key(strip_possessive(surface))
    words = name_words(surface)
    joined = " ".join(words)
    parts = [lookup_key(surface), base, singular_form(base) or "", joined, *words[:1], *words[-1:]]
    return {beginning(part) for part in (*parts, *RELATED_NAMES.get(joined, ()))} - {""}


def text_keys(text: str) -> set[str]:
    """The keys of all names that may occur in a text."""
    tokens = tokenize_text(text)
    return {
        join_tokens(tokens[start : start + length])
        for start in range(len(tokens))
        for length in range(1, MAX_TOKENS + 1)
    }


def beginning(key: str) -> str:
    """The first tokens of a lookup key.

    >>> beginning("island of missing trees"), beginning("c++")
    ('island of missing', 'c++')
    """
    return join_tokens(tokenize_text(key)[:MAX_TOKENS])


def join_tokens(tokens: Iterable[TextToken]) -> str:
    """Tokens as one text, apart unless they are glued."""
    return "".join(token.key if token.glued else f" {token.key}" for token in tokens).strip()


def stored_fuzzy_keys(name: str) -> set[str]:
    """The pieces that a name is stored under: one more than a misspelling can change, so that one stays as it is."""
    key = lookup_key(name)
    if len(key) not in FUZZY_LENGTHS:
        return set()
    return {fuzzy_key(key, len(key), number, key[start:end]) for number, (start, end) in enumerate(pieces(len(key)))}


def surface_fuzzy_keys(surface: str) -> set[str]:
    """The pieces that a name has in common with a misspelling of it.

    A piece moves by as many letters as were inserted or deleted before it (Pass-Join, Li et al., VLDB 2011).
    """
    key = lookup_key(strip_possessive(surface))
    return set(_shifted_pieces(key)) if len(key) in FUZZY_LENGTHS else set()


def _shifted_pieces(key: str) -> Iterator[str]:
    for length in FUZZY_LENGTHS:
        edits, more = max_edits(len(key), length), len(key) - length
        if edits < abs(more):
            continue
        inserted, deleted = (edits + more) // 2, (edits - more) // 2
        for number, (start, end) in enumerate(pieces(length)):
            for shift in range(-deleted, inserted + 1):
                if start + shift >= 0 and end + shift <= len(key):
                    yield fuzzy_key(key, length, number, key[start + shift : end + shift])


def fuzzy_key(key: str, length: int, number: int, piece: str) -> str:
    """A piece with its place, the length of the name, and its digits, which no misspelling changes."""
    return f"{length}.{number}~{piece}~{'.'.join(DIGITS.findall(key))}"


def pieces(length: int) -> list[tuple[int, int]]:
    """Start and end of the pieces of a name of this length."""
    longest = next(other for other in range(2 * length, length - 1, -1) if max_edits(other, length) >= other - length)
    count = min(max_edits(longest, length) + 1, length)
    bounds = [length * number // count for number in range(count + 1)]
    return list(pairwise(bounds))


def max_edits(one: int, other: int) -> int:
    """The insertions and deletions between a name and a misspelling of these lengths, at most."""
    return math.floor((1 - min_ratio_of_length(min(one, other))) * (one + other) + 1e-9)
