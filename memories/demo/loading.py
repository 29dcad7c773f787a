"""The demo world, from what was written to what is stored."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from memories.demo import answers, conversations, graph, remembered
from memories.demo.history import told
from memories.demo.world import CLOCK, World, read
from memories.ids import derived
from memories.models import Membership, Namespace
from memories.models.choices import Mode, Role
from memories.models.keys import InNamespace
from scoring.policy import WritePolicy

USER = "demo"


@transaction.atomic
def load(slug: str) -> Namespace:
    """Store the demo world as a namespace of its own; two loads give equal rows."""
    world = read()
    history = told(world, WritePolicy())
    namespace = found(slug, world)
    rows = chain(
        conversations.rows(world),
        graph.entities(world),
        remembered.memories(history),
        remembered.sources(history),
        graph.edges(history),
        graph.reviews(history),
        remembered.changes(history),
        remembered.accesses(history),
        answers.rows(history),
    )
    store(namespace, rows)
    return namespace


def found(slug: str, world: World) -> Namespace:
    """Make the namespace, and let the demo's user in where there is one."""
    namespace = Namespace.objects.create(
        id=derived(world.began, f"namespace {slug}"),
        slug=slug,
        title="Maya's assistant",
        mode=Mode.AGENT_MEMORY,
        clock=CLOCK,
        created_at=world.began,
    )
    if user := get_user_model().objects.filter(username=USER).first():
        Membership.objects.create(user=user, namespace=namespace, role=Role.ADMIN)
    return namespace


def store(namespace: Namespace, rows: Iterable[InNamespace]) -> None:
    """Insert rows table by table, in the order in which the tables first come."""
    tables: dict[type[Any], list[InNamespace]] = {}
    for row in rows:
        row.namespace = namespace
        tables.setdefault(type(row), []).append(row)
    for table, batch in tables.items():
        table.objects.bulk_create(batch)
