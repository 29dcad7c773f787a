"""Lookup of people by parts of their names."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

from memories.text.nicknames import RELATED_NAMES
from memories.text.spelling import lookup_key, strip_possessive
from memories.text.stopwords import PARTICLES, TITLES


class PersonIndex:
    """The people of a registry by given name, family name and full name."""

    def __init__(self) -> None:
        self._given: dict[str, set[UUID]] = defaultdict(set)
        self._family: dict[str, set[UUID]] = defaultdict(set)
        self._full: dict[UUID, list[list[str]]] = defaultdict(list)

    def add(self, person: UUID, name: str) -> None:
        """Index a person by given and family name; descriptions such as "Maya's mother" are skipped."""
        words = name_words(name)
        if not words or not is_proper_name(name):
            return
        self._given[words[0]].add(person)
        if len(words) > 1:
            self._full[person].append(words)
            self._family[words[-1]].add(person)
            self._family[" ".join(family_name(words))].add(person)

    def by_part(self, surface: str) -> set[UUID]:
        """People by given or family name alone, with or without a title."""
        part = " ".join(name_words(surface))
        return self._given.get(part, set()) | self._family.get(part, set())

    def by_full_name(self, surface: str) -> set[UUID]:
        """People by given and family name; middle names may be missing."""
        return self._match_full_names(surface, lambda words, known: words[0] == known[0] and words[-1] == known[-1])

    def by_short_form(self, surface: str) -> set[UUID]:
        """People by nickname or initial with the family name, or by nickname alone."""
        return self._match_full_names(surface, matches_short_form) or self._by_nickname(" ".join(name_words(surface)))

    def _by_nickname(self, name: str) -> set[UUID]:
        """People by nickname alone."""
        return {person for formal in RELATED_NAMES.get(name, ()) for person in self._given.get(formal, ())}

    def _match_full_names(self, surface: str, matches: Callable[[Sequence[str], Sequence[str]], bool]) -> set[UUID]:
        """People one of whose full names matches."""
        words = name_words(surface)
        if len(words) < 2:
            return set()
        candidates = self._family.get(words[-1], set()) | self._given.get(words[0], set())
        return {person for person in candidates if any(matches(words, known) for known in self._full.get(person, ()))}


def name_words(name: str) -> list[str]:
    """The words of a person's name, without titles and periods.

    >>> name_words("Dr. J.R.R. Tolkien's")
    ['j', 'r', 'r', 'tolkien']
    """
    words = lookup_key(strip_possessive(name)).replace(".", " ").split()
    return [word for word in words if word not in TITLES]


def is_proper_name(name: str) -> bool:
    """Whether a text is a proper name rather than a description."""
    return "'s" not in lookup_key(name) and all(word[0].isupper() or word in PARTICLES for word in name.split())


def family_name(words: Sequence[str]) -> Sequence[str]:
    """A family name with its particles.

    >>> family_name(["ludwig", "van", "beethoven"])
    ['van', 'beethoven']
    """
    start = len(words) - 1
    while start > 1 and words[start - 1] in PARTICLES:
        start -= 1
    return words[start:]


def matches_short_form(words: Sequence[str], known: Sequence[str]) -> bool:
    """Whether one name is a short form of the other: Bob Stone, R. Stone, Robert S."""
    given = words[0] == known[0] or words[0] in RELATED_NAMES.get(known[0], ()) or is_initial(words[0], known[0])
    family = words[-1] == known[-1] or (words[0] == known[0] and is_initial(words[-1], known[-1]))
    return given and family


def is_initial(first: str, second: str) -> bool:
    """Whether one word is the initial of the other."""
    return first[0] == second[0] and 1 in (len(first), len(second))
