"""The registry of a namespace, from the database."""

from collections import defaultdict
from functools import lru_cache
from uuid import UUID

from django.db import connection

from memories.language.resolution import Known, Registry
from memories.models import Entity, EntityAlias, Namespace


def load(namespace: Namespace) -> Registry:
    """Read a namespace's entities and aliases; while they stay the same, so does the registry."""
    aliases: dict[UUID, list[str]] = defaultdict(list)
    for entity, alias in EntityAlias.objects.within(namespace).order_by("id").values_list("entity_id", "name"):
        aliases[entity].append(alias)
    rows = Entity.objects.within(namespace).order_by("id").values_list("id", "name", "kind")
    return _registry(tuple(Known(entity, name, kind, tuple(aliases[entity])) for entity, name, kind in rows))


def after(namespace: Namespace, writes: int | None) -> Registry:
    """The registry as it is after so many writes: names change under the lock that counts them.

    Inside a transaction they are read anew: it may be one that writes, and be taken back.
    """
    if writes is None or connection.in_atomic_block:
        return load(namespace)
    return _after(namespace.id, writes)


@lru_cache(maxsize=32)
def _after(namespace: UUID, writes: int) -> Registry:
    """Read the names once between two writes: that takes longer than all else in reading a query."""
    return load(Namespace(id=namespace))


@lru_cache(maxsize=32)
def _registry(known: tuple[Known, ...]) -> Registry:
    """Build a registry once for the same names: that takes longer than reading them."""
    return Registry(known)
