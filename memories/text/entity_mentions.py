"""Entity mentions in a text: by rule, by the spaCy pipeline and by the registry."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from memories.text.capitalised_names import capitalised_mentions
from memories.text.entity_registry import PERSON, EntityRegistry, only_candidate
from memories.text.identifiers import dotted_paths, find_identifiers, mask_addresses
from memories.text.mention import TextMention, coverage_mask, drop_overlaps
from memories.text.spacy_names import spacy_mentions
from memories.text.spelling import TextToken, tokenize_text
from memories.text.stopwords import STOP_WORDS

EMPTY_REGISTRY = EntityRegistry()


@dataclass(frozen=True)
class EntityMatch:
    """An entity mentioned in a text, with its surface form."""

    entity_id: UUID
    surface: str
    confidence: float


def entities_in(text: str, registry: EntityRegistry) -> list[EntityMatch]:
    """The registry's entities that a text mentions, each once, in order."""
    return best_match_per_entity(entity_matches(text, registry))


def entity_matches(text: str, registry: EntityRegistry) -> list[EntityMatch]:
    """Every mention in a text that resolves to an entity."""
    return resolve_mentions(find_mentions(text, registry), registry) if registry else []


def resolve_mentions(mentions: Iterable[TextMention], registry: EntityRegistry) -> list[EntityMatch]:
    """The mentions that resolve to an entity, each surface form once."""
    surfaces = list(dict.fromkeys(mention.surface for mention in mentions))
    matches = zip(surfaces, map(only_candidate, registry.candidates_for_all(surfaces)), strict=True)
    return [EntityMatch(match.entity_id, surface, match.confidence) for surface, match in matches if match]


def best_match_per_entity(matches: Iterable[EntityMatch]) -> list[EntityMatch]:
    """The most confident mention of each entity."""
    best: dict[UUID, EntityMatch] = {}
    for match in matches:
        if match.entity_id not in best or best[match.entity_id].confidence < match.confidence:
            best[match.entity_id] = match
    return list(best.values())


def find_mentions(text: str, registry: EntityRegistry = EMPTY_REGISTRY) -> list[TextMention]:
    """All mentions of a text, in the registry or not, in order and without overlap."""
    text = mask_addresses(text)
    spans = list(capitalised_mentions(text))
    known = _drop_namesakes(list(registry_mentions(text, registry)), spans, registry)
    by_rule = chain(
        (mention for mention in spans if mention.certain or registry.candidates(mention.surface, fuzzy=False)),
        find_identifiers(text),
        spacy_mentions(text),
    )
    mask = coverage_mask(text, known)
    unregistered = (
        TextMention(mention.surface, mention.start, mention.end)
        for mention in by_rule
        if 1 not in mask[mention.start : mention.end]
    )
    return drop_overlaps(text, chain(known, unregistered))


def capitalised_surfaces(text: str) -> set[str]:
    """The surface forms in a text that may be names, whatever the registry holds."""
    text = mask_addresses(text)
    mentions = chain(capitalised_mentions(text), find_identifiers(text), spacy_mentions(text))
    return {mention.surface for mention in mentions}


def registry_mentions(text: str, registry: EntityRegistry) -> Iterator[TextMention]:
    """Registry names in a text: case-insensitive, whole words, longest first."""
    text_tokens = tokenize_text(text)
    dotted = list(dotted_paths(text))
    mask, spans = coverage_mask(text, dotted), {(mention.start, mention.end) for mention in dotted}
    index = 0
    while index < len(text_tokens):
        length = _longest_name_at(text_tokens, index, registry)
        if not length:
            index += 1
            continue
        start, end = text_tokens[index].start, text_tokens[index + length - 1].end
        mention = TextMention(text[start:end], start, end)
        index += length
        if (not mask[start] or (start, end) in spans) and _is_name_use(mention.surface, registry):
            yield mention


def _longest_name_at(text_tokens: list[TextToken], index: int, registry: EntityRegistry) -> int:
    """The token count of the longest known name starting here."""
    if text_tokens[index].key not in registry.name_lengths:
        return 0
    for length in sorted(registry.name_lengths[text_tokens[index].key], reverse=True):
        span = tuple(
            (token.key, token.glued and token is not text_tokens[index])
            for token in text_tokens[index : index + length]
        )
        following = text_tokens[index + len(span)] if index + len(span) < len(text_tokens) else None
        # C++ and C# do not mention C.
        if span in registry.token_names and not (following and following.glued and following.key in "+#"):
            return len(span)
    return 0


def _is_name_use(surface: str, registry: EntityRegistry) -> bool:
    """Whether a word is used as a name: "will", "May" and "it" are not, IT is if registered."""
    if len(surface) == 1 or surface.casefold() in STOP_WORDS:
        return surface.isupper() and surface in registry.names and surface.casefold() not in ("i", "a")
    return True


def _drop_namesakes(
    known: list[TextMention], spans: Iterable[TextMention], registry: EntityRegistry
) -> list[TextMention]:
    """Drop a given name followed by an unknown family name: Maya Berg is not Maya Lindqvist."""
    starts = {mention.start for mention in known}
    span_at = {span.start: span for span in spans}
    remaining = []
    for mention in known:
        span = span_at.get(mention.start, mention)
        rest = span.surface[len(mention.surface) :].lstrip()
        given_name = " " not in mention.surface and all(
            registry.kinds[match.entity_id] == PERSON for match in registry.candidates(mention.surface, fuzzy=False)
        )
        if not (given_name and rest and span.end - len(rest) not in starts):
            remaining.append(mention)
    return remaining
