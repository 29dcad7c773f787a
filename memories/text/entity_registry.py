"""EntityRegistry: resolves surface forms to the entities of a namespace."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from memories.text.fuzzy_names import MAX_FUZZY_LENGTH, MIN_FUZZY_LENGTH, fuzzy_matches
from memories.text.person_names import PersonIndex
from memories.text.spelling import lookup_key, name_tokens, singular_form, strip_possessive
from memories.text.stopwords import LEGAL_FORMS
from scoring.dedup import normalize

PERSON = "person"
EXACT, PARTIAL, SHORT_FORM = 1.0, 0.95, 0.9
# Fuzzy ratios closer than this are ties.
MARGIN = 0.01

NO_ENTITIES: frozenset[UUID] = frozenset()


class KnownEntity(NamedTuple):
    """An entity and its names."""

    entity_id: UUID
    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntityCandidate:
    """A candidate entity of a surface form, with confidence."""

    entity_id: UUID
    confidence: float


class EntityRegistry:
    """Entities of a namespace, looked up by name."""

    def __init__(self, known: Iterable[KnownEntity] = ()) -> None:
        self.kinds: dict[UUID, str] = {}
        self.display_names: dict[UUID, str] = {}
        self.names: set[str] = set()
        # All names as tokens, and the token counts of names by first token.
        self.token_names: set[tuple[tuple[str, bool], ...]] = set()
        self.name_lengths: dict[str, set[int]] = defaultdict(set)
        self._normalised: dict[str, set[UUID]] = defaultdict(set)
        self._keys: dict[str, set[UUID]] = defaultdict(set)
        self._things: dict[str, set[UUID]] = defaultdict(set)
        self._firms: dict[str, set[UUID]] = defaultdict(set)
        self._people = PersonIndex()
        for entity in known:
            self.kinds[entity.entity_id] = entity.kind
            self.display_names[entity.entity_id] = entity.name
            for name in (entity.name, *entity.aliases):
                self._add_name(entity, name)
        self._fuzzy_keys = [
            name_key for name_key in self._keys if MIN_FUZZY_LENGTH <= len(name_key) <= MAX_FUZZY_LENGTH
        ]
        # Candidates by surface form, per value of `fuzzy`; a registry is immutable, so they never expire.
        self._cache: dict[bool, dict[str, tuple[EntityCandidate, ...]]] = {True: {}, False: {}}

    def __len__(self) -> int:
        return len(self.kinds)

    def _add_name(self, entity: KnownEntity, name: str) -> None:
        """Index an entity by one of its names and its common short forms."""
        name_key = lookup_key(name)
        if not name_key:
            return
        self.names.add(name)
        self._normalised[normalize(name)].add(entity.entity_id)
        self._keys[name_key].add(entity.entity_id)
        if name_parts := name_tokens(name):
            self.token_names.add(name_parts)
            self.name_lengths[name_parts[0][0]].add(len(name_parts))
        if entity.kind == PERSON:
            self._people.add(entity.entity_id, name)
            return
        self._things[name_key].add(entity.entity_id)
        *words, last = name_key.split()
        if words and last.strip(".") in LEGAL_FORMS:
            self._firms[" ".join(words)].add(entity.entity_id)

    def resolve(self, surface: str, *, fuzzy: bool = True) -> EntityCandidate | None:
        """The entity of a surface form; None if it is unknown or ambiguous."""
        return only_candidate(self.candidates(surface, fuzzy=fuzzy))

    def candidates(self, surface: str, *, fuzzy: bool = True) -> tuple[EntityCandidate, ...]:
        """The equally good candidates of a surface form: none, one, or several that need context."""
        return self.candidates_for_all([surface], fuzzy=fuzzy)[0]

    def candidates_for_all(self, surfaces: Sequence[str], *, fuzzy: bool = True) -> list[tuple[EntityCandidate, ...]]:
        """The candidates of many surface forms at once; `fuzzy` allows plurals and misspellings."""
        if not self.names:
            return [()] * len(surfaces)
        cached = self._cache[fuzzy]
        uncached = [surface for surface in surfaces if surface not in cached]
        resolved = {surface: self._by_rule(surface, fuzzy) for surface in uncached}
        unknown = [surface for surface, matches in resolved.items() if not matches] if fuzzy else []
        misspelt = [lookup_key(strip_possessive(surface)) for surface in unknown]
        for surface, ratios in zip(unknown, fuzzy_matches(misspelt, self._fuzzy_keys), strict=True):
            resolved[surface] = self._best_fuzzy(ratios)
        cached.update(resolved)
        return [cached[surface] for surface in surfaces]

    def _by_rule(self, surface: str, fuzzy: bool) -> tuple[EntityCandidate, ...]:
        """Apply the rules by decreasing confidence; the first with a result decides."""
        full_key, base_key = lookup_key(surface), lookup_key(strip_possessive(surface))
        singular_key = singular_form(base_key) if fuzzy else None
        rules: tuple[tuple[float, Callable[[], Iterable[UUID]]], ...] = (
            (EXACT, lambda: self._normalised.get(normalize(surface), NO_ENTITIES)),
            (EXACT, lambda: self._keys.get(full_key, NO_ENTITIES)),
            (EXACT, lambda: self._keys.get(base_key, NO_ENTITIES)),
            (PARTIAL, lambda: self._firms.get(base_key, NO_ENTITIES)),
            (PARTIAL, lambda: self._people.by_part(surface)),
            (PARTIAL, lambda: self._people.by_full_name(surface)),
            # People have no plural: Jonas is not the plural of Jona.
            (PARTIAL, lambda: self._things.get(singular_key, NO_ENTITIES) if singular_key else NO_ENTITIES),
            (SHORT_FORM, lambda: self._people.by_short_form(surface)),
        )
        for confidence, rule in rules if full_key else ():
            if entities := rule():
                return tuple(EntityCandidate(entity_id, confidence) for entity_id in sorted(entities))
        return ()

    def _best_fuzzy(self, ratios: dict[int, float]) -> tuple[EntityCandidate, ...]:
        """The entities with the most similar names."""
        best: dict[UUID, float] = {}
        for index, ratio in ratios.items():
            for entity_id in self._keys[self._fuzzy_keys[index]]:
                best[entity_id] = max(best.get(entity_id, 0.0), ratio)
        top = max(best.values(), default=0.0)
        return tuple(
            EntityCandidate(entity_id, best[entity_id]) for entity_id in sorted(best) if best[entity_id] > top - MARGIN
        )


def only_candidate(candidates: Sequence[EntityCandidate]) -> EntityCandidate | None:
    """The candidate, if there is exactly one."""
    return candidates[0] if len(candidates) == 1 else None
