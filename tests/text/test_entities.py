"""Mentions by rule and by registry."""

import re
from collections.abc import Iterator
from uuid import NAMESPACE_DNS, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.demo.world_records import DemoEntity, DemoWorld, read_demo_world
from memories.text.entity_mentions import entities_in, find_mentions
from memories.text.entity_registry import EntityRegistry, KnownEntity
from memories.text.spelling import fold_spelling
from memories.text.stopwords import STOP_WORDS


def identifier(key: str) -> UUID:
    return uuid5(NAMESPACE_DNS, key)


def registry(**known: tuple[str, ...]) -> EntityRegistry:
    """Build a registry from key = (kind, name, *aliases)."""
    return EntityRegistry(
        KnownEntity(identifier(key), name, kind, tuple(aliases)) for key, (kind, name, *aliases) in known.items()
    )


KNOWN: dict[str, tuple[str, ...]] = {
    "maya": ("person", "Maya Lindqvist", "Maya"),
    "karin": ("person", "Karin Lindqvist", "Karin", "Maya's mother"),
    "priya": ("person", "Priya Raman"),
    "ines": ("person", "Ines Carvalho", "Ines"),
    "jonas": ("person", "Jonas Ek", "Jonas"),
    "robert": ("person", "Robert Stone"),
    "will": ("person", "Will Smith", "Will"),
    "may": ("person", "May Chen", "May"),
    "arrive": ("organisation", "Arrive", "Arrive AB"),
    "team": ("organisation", "Platform team", "the platform team", "platform"),
    "it": ("organisation", "IT"),
    "postgresql": ("system", "PostgreSQL", "Postgres"),
    "kafka": ("system", "Kafka"),
    "c": ("system", "C"),
    "graph": ("system", "memories.graph"),
    "incident": ("event", "INC-307"),
    "bike": ("thing", "Cargo bike"),
}
TEAM = registry(**KNOWN)
KEYS = {identifier(key): key for key in KNOWN}


def surfaces(text: str) -> list[str]:
    return [mention.surface for mention in find_mentions(text)]


def keys(text: str) -> set[str]:
    return {KEYS[found.entity_id] for found in entities_in(text, TEAM)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Priya in Lisbon.", ["Priya", "Lisbon"]),
        ("The Kafka cluster is down", ["Kafka"]),
        ("Runs along the river on Tuesdays and Saturdays", []),
        ("May I call you on Monday, in May or in June?", []),
        ("I'm here. Don't go. Let's ask Priya, he said. What's new?", ["Priya"]),
        ("Priya said no. Noor's place. Ines and Tomas came.", ["Priya", "Noor", "Ines", "Tomas"]),
        ("Bertha is old. Everybody likes Bertha.", ["Bertha", "Bertha"]),
        ("Met J. R. R. Tolkien and Dr. Smith.", ["J. R. R. Tolkien", "Dr. Smith"]),
        ("Ludwig van Beethoven met Vincent van Gogh", ["Ludwig van Beethoven", "Vincent van Gogh"]),
        ("with Mohammed bin Salman al-Saud and d'Artagnan", ["Mohammed bin Salman al-Saud", "d'Artagnan"]),
        ("Jean-Luc O'Brien's dog saw D’Angelo", ["Jean-Luc O'Brien", "D’Angelo"]),
        ("Maya's MacBook Pro", ["Maya", "MacBook Pro"]),
        ("with Łukasz, Ångström and Éric", ["Łukasz", "Ångström", "Éric"]),
        ("saw Ine\u0302s there", ["Ine\u0302s"]),
        ("On Black Friday Maya shipped it", ["Black Friday", "Maya"]),
        ("I told Maya Friday", ["Maya"]),
        ("between Ernst & Young and AT&T", ["Ernst & Young", "AT&T"]),
        ("INC-307 broke pg14 and k8s on foo.bar", ["INC-307", "pg14", "k8s", "foo.bar"]),
        ("ask @maya_l about #4711 and F-2025-09", ["@maya_l", "#4711", "F-2025-09"]),
        ("wrote CamelCase, iPhone, snake_case and `rm` in C++", ["CamelCase", "iPhone", "snake_case", "rm", "C++"]),
        ("It was done.then README.md came", ["done.then", "README.md"]),
        ("It was done.Next came nothing", []),
        ("read “The Island of Missing Trees”", ["The Island of Missing Trees"]),
        ('said "Great question" and "Well done!"', []),
        ("mail Maya.Berg@example.com or see https://example.com/Kafka", []),
        ("on the 14th, 10km at 5 p.m., 2nd of all", []),
        ("BREAKING NEWS ABOUT VERY LARGE SHIPS IN HARBOURS", []),
    ],
)
def test_the_rules_find_the_names_in(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mayari is no name of hers", set()),
        ("maya and KAFKA and postgres", {"maya", "kafka", "postgresql"}),
        ("Inês and ine\u0302s", {"ines"}),
        ("The platform-team rides a cargo-bike", {"team", "bike"}),
        ("Maya's mother came", {"karin"}),
        ("Maya’s bike", {"maya"}),
        ("Jonas' desk", {"jonas"}),
        ("Maya Berg came by", set()),
        ("Maya Berg came by with Maya", {"maya"}),
        ("told Maya Kafka was down", {"maya", "kafka"}),
        ("Maya B. Lindqvist", {"maya"}),
        ("it was Raman, said Bob", {"priya", "robert"}),
        ("Priya is vegan", {"priya"}),
        ("Arrives tomorrow", set()),
        ("Lindqvist called", set()),
        ("will it be in May?", set()),
        ("Will Smith met May Chen", {"will", "may"}),
        ("ask IT about it", {"it"}),
        ("written in C++, not in C#", set()),
        ("written in C", {"c"}),
        ("see maya@arrive.com or https://arrive.com/kafka", set()),
        ("see memories.graph and kafka.topics", {"graph"}),
        ("as inc-307 showed", {"incident"}),
        ("Kafka-based", {"kafka"}),
        ("a Kafka", {"kafka"}),
        ("", set()),
    ],
)
def test_a_registry_finds_its_entities_in(text: str, expected: set[str]) -> None:
    assert keys(text) == expected


