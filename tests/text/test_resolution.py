"""Resolving surface forms: which entity, how confidently, and when it is ambiguous."""

from uuid import NAMESPACE_DNS, UUID, uuid5

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.models import Entity, EntityAlias
from memories.text.entity_registry import EntityCandidate, EntityRegistry, KnownEntity
from memories.text.registry_cache import current_registry, load_registry
from memories.writing.remember import remember
from tests.support.rows import empty_namespace, row


def identifier(name: str) -> UUID:
    return uuid5(NAMESPACE_DNS, name)


def known_entity(name: str, kind: str = "person", *aliases: str) -> KnownEntity:
    return KnownEntity(identifier(name), name, kind, aliases)


REGISTRY = EntityRegistry(
    [
        known_entity("Maya Lindqvist", "person", "Maya"),
        known_entity("Karin Lindqvist", "person", "Maya's mother"),
        known_entity("Priya Raman"),
        known_entity("Ines Carvalho"),
        known_entity("Mateusz Zieliński"),
        known_entity("Robert Stone"),
        known_entity("Ludwig van Beethoven"),
        known_entity("Alexander Berg"),
        known_entity("Alexandra Holm"),
        known_entity("Arrive AB", "organisation"),
        known_entity("Platform team", "organisation"),
        known_entity("Kubernetes", "system", "k8s"),
        known_entity("PostgreSQL 14", "system", "Postgres"),
        known_entity("YubiKey", "thing"),
        known_entity("Mercury", "planet"),
        known_entity("Göteborg", "place", "Gothenburg"),
    ]
)


@pytest.mark.parametrize(
    ("surface", "name", "confidence"),
    [
        ("Priya Raman", "Priya Raman", 1.0),
        ("  priya   RAMAN. ", "Priya Raman", 1.0),
        ("Priya Raman's", "Priya Raman", 1.0),
        ("Maya’s", "Maya Lindqvist", 1.0),
        ("Maya's mother", "Karin Lindqvist", 1.0),
        ("Inês Carvalho", "Ines Carvalho", 1.0),
        ("Mateusz Zielinski", "Mateusz Zieliński", 1.0),
        ("GOTEBORG", "Göteborg", 1.0),
        ("the platform-team", "Platform team", 1.0),
        ("@maya", "Maya Lindqvist", 1.0),
        ("k8s", "Kubernetes", 1.0),
        ("Priya", "Priya Raman", 0.95),
        ("Mr. Raman", "Priya Raman", 0.95),
        ("Beethoven", "Ludwig van Beethoven", 0.95),
        ("van Beethoven's", "Ludwig van Beethoven", 0.95),
        ("Maya B. Lindqvist", "Maya Lindqvist", 0.95),
        ("Arrive", "Arrive AB", 0.95),
        ("YubiKeys", "YubiKey", 0.95),
        ("Bob", "Robert Stone", 0.9),
        ("Rob Stone", "Robert Stone", 0.9),
        ("R. Stone", "Robert Stone", 0.9),
        ("Robert S.", "Robert Stone", 0.9),
        ("Kubernets", "Kubernetes", 18 / 19),
        ("Priya Ramann", "Priya Raman", 22 / 23),
    ],
)
def test_a_surface_form_means(surface: str, name: str, confidence: float) -> None:
    match = REGISTRY.resolve(surface)
    assert match is not None
    assert match.entity_id == identifier(name)
    assert match.confidence == pytest.approx(confidence)


@pytest.mark.parametrize(
    "surface",
    [
        "",
        " ",
        "'s",
        "Mayari",
        "Maya Berg",
        "Bob Berg",
        "PostgreSQL 15",
        "Posgres 9",
        "k9s",
        "Mercurial",
        "mother",
        "Stein",
    ],
)
def test_nobody_is_meant_by(surface: str) -> None:
    assert REGISTRY.candidates(surface) == ()


@pytest.mark.parametrize(
    ("surface", "names"),
    [("Lindqvist", {"Maya Lindqvist", "Karin Lindqvist"}), ("Alex", {"Alexander Berg", "Alexandra Holm"})],
)
def test_a_name_of_two_is_resolved_to_neither_and_both_are_reported(surface: str, names: set[str]) -> None:
    assert REGISTRY.resolve(surface) is None
    assert {match.entity_id for match in REGISTRY.candidates(surface)} == {identifier(name) for name in names}


