"""The registry of a namespace, from the database."""

import threading
from collections import OrderedDict, defaultdict
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Subquery

from memories.language.resolution import Known, Registry
from memories.models import Entity, EntityAlias, Namespace, NamespaceStatistics

HELD = 32  # namespaces


class Held(NamedTuple):
    """A registry, what it was built of, and the writes after which it is known to be right."""

    epoch: int | None
    known: tuple[Known, ...]
    registry: Registry
    writes: int | None = None


_held: OrderedDict[UUID, Held] = OrderedDict()
_holding = threading.Lock()


def load(namespace: Namespace) -> Registry:
    """Read a namespace's entities and aliases; while they stay the same, so does the registry.

    One that was built before something was erased is let go: it remembers the names it was asked for.
    """
    aliases: dict[UUID, list[str]] = defaultdict(list)
    for entity, alias in EntityAlias.objects.within(namespace).order_by("id").values_list("entity_id", "name"):
        aliases[entity].append(alias)
    epoch = Subquery(NamespaceStatistics.objects.filter(namespace_id=namespace.id).values("epoch"))
    rows = list(Entity.objects.within(namespace).order_by("id").values_list("id", "name", "kind", epoch))
    known = tuple(Known(entity, name, kind, tuple(aliases[entity])) for entity, name, kind, _ in rows)
    return held(namespace, rows[0][-1] if rows else None, known)


def held(namespace: Namespace, epoch: int | None, known: tuple[Known, ...]) -> Registry:
    """Build a registry once for the same names, which takes longer than reading them; of a namespace hold the last."""
    with _holding:
        there = _held.get(namespace.id)
    if there is None or (there.epoch, there.known) != (epoch, known):
        there = Held(epoch, known, Registry(known))
    with _holding:
        _held[namespace.id] = there
        _held.move_to_end(namespace.id)
        while len(_held) > HELD:
            _held.popitem(last=False)
    return there.registry


def last_held(namespace: Namespace) -> Registry | None:
    """The registry that this process knows, whether it is today's or not."""
    with _holding:
        there = _held.get(namespace.id)
    return there.registry if there else None


def after(namespace: Namespace, writes: int | None) -> Registry:
    """The registry as it is after so many writes: names change under the lock that counts them.

    Inside a transaction they are read anew: it may be one that writes, and be taken back.
    """
    if writes is None or connection.in_atomic_block:
        return load(namespace)
    with _holding:
        there = _held.get(namespace.id)
    if there is not None and there.writes == writes:
        return there.registry
    registry = load(namespace)
    with _holding:
        if (there := _held.get(namespace.id)) is not None and there.registry is registry:
            _held[namespace.id] = there._replace(writes=writes)
    return registry
