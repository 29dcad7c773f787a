"""Resolving surface forms: which entity, how confidently, and when it is ambiguous."""

from uuid import NAMESPACE_DNS, UUID, uuid5

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.text.entity_mentions import entity_matches
from memories.text.entity_registry import EntityCandidate, EntityRegistry, KnownEntity
from memories.text.fuzzy_names import fuzzy_matches
from memories.text.name_index import complete_names, find_names, keys_of_name
from memories.text.name_keys import stored_fuzzy_keys, surface_fuzzy_keys
from memories.text.spelling import lookup_key, strip_possessive
from memories.writing.remember import remember
from tests.support.rows import empty_namespace, store_entity


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


ALPHABET = (
    "Maya Karin Lindqvist Berg Robert Bob Stone van Beethoven Platform Team The PostgreSQL 14 15 k8s C++ C# C Acme Ltd "
)
WORDS = (
    ALPHABET + "Zieliński Zielinski O'Brien cargo-bike Yahoo! Dr. J.R.R. IT it Göteborg @maya #ops YubiKeys YubiKey"
).split()
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@given(st.data())
def test_what_is_looked_up_by_key_resolves_as_among_all_names(data: st.DataObject) -> None:
    kinds = st.sampled_from(["person", "system", ""])
    rows = data.draw(st.lists(st.tuples(PHRASES, kinds, st.lists(PHRASES, max_size=2)), min_size=1, max_size=12))
    known = [KnownEntity(UUID(int=place), name, kind, tuple(more)) for place, (name, kind, more) in enumerate(rows)]
    surfaces = data.draw(st.lists(misspelt(PHRASES | st.sampled_from([entity.name for entity in known])), max_size=3))
    text = ", ".join(data.draw(st.lists(PHRASES | misspelt(st.sampled_from([name for name, *_ in rows])), max_size=4)))
    stored = {entity: set().union(*(keys_of_name(name, entity.kind) for name in (entity.name, *entity.aliases)))
              for entity in known}  # fmt: skip

    def find(keys: set[str]) -> list[KnownEntity]:
        return [entity for entity in known if stored[entity] & keys]

    found, complete = complete_names(find, [text], surfaces), EntityRegistry(known)
    assert found.mentions_of(text) == entity_matches(text, complete)
    assert [found.registry.candidates(surface) for surface in surfaces] == [
        complete.candidates(surface) for surface in surfaces
    ]


def misspelt(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Names with at most two letters changed."""

    def change(name: str, edits: list[tuple[int, str]]) -> str:
        for place, letter in edits:
            place %= len(name) + 1
            name = name[:place] + letter + name[place + (letter == "") :]
        return name

    return st.builds(
        change, names, st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["", "e", "t"])), max_size=2)
    )


@given(
    st.text(min_size=5, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["", "x", "ä"])), max_size=6),
)
def test_a_misspelling_shares_a_piece_with_its_name(name: str, edits: list[tuple[int, str]]) -> None:
    surface = name
    for place, letter in edits:
        surface = surface[:place] + letter + surface[place + (letter == "") :]
    one, other = lookup_key(strip_possessive(surface)), lookup_key(name)
    (ratios,) = fuzzy_matches([one], [other])
    assert not ratios or surface_fuzzy_keys(surface) & stored_fuzzy_keys(name)


@pytest.mark.django_db
def test_names_are_looked_up_in_one_round_trip_and_misspelt_ones_in_two(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    here, elsewhere = empty_namespace("here"), empty_namespace("elsewhere")
    robert = store_entity(here, "Robert Stone", "person", "The Rock")
    store_entity(elsewhere, "Robert Berg", "person")
    with django_assert_num_queries(1):
        registry = find_names(here, ["Bob sails"], ["the rock", "Robert Stone"]).registry
    assert registry.resolve("Bob") == EntityCandidate(robert.id, 0.9)
    assert registry.resolve("the rock") == EntityCandidate(robert.id, 1.0)
    with django_assert_num_queries(2):
        assert find_names(here, surfaces=["Robert Stonne"]).registry.resolve("Robert Stonne") is not None
    assert find_names(here, surfaces=["Robert Berg"]).registry.resolve("Robert Berg") is None


@pytest.mark.django_db
def test_a_name_is_found_in_the_transaction_that_adds_it_and_not_after_it_is_rolled_back() -> None:
    here = empty_namespace("here")
    lena = NewMemory(content="Lena Berg plays chess.", entities=("Lena Berg",))
    with transaction.atomic():
        remember(here, [lena], by="tests")
        assert find_names(here, ["Lena Berg"]).matches("Lena Berg")
        transaction.set_rollback(True)
    assert not find_names(here, ["Lena Berg"]).matches("Lena Berg")