def test_two_equally_good_misspellings_are_ambiguous() -> None:
    registry = EntityRegistry([known_entity("Grafanas", "system"), known_entity("Grafanan", "system")])
    assert registry.resolve("Grafana") is None
    assert len(registry.candidates("Grafana")) == 2


def test_accents_decide_where_two_names_differ_by_nothing_else() -> None:
    registry = EntityRegistry([known_entity("Borås", "place"), known_entity("Boras", "firm")])
    assert registry.resolve("Borås") == EntityCandidate(identifier("Borås"), 1.0)
    assert registry.resolve("boras") == EntityCandidate(identifier("Boras"), 1.0)


def test_a_strict_reader_takes_neither_plural_nor_misspelling() -> None:
    assert REGISTRY.resolve("YubiKeys", fuzzy=False) is REGISTRY.resolve("Kubernets", fuzzy=False) is None
    assert REGISTRY.resolve("Priya", fuzzy=False) is not None


def test_an_empty_registry_knows_nobody() -> None:
    assert EntityRegistry().candidates("Maya Lindqvist") == ()
    assert EntityRegistry([known_entity(" ")]).candidates("Maya") == ()


@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=12))
def test_every_name_resolves_to_its_own_entity_and_no_surface_raises(names: list[str], surface: str) -> None:
    registry = EntityRegistry([known_entity(name, "person" if place % 2 else "") for place, name in enumerate(names)])
    registry.candidates(surface)
    for name in names:
        found = registry.candidates(name)
        assert not found or identifier(name) in {match.entity_id for match in found}
        assert all(0 < match.confidence <= 1 for match in found)


@pytest.mark.django_db
def test_a_registry_is_loaded_with_two_queries(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    here, elsewhere = empty_namespace("here"), empty_namespace("elsewhere")
    robert = row(Entity, here, name="Robert Stone", kind="person")
    row(EntityAlias, here, entity=robert, name="The Rock")
    row(Entity, elsewhere, name="Robert Berg", kind="person")
    with django_assert_num_queries(2):
        registry = load_registry(here)
    assert registry.resolve("Bob") == EntityCandidate(robert.id, 0.9)
    assert registry.resolve("the rock") == EntityCandidate(robert.id, 1.0)
    assert registry.resolve("Robert Berg") is None


@pytest.mark.django_db
def test_inside_a_transaction_the_registry_is_reloaded() -> None:
    here = empty_namespace("here")
    row(Entity, here, name="Robert Stone", kind="person")
    assert current_registry(here).resolve("Robert Stone") is not None
    row(Entity, here, name="Lena Berg", kind="person")
    assert current_registry(here).resolve("Lena Berg") is not None


@pytest.mark.django_db(transaction=True)
def test_a_registry_is_reloaded_only_after_a_write_that_adds_a_name(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    here = empty_namespace("here")
    row(Entity, here, name="Robert Stone", kind="person")
    registry = current_registry(here)
    remember(here, [NewMemory(content="Robert Stone plays chess.", entities=("Robert Stone",))], by="tests")
    with django_assert_num_queries(1):
        assert current_registry(here) is registry
    remember(here, [NewMemory(content="Lena Berg plays chess.", entities=("Lena Berg",))], by="tests")
    assert current_registry(here).resolve("Lena Berg") is not None


@pytest.mark.django_db(transaction=True)
def test_names_of_a_transaction_that_rolls_back_are_never_cached() -> None:
    here = empty_namespace("here")
    lena, otto = (NewMemory(content=f"{name} plays chess.", entities=(name,)) for name in ("Lena Berg", "Otto Lund"))
    with transaction.atomic():
        remember(here, [lena], by="tests")
        assert current_registry(here).resolve("Lena Berg") is not None
        transaction.set_rollback(True)
    remember(here, [otto], by="tests")
    assert current_registry(here).resolve("Lena Berg") is None
    assert current_registry(here).resolve("Otto Lund") is not None
