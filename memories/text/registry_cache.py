"""Entity registries of namespaces, loaded from the database and cached per process."""

from collections import defaultdict
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F

from memories.db.lru_cache import LRUCache
from memories.models import Entity, EntityAlias, Namespace, NamespaceStatistics
from memories.text.entity_registry import EntityRegistry, KnownEntity

MAX_CACHED_NAMES = 500_000  # over all namespaces; an entity counts once, an alias once more


class NamesVersion(NamedTuple):
    """What a cached registry is valid for; an erasure starts a new epoch."""

    epoch: int
    names: int


_cache = LRUCache[UUID, EntityRegistry](MAX_CACHED_NAMES, size=lambda registry: len(registry.names))


def current_registry(namespace: Namespace) -> EntityRegistry:
    """The registry, loaded only if names were added or erased since."""
    version = names_version(namespace)
    registry = _cache.get(namespace.id, version=version)
    if registry is None:
        registry = load_registry(namespace)
        if not connection.in_atomic_block:  # a transaction may add names and roll back
            _cache.put(namespace.id, registry, version=version)
    return registry


def names_version(namespace: Namespace) -> NamesVersion:
    """The version of a namespace's names; increments under the lock under which they change."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).values_list("epoch", "names_version").first()
    return NamesVersion(*(statistics or (0, 0)))


def increment_names_version(namespace: Namespace) -> None:
    """Invalidate the cached registry in every process; the caller holds the namespace lock."""
    NamespaceStatistics.objects.filter(namespace=namespace).update(names_version=F("names_version") + 1)


def load_registry(namespace: Namespace) -> EntityRegistry:
    """Load a namespace's entities and aliases."""
    aliases: dict[UUID, list[str]] = defaultdict(list)
    for entity, alias in EntityAlias.objects.within(namespace).order_by("id").values_list("entity_id", "name"):
        aliases[entity].append(alias)
    rows = Entity.objects.within(namespace).order_by("id").values_list("id", "name", "kind")
    return EntityRegistry(KnownEntity(id, name, kind, tuple(aliases[id])) for id, name, kind in rows)
