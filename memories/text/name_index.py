"""The index of a namespace's names: the entities that texts and surface forms may mean, without reading the others."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection

from memories.db.pipeline import Rows, Statement, fetch_pipeline
from memories.models import Entity, EntityAlias, Namespace
from memories.text.entity_mentions import (
    EntityMatch,
    best_match_per_entity,
    capitalised_surfaces,
    find_mentions,
    resolve_mentions,
)
from memories.text.entity_registry import PERSON, EntityRegistry, KnownEntity
from memories.text.mention import TextMention
from memories.text.name_keys import name_keys, stored_fuzzy_keys, surface_fuzzy_keys, surface_keys, text_keys

# One index lookup per key, whatever the planner's statistics say of a namespace that has just grown.
ENTITIES_BY_KEY = """
    WITH found AS MATERIALIZED (
        SELECT DISTINCT key.entity_id
        FROM unnest(%(keys)s::text[]) AS wanted(key) CROSS JOIN LATERAL (
            SELECT k.entity_id FROM memories_namekey k
            WHERE k.namespace_id = %(namespace)s AND k.key = wanted.key OFFSET 0
        ) AS key
    )
    SELECT entity.id, entity.name, entity.kind, entity.aliases
    FROM found CROSS JOIN LATERAL (
        SELECT e.id, e.name, e.kind, ARRAY(
            SELECT a.name FROM memories_entityalias a
            WHERE a.namespace_id = e.namespace_id AND a.entity_id = e.id ORDER BY a.id
        ) AS aliases
        FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = found.entity_id LIMIT 1
    ) AS entity ORDER BY entity.id
"""
NAMES = """
    SELECT e.id, e.name, e.kind FROM memories_entity e
    WHERE e.namespace_id = %(namespace)s AND e.id = ANY(%(entities)s)
    UNION ALL
    SELECT e.id, a.name, e.kind FROM memories_entity e
    JOIN memories_entityalias a ON a.namespace_id = e.namespace_id AND a.entity_id = e.id
    WHERE e.namespace_id = %(namespace)s AND e.id = ANY(%(entities)s)
"""
ADD_KEYS = """
    INSERT INTO memories_namekey (namespace_id, key, entity_id)
    SELECT %(namespace)s, key, entity FROM unnest(%(keys)s::text[], %(owners)s::uuid[]) AS new(key, entity)
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True)
class FoundNames:
    """The entities that some texts and surface forms may mean, and the mentions in each text."""

    registry: EntityRegistry
    mentions: Mapping[str, Sequence[TextMention]]

    def mentions_of(self, text: str) -> list[EntityMatch]:
        """The mentions of a text that resolve to an entity."""
        return resolve_mentions(self.mentions[text], self.registry)

    def matches(self, text: str) -> list[EntityMatch]:
        """The entities that a text mentions, each once."""
        return best_match_per_entity(self.mentions_of(text))


Find = Callable[[set[str]], Iterable[KnownEntity]]  # the entities under any of some keys


def find_names(namespace: Namespace, texts: Iterable[str] = (), surfaces: Iterable[str] = ()) -> FoundNames:
    """Look up the entities that texts mention and surface forms mean, misspellings included."""
    return complete_names(partial(entities_by_keys, namespace), list(texts), [name for name in surfaces if name])


def names_from_rows(namespace: Namespace, rows: Rows, text: str) -> FoundNames:
    """The names of a text from the rows of `names_statement`, which came with another round trip."""
    return complete_names(partial(entities_by_keys, namespace), [text], known=entities_from_rows(rows))


def complete_names(
    find: Find, texts: Sequence[str], surfaces: Sequence[str] = (), known: Iterable[KnownEntity] | None = None
) -> FoundNames:
    """Find by exact keys, if they are not `known`, and then those that a surface without an entity may misspell."""
    entities = {entity.entity_id: entity for entity in (find(exact_keys(texts, surfaces)) if known is None else known)}
    registry = EntityRegistry(entities.values())
    mentions = {text: find_mentions(text, registry) for text in texts}
    mentioned = {*surfaces, *(mention.surface for found in mentions.values() for mention in found)}
    unknown = [surface for surface in mentioned if not registry.candidates(surface, fuzzy=False)]
    if keys := {key for surface in unknown for key in surface_fuzzy_keys(surface)}:
        similar = {entity.entity_id: entity for entity in find(keys)}
        if similar.keys() - entities.keys():
            registry = EntityRegistry((entities | similar).values())
    return FoundNames(registry, mentions)


def exact_keys(texts: Iterable[str], surfaces: Iterable[str]) -> set[str]:
    """The keys of all names in texts and of surface forms."""
    texts = list(texts)
    capitalised = (surface for text in texts for surface in capitalised_surfaces(text))
    keys = (*map(text_keys, texts), *map(surface_keys, (*capitalised, *surfaces)))
    return set[str]().union(*keys)


def names_statement(namespace: Namespace, texts: Iterable[str] = (), surfaces: Iterable[str] = ()) -> Statement:
    """The entities that share an exact key with a text or a surface form."""
    return keys_statement(namespace, exact_keys(texts, surfaces))


def entities_by_keys(namespace: Namespace, keys: set[str]) -> list[KnownEntity]:
    """The entities under any of these keys."""
    (rows,) = fetch_pipeline([keys_statement(namespace, keys)])
    return entities_from_rows(rows)


def keys_statement(namespace: Namespace, keys: Iterable[str]) -> Statement:
    """The entities under any of these keys, with their names."""
    return Statement(ENTITIES_BY_KEY, {"namespace": namespace.id, "keys": sorted(keys)})


def entities_from_rows(rows: Rows) -> list[KnownEntity]:
    """The rows of `keys_statement` as entities."""
    return [KnownEntity(id, name, kind, tuple(aliases)) for id, name, kind, aliases in rows]


def store_entities(namespace: Namespace, entities: Sequence[Entity], aliases: Sequence[EntityAlias] = ()) -> None:
    """Insert entities and aliases, and index their names."""
    Entity.objects.bulk_create(entities)
    EntityAlias.objects.bulk_create(aliases)
    index_names(namespace, {entity.id for entity in entities} | {alias.entity_id for alias in aliases})


def index_names(namespace: Namespace, entities: Collection[UUID]) -> None:
    """Index the names and aliases of entities, in the transaction that stores them."""
    ids: dict[str, Any] = {"namespace": namespace.id, "entities": list(entities)}
    with connection.cursor() as cursor:
        cursor.execute(NAMES, ids)
        pairs = {(key, entity) for entity, name, kind in cursor.fetchall() for key in keys_of_name(name, kind)}
        if pairs:
            keys, owners = zip(*sorted(pairs), strict=True)
            cursor.execute(ADD_KEYS, {**ids, "keys": list(keys), "owners": list(owners)})


def keys_of_name(name: str, kind: str) -> set[str]:
    """All keys that a name of an entity is stored under."""
    return name_keys(name, person=kind == PERSON) | stored_fuzzy_keys(name)
