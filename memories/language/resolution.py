"""Whose name it is: a registry of entities, asked by what somebody wrote."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from memories.language.likeness import SHORTEST, alike
from memories.language.people import People
from memories.language.spelling import key, name_tokens, singular, without_possessive
from memories.language.stopwords import LEGAL_FORMS
from scoring.dedup import normalize

PERSON = "person"
EXACT, PART, SHORTENED = 1.0, 0.95, 0.9
# Two names whose likeness differs by less are equally good.
MARGIN = 0.01
MOST_READ = 20_000  # surface forms that a registry remembers the meaning of

NONE: frozenset[UUID] = frozenset()


class Known(NamedTuple):
    """An entity and all its names."""

    entity_id: UUID
    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """An entity that a surface form may mean, and how surely."""

    entity_id: UUID
    confidence: float


class Registry:
    """The entities of a namespace, found by name."""

    def __init__(self, known: Iterable[Known] = ()) -> None:
        self.kinds: dict[UUID, str] = {}
        self.titles: dict[UUID, str] = {}
        self.names: set[str] = set()
        # All names as tokens; and how many tokens the names that begin with a token have.
        self.spellings: set[tuple[tuple[str, bool], ...]] = set()
        self.lengths: dict[str, set[int]] = defaultdict(set)
        self._normalised: dict[str, set[UUID]] = defaultdict(set)
        self._keys: dict[str, set[UUID]] = defaultdict(set)
        self._things: dict[str, set[UUID]] = defaultdict(set)
        self._firms: dict[str, set[UUID]] = defaultdict(set)
        self._people = People()
        for one in known:
            self.kinds[one.entity_id] = one.kind
            self.titles[one.entity_id] = one.name
            for name in (one.name, *one.aliases):
                self._file(one, name)
        self._comparable = [spelt for spelt in self._keys if len(spelt) >= SHORTEST]
        # The same names are read again and again, and a registry never changes: by whether they are read loosely.
        self._read: dict[bool, dict[str, tuple[Match, ...]]] = {True: {}, False: {}}

    def __len__(self) -> int:
        return len(self.kinds)

    def _file(self, one: Known, name: str) -> None:
        """File an entity under one of its names, and what is commonly left of it."""
        spelt = key(name)
        if not spelt:
            return
        self.names.add(name)
        self._normalised[normalize(name)].add(one.entity_id)
        self._keys[spelt].add(one.entity_id)
        if cut := name_tokens(name):
            self.spellings.add(cut)
            self.lengths[cut[0][0]].add(len(cut))
        if one.kind == PERSON:
            self._people.add(one.entity_id, name)
            return
        self._things[spelt].add(one.entity_id)
        *words, last = spelt.split()
        if words and last.strip(".") in LEGAL_FORMS:
            self._firms[" ".join(words)].add(one.entity_id)

    def resolve(self, surface: str, *, loosely: bool = True) -> Match | None:
        """Find the one entity a surface form means; nothing where two are equally good."""
        return sole(self.candidates(surface, loosely=loosely))

    def candidates(self, surface: str, *, loosely: bool = True) -> tuple[Match, ...]:
        """Give the equally good readings of a surface form: none, one, or several that only a context tells apart."""
        return self.readings([surface], loosely=loosely)[0]

    def readings(self, surfaces: Sequence[str], *, loosely: bool = True) -> list[tuple[Match, ...]]:
        """Give the candidates of many surface forms at once; `loosely` allows plurals and misspellings."""
        if not self.names:
            return [()] * len(surfaces)
        read = self._read[loosely]
        fresh = [surface for surface in surfaces if surface not in read]
        if fresh and len(read) + len(fresh) > MOST_READ:
            read = self._read[loosely] = {}
            fresh = list(surfaces)
        found = {surface: self._by_rule(surface, loosely) for surface in fresh}
        unknown = [surface for surface, matches in found.items() if not matches] if loosely else []
        misspelt = [key(without_possessive(surface)) for surface in unknown]
        for surface, near in zip(unknown, alike(misspelt, self._comparable), strict=True):
            found[surface] = self._best(near)
        read.update(found)
        return [read[surface] for surface in surfaces]

    def _by_rule(self, surface: str, loosely: bool) -> tuple[Match, ...]:
        """Try the rules from the surest to the least sure; the first that finds anything decides."""
        spelt, owner = key(surface), key(without_possessive(surface))
        one = singular(owner) if loosely else None
        rules: tuple[tuple[float, Callable[[], Iterable[UUID]]], ...] = (
            (EXACT, lambda: self._normalised.get(normalize(surface), NONE)),
            (EXACT, lambda: self._keys.get(spelt, NONE)),
            (EXACT, lambda: self._keys.get(owner, NONE)),
            (PART, lambda: self._firms.get(owner, NONE)),
            (PART, lambda: self._people.by_part(surface)),
            (PART, lambda: self._people.by_full_name(surface)),
            # People have no plural: Jonas are not two of Jona.
            (PART, lambda: self._things.get(one, NONE) if one else NONE),
            (SHORTENED, lambda: self._people.by_short_form(surface)),
        )
        for confidence, rule in rules if spelt else ():
            if found := rule():
                return tuple(Match(identifier, confidence) for identifier in sorted(found))
        return ()

    def _best(self, near: dict[int, float]) -> tuple[Match, ...]:
        """Give the entities whose names are most alike."""
        best: dict[UUID, float] = {}
        for place, likeness in near.items():
            for identifier in self._keys[self._comparable[place]]:
                best[identifier] = max(best.get(identifier, 0.0), likeness)
        top = max(best.values(), default=0.0)
        return tuple(
            Match(identifier, best[identifier]) for identifier in sorted(best) if best[identifier] > top - MARGIN
        )


def sole(candidates: Sequence[Match]) -> Match | None:
    """Give the only candidate there is."""
    return candidates[0] if len(candidates) == 1 else None
