"""What a text speaks of: surface forms by rule and by registry, and the entities they mean."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from memories.language.capitals import capitalised
from memories.language.identifiers import identifiers, paths, without_addresses
from memories.language.mention import Mention, apart, cover
from memories.language.resolution import PERSON, Registry, sole
from memories.language.spelling import Token, tokens
from memories.language.stopwords import STOP
from memories.providers.recogniser import recognised

NOBODY = Registry()


@dataclass(frozen=True)
class Found:
    """An entity that a text speaks of, as it is named there."""

    entity_id: UUID
    surface: str
    confidence: float


def entities_in(text: str, registry: Registry) -> list[Found]:
    """Find the entities of a registry that a text names, each once, in the order of the text."""
    return each_once(meant(text, registry))


def meant(text: str, registry: Registry) -> list[Found]:
    """Every form under which a text names an entity of a registry."""
    if not registry:
        return []
    surfaces = list(dict.fromkeys(one.surface for one in mentions(text, registry)))
    matches = zip(surfaces, map(sole, registry.readings(surfaces)), strict=True)
    return [Found(match.entity_id, surface, match.confidence) for surface, match in matches if match]


def each_once(found: Iterable[Found]) -> list[Found]:
    """Each entity under the name that says it best."""
    best: dict[UUID, Found] = {}
    for one in found:
        if one.entity_id not in best or best[one.entity_id].confidence < one.confidence:
            best[one.entity_id] = one
    return list(best.values())


def mentions(text: str, registry: Registry = NOBODY) -> list[Mention]:
    """Find what a text names, known to the registry or not, in the order of the text and without overlap."""
    text = without_addresses(text)
    spans = list(capitalised(text))
    known = _without_namesakes(list(occurrences(text, registry)), spans, registry)
    by_rule = chain(
        (one for one in spans if one.sure or registry.candidates(one.surface, loosely=False)),
        identifiers(text),
        recognised(text),
    )
    taken = cover(text, known)
    free = (Mention(one.surface, one.start, one.end) for one in by_rule if 1 not in taken[one.start : one.end])
    return apart(text, chain(known, free))


def occurrences(text: str, registry: Registry) -> Iterator[Mention]:
    """Find the names a registry knows, whatever their case, whole words only, the longest first."""
    cut = tokens(text)
    closed = list(paths(text))
    inside, whole = cover(text, closed), {(one.start, one.end) for one in closed}
    place = 0
    while place < len(cut):
        length = _known_length(cut, place, registry)
        if not length:
            place += 1
            continue
        start, end = cut[place].start, cut[place + length - 1].end
        one = Mention(text[start:end], start, end)
        place += length
        if (not inside[start] or (start, end) in whole) and _is_said(one.surface, registry):
            yield one


def _known_length(cut: list[Token], place: int, registry: Registry) -> int:
    """Say how many tokens of the longest known name begin here."""
    if cut[place].key not in registry.lengths:
        return 0
    for length in sorted(registry.lengths[cut[place].key], reverse=True):
        span = tuple((token.key, token.glued and token is not cut[place]) for token in cut[place : place + length])
        following = cut[place + len(span)] if place + len(span) < len(cut) else None
        # C is not named by C++ or C#.
        if span in registry.spellings and not (following and following.glued and following.key in "+#"):
            return len(span)
    return 0


def _is_said(surface: str, registry: Registry) -> bool:
    """Tell a name from the word it is spelled like: "will", "May" and "it" name nobody, IT does if it is registered."""
    if len(surface) == 1 or surface.casefold() in STOP:
        return surface.isupper() and surface in registry.names and surface.casefold() not in ("i", "a")
    return True


def _without_namesakes(known: list[Mention], spans: Iterable[Mention], registry: Registry) -> list[Mention]:
    """Leave out a person's given name where another family name follows: Maya Berg is not Maya Lindqvist."""
    starts = {one.start for one in known}
    longer = {span.start: span for span in spans}
    kept = []
    for one in known:
        span = longer.get(one.start, one)
        rest = span.surface[len(one.surface) :].lstrip()
        alone = " " not in one.surface and all(
            registry.kinds[match.entity_id] == PERSON for match in registry.candidates(one.surface, loosely=False)
        )
        if not (alone and rest and span.end - len(rest) not in starts):
            kept.append(one)
    return kept
