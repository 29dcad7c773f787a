"""A small world to be asked about: people, systems, dates, tags, a conversation, and what contradicts or has ended."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.models import Entity, EntityAlias, Memory, Namespace
from memories.retrieval.query import Filters, Query
from memories.retrieval.settings import setting
from memories.turns.conversation import Conversation, NewTurn
from memories.turns.hearing import hear
from memories.writing.linking import relate
from memories.writing.new_memory import NewMemory, Said
from memories.writing.remember import remember
from scoring.dedup import normalize

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)

PEOPLE = {"Maya Lindqvist": ("Maya",), "Priya Raman": ("Priya",), "Jonas Ek": ("Jonas",)}
THINGS = {"Invoicing": "system", "PostgreSQL": "system", "Arrive": "organisation", "Lisbon": "place"}
EDGES = (
    ("Maya Lindqvist", "works at", "Arrive", 0.9),
    ("Arrive", "runs", "Invoicing", 0.8),
    ("Invoicing", "is built on", "PostgreSQL", 0.6),
    ("Priya Raman", "reports to", "Maya Lindqvist", 0.7),
)
# Content, type, subject, and whatever else is said of it; days count back from now.
TOLD: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Invoicing stores its data in PostgreSQL 16", "Fact", "Invoicing", {"tags": ("database",), "days": 40}),
    ("The nightly backup of invoicing runs at two in the morning", "Fact", "Invoicing", {"tags": ("backup",)}),
    ("Maya prefers PostgreSQL for every new service", "Preference", "Maya", {"tags": ("database",), "days": 90}),
    ("Maya drinks her coffee black and early", "Preference", "Maya", {"tags": ("food",), "days": 10}),
    ("Priya reviews every change of a database schema", "Fact", "Priya", {"tags": ("database", "review")}),
    ("Priya reports to Maya since the summer", "Relation", "Priya", {"days": 200}),
    ("Jonas left Arrive for a bank in Oslo", "Event", "Jonas", {"event_at": NOW - timedelta(days=60), "days": 60}),
    ("The offsite in Lisbon agreed to retire MySQL", "Event", "Lisbon", {"event_at": NOW - timedelta(days=140)}),
    ("Lisbon was warm and the hotel stood on a hill", "Fact", "Lisbon", {"days": 139, "tags": ("travel",)}),
    ("Arrive counts forty people in three cities", "Fact", "Arrive", {"days": 300}),
    ("The kitchen at Arrive has a new oven", "Fact", "Arrive", {"level": "speculation", "days": 5}),
    ("Standup begins at half past nine", "Fact", "standup", {"days": 20, "tags": ("routine",)}),
    ("The cat of the neighbours is called Olle", "Fact", "", {"days": 15, "type_unsure": True}),
    ("Running shoes wear out after eight hundred kilometres", "Fact", "", {"days": 33, "user": "jonas"}),
    ("Alma is allergic to hazelnuts", "Fact", "Alma", {"days": 25, "user": "maya", "tags": ("health",)}),
    ("The parking permit holds until spring", "Fact", "", {"valid_from": NOW - timedelta(days=90), "left": 3}),
    ("The guest network used another password last year", "Fact", "", {"valid_from": NOW - timedelta(days=500)}),
    ("The new office opens in autumn", "Event", "Arrive", {"valid_from": NOW + timedelta(days=200)}),
)
SAID = (
    ("user", "We should move the invoicing backup to a quieter hour."),
    ("assistant", "Two in the morning is when the load is lowest."),
    ("user", "Then two it is. And Priya must look at the schema first."),
    ("assistant", "I will remind Priya on Monday."),
)


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[Namespace]:
    """The world, told once for all tests of a module."""
    with django_db_blocker.unblock():
        namespace = told("asked")
    yield namespace
    with django_db_blocker.unblock():
        namespace.delete()


def told(slug: str) -> Namespace:
    """Tell the world into a namespace of its own."""
    namespace = Namespace.objects.create(slug=slug, title="Asked", clock=NOW)
    entities = {name: entity(namespace, name, "person", aliases) for name, aliases in PEOPLE.items()}
    entities |= {name: entity(namespace, name, kind) for name, kind in THINGS.items()}
    for source, predicate, target, confidence in EDGES:
        relate(namespace, entities[source], predicate, entities[target], confidence)
    remember(namespace, [new(*one) for one in TOLD], by="tests")
    turns = [NewTurn(role=role, text=text, said_at=NOW - timedelta(days=7)) for role, text in SAID]
    hear(namespace, Conversation(session="backup", turns=turns, user="maya"), by="tests")
    Memory.objects.within(namespace).filter(content__startswith="Maya prefers").update(access_count=4)
    return namespace


def entity(namespace: Namespace, name: str, kind: str, aliases: tuple[str, ...] = ()) -> Entity:
    """Make an entity with its other names."""
    made = Entity.objects.create(namespace=namespace, name=name, normalised=normalize(name), kind=kind, created_at=NOW)
    for alias in aliases:
        EntityAlias.objects.create(entity=made, name=alias, normalised=normalize(alias))
    return made


def new(content: str, type: str, subject: str, more: dict[str, Any]) -> NewMemory:
    """A memory as a caller would tell it."""
    given = dict(more)
    at = NOW - timedelta(days=given.pop("days", 30))
    if (left := given.pop("left", None)) is not None:
        given["valid_until"] = NOW + timedelta(days=left)
    unsure = given.pop("type_unsure", False)
    said = (Said(given.pop("level", "direct")),)
    return NewMemory(
        content=content, type="" if unsure else type, subject=subject, said=said, created_at=at, happened_at=at, **given
    )


def asking(namespace: Namespace, text: str, system: str = "recall", **more: Any) -> Query:
    """A query under a system's defaults, or with parameters on top."""
    params, filters = more.pop("params", {}), more.pop("filters", Filters())
    by = setting(namespace, system=system, params=params)
    return Query(namespace=namespace, text=text, setting=by, filters=filters, **more)


def memory(namespace: Namespace, beginning: str) -> Memory:
    """The one active statement that begins so."""
    return Memory.objects.within(namespace).get(content__startswith=beginning, status="active", level="fact")
