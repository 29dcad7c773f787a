"""People, found by a part of their name."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

from memories.language.nicknames import KIN
from memories.language.spelling import key, without_possessive
from memories.language.stopwords import PARTICLES, TITLES


class People:
    """The persons of a registry by given name, family name and both."""

    def __init__(self) -> None:
        self._given: dict[str, set[UUID]] = defaultdict(set)
        self._family: dict[str, set[UUID]] = defaultdict(set)
        self._full: dict[UUID, list[list[str]]] = defaultdict(list)

    def add(self, person: UUID, name: str) -> None:
        """File a person under given and family name; "Maya's mother" is neither."""
        words = name_words(name)
        if not words or not is_proper(name):
            return
        self._given[words[0]].add(person)
        if len(words) > 1:
            self._full[person].append(words)
            self._family[words[-1]].add(person)
            self._family[" ".join(with_particles(words))].add(person)

    def by_part(self, surface: str) -> set[UUID]:
        """Find people by given or family name alone, with or without a title."""
        part = " ".join(name_words(surface))
        return self._given.get(part, set()) | self._family.get(part, set())

    def by_full_name(self, surface: str) -> set[UUID]:
        """Find people by given and family name; what stands between may be missing."""
        return self._fitting(surface, lambda said, known: said[0] == known[0] and said[-1] == known[-1])

    def by_short_form(self, surface: str) -> set[UUID]:
        """Find people by a nickname or an initial, with the family name or, for a nickname, without."""
        return self._fitting(surface, shortened) or self._nicknamed(" ".join(name_words(surface)))

    def _nicknamed(self, name: str) -> set[UUID]:
        """Find people by a nickname alone."""
        return {person for formal in KIN.get(name, ()) for person in self._given.get(formal, ())}

    def _fitting(self, surface: str, fits: Callable[[Sequence[str], Sequence[str]], bool]) -> set[UUID]:
        """Find people one of whose full names fits what was said."""
        said = name_words(surface)
        if len(said) < 2:
            return set()
        near = self._family.get(said[-1], set()) | self._given.get(said[0], set())
        return {person for person in near if any(fits(said, known) for known in self._full.get(person, ()))}


def name_words(name: str) -> list[str]:
    """Cut a person's name into words, without titles and the points of initials.

    >>> name_words("Dr. J.R.R. Tolkien's")
    ['j', 'r', 'r', 'tolkien']
    """
    words = key(without_possessive(name)).replace(".", " ").split()
    return [word for word in words if word not in TITLES]


def is_proper(name: str) -> bool:
    """Tell a name from a description."""
    return "'s" not in key(name) and all(word[0].isupper() or word in PARTICLES for word in name.split())


def with_particles(words: Sequence[str]) -> Sequence[str]:
    """Give a family name with the particles before it.

    >>> with_particles(["ludwig", "van", "beethoven"])
    ['van', 'beethoven']
    """
    start = len(words) - 1
    while start > 1 and words[start - 1] in PARTICLES:
        start -= 1
    return words[start:]


def shortened(said: Sequence[str], known: Sequence[str]) -> bool:
    """Tell whether one of the two names was cut short: Bob Stone, R. Stone, Robert S."""
    given = said[0] == known[0] or said[0] in KIN.get(known[0], ()) or is_initial(said[0], known[0])
    family = said[-1] == known[-1] or (said[0] == known[0] and is_initial(said[-1], known[-1]))
    return given and family


def is_initial(one: str, other: str) -> bool:
    """Tell whether one of two words is the first letter of the other."""
    return one[0] == other[0] and 1 in (len(one), len(other))
