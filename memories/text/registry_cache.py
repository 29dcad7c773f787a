"""Entity registries of namespaces, loaded from the database and cached per process."""

import threading
from collections import OrderedDict, defaultdict
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Subquery

from memories.models import Entity, EntityAlias, Namespace, NamespaceStatistics
from memories.text.entity_registry import EntityRegistry, KnownEntity

MAX_CACHED = 32  # cached namespaces


class CachedRegistry(NamedTuple):
    """A cached registry, the rows it was built from, and the write count it is valid for."""

    epoch: int | None
    known: tuple[KnownEntity, ...]
    registry: EntityRegistry
    writes: int | None = None


_cache: OrderedDict[UUID, CachedRegistry] = OrderedDict()
_cache_lock = threading.Lock()


def load_registry(namespace: Namespace) -> EntityRegistry:
    """Load a namespace's entities and aliases; the registry is reused while they are unchanged.

    A new epoch discards it: an erasure must not survive in the registry's own cache of names.
    """
    aliases: dict[UUID, list[str]] = defaultdict(list)
    for entity, alias in EntityAlias.objects.within(namespace).order_by("id").values_list("entity_id", "name"):
        aliases[entity].append(alias)
    epoch = Subquery(NamespaceStatistics.objects.filter(namespace_id=namespace.id).values("epoch"))
    rows = list(Entity.objects.within(namespace).order_by("id").values_list("id", "name", "kind", epoch))
    known = tuple(KnownEntity(entity, name, kind, tuple(aliases[entity])) for entity, name, kind, _ in rows)
    return cache_registry(namespace, rows[0][-1] if rows else None, known)


def cache_registry(namespace: Namespace, epoch: int | None, known: tuple[KnownEntity, ...]) -> EntityRegistry:
    """The cached registry of these entities, built if needed; one per namespace, least recently used evicted."""
    with _cache_lock:
        cached = _cache.get(namespace.id)
    if cached is None or (cached.epoch, cached.known) != (epoch, known):
        cached = CachedRegistry(epoch, known, EntityRegistry(known))
    with _cache_lock:
        _cache[namespace.id] = cached
        _cache.move_to_end(namespace.id)
        while len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    return cached.registry


def last_cached_registry(namespace: Namespace) -> EntityRegistry | None:
    """The cached registry, current or not."""
    with _cache_lock:
        cached = _cache.get(namespace.id)
    return cached.registry if cached else None


def registry_at_write(namespace: Namespace, writes: int | None) -> EntityRegistry:
    """The registry as of a write count; names only change under the lock that increments it.

    Always reloaded inside a transaction, which may itself write and roll back.
    """
    if writes is None or connection.in_atomic_block:
        return load_registry(namespace)
    with _cache_lock:
        cached = _cache.get(namespace.id)
    if cached is not None and cached.writes == writes:
        return cached.registry
    registry = load_registry(namespace)
    with _cache_lock:
        if (cached := _cache.get(namespace.id)) is not None and cached.registry is registry:
            _cache[namespace.id] = cached._replace(writes=writes)
    return registry