def test_an_entity_is_found_once_by_its_surest_name() -> None:
    (found,) = entities_in("Mr. Raman, that is Priya Raman, or just Priya", TEAM)
    assert (found.surface, found.confidence) == ("Priya Raman", 1.0)


def test_a_stop_word_a_weekday_or_a_month_is_never_a_mention() -> None:
    for word in STOP_WORDS:
        assert surfaces(word) == surfaces(word.capitalize()) == surfaces(f"and {word.capitalize()} too") == [], word


PIECES = st.sampled_from(
    ["Maya", "’s", "'", "-", ".", " ", "van", '"', "@", "#", "C++", "\n", "\u0302", "ẞ", "ǅ", "INC-307"]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=20).map("".join)))
def test_any_text_is_parsed_and_every_mention_has_exact_offsets(text: str) -> None:
    end = 0
    for mention in find_mentions(text, TEAM):
        assert end <= mention.start < mention.end <= len(text)
        assert text[mention.start : mention.end] == mention.surface
        end = mention.end
    assert all(found.surface in text and 0 < found.confidence <= 1 for found in entities_in(text, TEAM))


@pytest.fixture(scope="module")
def world() -> DemoWorld:
    return read_demo_world()


@pytest.fixture(scope="module")
def demo_registry(world: DemoWorld) -> EntityRegistry:
    return EntityRegistry(
        KnownEntity(identifier(one.key), one.name, one.kind, one.aliases) for one in world.entities.values()
    )


def is_literal(entity: DemoEntity, text: str) -> bool:
    names = (entity.name, *entity.aliases)
    return any(re.search(rf"(?<!\w){re.escape(fold_spelling(name))}(?!\w)", fold_spelling(text)) for name in names)


def readings(world: DemoWorld, demo_registry: EntityRegistry) -> Iterator[tuple[set[str], set[str], set[str]]]:
    """For each memory: entities found, listed, and listed with a literal mention."""
    names = {identifier(key): key for key in world.entities}
    for memory in world.memories.values():
        found = {names[one.entity_id] for one in entities_in(memory.content, demo_registry)}
        listed = set(memory.entities)
        yield found, listed, {key for key in listed if is_literal(world.entities[key], memory.content)}


def test_what_the_demo_memories_name_is_found_and_little_else(world: DemoWorld, demo_registry: EntityRegistry) -> None:
    found, hits, literal, literal_hits = 0, 0, 0, 0
    for got, listed, named in readings(world, demo_registry):
        found, hits = found + len(got), hits + len(got & listed)
        literal, literal_hits = literal + len(named), literal_hits + len(got & named)
    assert hits / found >= 0.97
    assert literal_hits / literal >= 0.97


def test_every_demo_entity_is_found_in_a_sentence_with_any_of_its_names(
    world: DemoWorld, demo_registry: EntityRegistry
) -> None:
    for entity in world.entities.values():
        for name in (entity.name, *entity.aliases):
            assert identifier(entity.key) in {one.entity_id for one in entities_in(f"It is {name}.", demo_registry)}, (
                name
            )
