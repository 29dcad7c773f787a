"""Entities and relations of new memories, and detection of contradicting values."""

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.contracts.new_memory import NewMemory, Utterance
from memories.db.ids import uuid7
from memories.models import Entity, EntityEdge, Memory, MemoryEdge, MemoryVector, Mention, Namespace, TokenStates
from memories.models.choices import EdgeKind
from memories.providers.embedder import embedder
from memories.providers.minilm import MiniLM
from memories.providers.token_matrix import TokenMatrix
from memories.writing.correct import correct_memory
from memories.writing.decide import Outcome
from memories.writing.feedback import forget_memory
from memories.writing.neighbours import (
    IN_MEMORY_FROM,
    MAX_NEIGHBOURS,
    nearest_memories,
    scan_neighbours,
    search_index_and_scan,
)
from memories.writing.remember import remember
from memories.writing.vector_cache import CachedVectors, VectorBuffer
from tests.support.examples import examples
from tests.support.rows import store_entity

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
PLACES = "Berlin", "Munich"


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


def store(namespace: Namespace, content: str, **more: Any) -> Outcome:
    new = NewMemory(**{"content": content, "type": "Fact", "utterances": (Utterance("direct"),), **more})
    (outcome,) = remember(namespace, [new], by="tests")
    return outcome


def entity(namespace: Namespace, name: str, kind: str = "") -> Entity:
    return store_entity(namespace, name, kind)


def contradictions() -> int:
    return MemoryEdge.objects.filter(kind=EdgeKind.CONTRADICTION).count()


def test_a_triple_of_known_entities_is_an_edge_as_sure_as_its_names(namespace: Namespace) -> None:
    maya, arrive = entity(namespace, "Maya Lindqvist", "person"), entity(namespace, "Arrive")
    memory = store(namespace, "Maya leads a team", subject="Maya", predicate="works_at", object="Arrive").memory
    edge = EntityEdge.objects.get()
    assert (edge.source_id, edge.predicate, edge.target_id, edge.memory_id) == (
        maya.id,
        "works_at",
        arrive.id,
        memory.id,
    )
    assert edge.confidence == pytest.approx(0.95)  # a given name alone is slightly less certain
    assert set(Mention.objects.values_list("entity_id", flat=True)) == {maya.id, arrive.id}


@pytest.mark.parametrize("triple", [{"predicate": "works_at"}, {"object": "Nowhere"}, {"object": "Maya Lindqvist"}])
def test_there_is_no_edge_to_nobody_or_to_oneself(namespace: Namespace, triple: dict[str, str]) -> None:
    entity(namespace, "Maya Lindqvist", "person")
    store(namespace, "Maya leads a team", **{"subject": "Maya", "predicate": "knows", **triple})
    assert not EntityEdge.objects.exists()


def test_another_value_where_only_one_can_hold_contradicts_however_unlike_the_words(namespace: Namespace) -> None:
    entity(namespace, "Maya", "person")
    one = store(namespace, "Maya found a flat in Berlin", subject="Maya", predicate="lives_in", object="Berlin")
    two = store(namespace, "These days Munich is her home", subject="Maya", predicate="lives in", object="Munich")
    assert (two.outcome, two.reason) == ("stored", "another value")
    edge = MemoryEdge.objects.get(kind=EdgeKind.CONTRADICTION)
    assert (edge.source_id, edge.target_id, edge.cosine) == (two.memory.id, one.memory.id, None)
    assert set(Memory.objects.values_list("belief", flat=True)) == {3.5}


def test_another_value_within_one_batch_contradicts_as_well(namespace: Namespace) -> None:
    statements = [("A flat in Berlin", "Berlin"), ("Munich is home", "Munich")]
    new_memories = [
        NewMemory(content=text, subject="Maya", predicate="lives_in", object=place) for text, place in statements
    ]
    remember(namespace, new_memories, by="tests")
    assert contradictions() == 1


def test_a_person_may_like_more_than_one_thing(namespace: Namespace) -> None:
    for thing in ("hiking in the Alps", "strong tea"):
        store(namespace, f"Maya likes {thing}", subject="Maya", predicate="likes", object=thing)
    assert contradictions() == 0


def test_two_values_of_what_may_have_many_are_neither_merged_nor_a_contradiction(namespace: Namespace) -> None:
    for tea in ("green", "black"):
        triple = {"subject": "Maya", "predicate": "drinks", "object": f"{tea} tea"}
        outcome = store(namespace, f"In the morning Maya always drinks {tea} tea", session=tea, **triple)
    assert outcome.outcome == "stored"
    assert not MemoryEdge.objects.exists()


def test_the_same_words_about_two_subjects_are_two_memories(namespace: Namespace) -> None:
    outcomes = [store(namespace, "Barks at night", subject=dog, session=dog).outcome for dog in ("Cronny", "Cron")]
    assert outcomes == ["stored", "stored"]


def test_what_holds_after_the_other_has_ceased_to_hold_is_no_contradiction(namespace: Namespace) -> None:
    moved = datetime(2025, 6, 1, tzinfo=UTC)
    triple = {"subject": "Maya", "predicate": "lives_in"}
    store(namespace, "Maya lives in Berlin", object="Berlin", valid_until=moved, **triple)
    outcome = store(namespace, "Maya lives in Munich", object="Munich", valid_from=moved, **triple)
    assert outcome.outcome == "stored"
    assert contradictions() == 0


@pytest.mark.parametrize(
    "other", ["Is allergic to all nuts", "Is allergic to all the nuts", "Is not allergic to all nuts"]
)
def test_two_users_who_name_no_subject_speak_of_two_people(namespace: Namespace, other: str) -> None:
    content = "Is allergic to all nuts"
    store(namespace, content, user="maya", session="a")
    assert store(namespace, other, user="bob", session="b").outcome == "stored"
    assert not MemoryEdge.objects.exists()
    again = store(namespace, content, user="maya", session="c")
    assert (again.reason, again.memory.user) == ("exact duplicate", "maya")


def test_two_users_who_name_the_subject_speak_of_one(namespace: Namespace) -> None:
    store(namespace, "Cronny barks at night", subject="Cronny", user="maya", session="a")
    again = store(namespace, "Cronny barks at night", subject="Cronny", user="bob", session="b")
    assert (again.reason, again.memory.repetitions) == ("exact duplicate", 1)


HOME = {"subject": "Maya", "predicate": "lives_in"}


def test_the_same_words_about_two_values_are_two_memories_that_contradict_each_other(namespace: Namespace) -> None:
    berlin, munich = (store(namespace, "Home town", object=place, session=place, **HOME) for place in PLACES)
    assert (munich.outcome, munich.reason, contradictions()) == ("stored", "another value", 1)
    for place, first in zip(PLACES, (berlin, munich), strict=True):
        again = store(namespace, "Home town", object=place, session=f"{place} again", **HOME)
        assert (again.outcome, again.memory.id, again.memory.repetitions) == ("merged", first.memory.id, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_the_same_words_about_two_times_are_two_memories(namespace: Namespace, order: int) -> None:
    years = [datetime(year, 1, 1, tzinfo=UTC) for year in (2010, 2012, 2020)]
    spans = [{"valid_from": years[0], "valid_until": years[1]}, {"valid_from": years[2]}]
    outcomes = [
        store(namespace, "Maya lives in Berlin", session=f"{n}", **span) for n, span in enumerate(spans[::order])
    ]
    assert [outcome.outcome for outcome in outcomes] == ["stored", "stored"]
    again = store(namespace, "Maya lives in Berlin", session="now")
    assert (again.reason, again.memory.valid_from) == ("exact duplicate", years[2])


def test_what_has_expired_is_stored_anew_when_it_is_stated_again(namespace: Namespace) -> None:
    new = NewMemory(content="The pool is closed", valid_until=NOW + timedelta(days=1), session="a")
    remember(namespace, [new], by="tests")
    namespace.clock = NOW + timedelta(days=2)
    again, once_more = (store(namespace, "The pool is closed", type="", session=session) for session in "bc")
    assert (again.outcome, again.memory.valid_until) == ("stored", None)
    assert (once_more.reason, once_more.memory.id) == ("exact duplicate", again.memory.id)
    assert contradictions() == 0


def test_the_same_words_about_two_times_are_two_within_one_batch(namespace: Namespace) -> None:
    year = datetime(2020, 1, 1, tzinfo=UTC)
    spans: list[dict[str, Any]] = [{"valid_until": year}, {"valid_from": year}, {}]
    news = [NewMemory(content="The pool is closed", session=f"{n}", **span) for n, span in enumerate(spans)]
    assert [outcome.outcome for outcome in remember(namespace, news, by="tests")] == ["stored", "stored", "merged"]


def test_the_tokens_of_a_memory_are_stored_with_its_vector_and_read_back(namespace: Namespace) -> None:
    memory = store(namespace, "Maya plays the cello").memory
    row = TokenStates.objects.get(memory_id=memory.id)
    model = embedder("all-MiniLM-L6-v2")
    assert isinstance(model, MiniLM)
    (fresh,) = model.token_states([memory.content])
    read = TokenMatrix.from_bytes(bytes(row.packed), row.tokens, row.scale)
    assert (read.states == fresh.states).all()
    assert row.scale == fresh.scale


def test_the_vector_cache_the_index_and_a_scan_find_the_same(namespace: Namespace) -> None:
    who, what = ("Maya", "Elias", "Jonas"), ("bees", "a boat", "minutes", "quiet")
    texts = [f"{one} keeps {thing}" for one in who for thing in what]
    remember(namespace, [NewMemory(content=text) for text in texts], by="tests")
    queries = np.asarray(embedder("all-MiniLM-L6-v2").embed([f"{text} at home" for text in texts]), dtype=float)
    scanned = scan_neighbours(namespace, queries)
    in_memory = nearest_memories(namespace, queries, 0.0)
    indexed = MemoryVector.objects.filter(memory_id__in=Memory.objects.order_by("id").values("id")[:7])
    indexed.update(indexed=True)
    half_indexed = search_index_and_scan(namespace, queries)
    for one, two, three in zip(scanned, in_memory, half_indexed, strict=True):
        assert len(one) == len(two) == MAX_NEIGHBOURS
        nearest_of_both = sorted(three, key=lambda near: -near.cosine)[:MAX_NEIGHBOURS]
        assert [near.memory for near in one] == [near.memory for near in two]
        assert [near.memory for near in one] == [near.memory for near in nearest_of_both]
        assert [near.cosine for near in one] == pytest.approx([near.cosine for near in two], abs=1e-6)
        assert [near.cosine for near in one] == pytest.approx([near.cosine for near in nearest_of_both], abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.floats(-0.2, 0.99), st.sampled_from([3, 8, 257]))
@settings(max_examples=examples(15, fuzz=40))
def test_a_search_by_sketches_finds_exactly_what_is_close_enough(seed: int, least: float, dimensions: int) -> None:
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((70, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [uuid7() for _ in vectors]
    buffer = VectorBuffer(len(ids), dimensions)
    buffer.append(np.array([np.void(id.bytes) for id in ids]), vectors)
    near = CachedVectors("any", 0, 0, buffer, len(ids)).search(vectors[:9].astype(float), least)
    cosines = np.einsum("ik,jk->ij", vectors[:9], vectors)
    clear = np.abs(cosines - least) > 1e-5  # cosines at the threshold may fall on either side
    for index, found in enumerate(near):
        returned = {memory for memory, _ in found}
        assert {
            id for position, id in enumerate(ids) if clear[index, position] and cosines[index, position] >= least
        } <= returned
        assert (
            not {id for position, id in enumerate(ids) if clear[index, position] and cosines[index, position] < least}
            & returned
        )


@pytest.mark.django_db(transaction=True)
def test_the_next_batch_sees_what_others_wrote_and_hid(namespace: Namespace) -> None:
    def batch(*more: str) -> list[str]:
        fill = [f"Parcel {number} waits at gate {number * 7}" for number in range(IN_MEMORY_FROM)]
        news = [NewMemory(content=text, session=f"{uuid7()}") for text in (*fill, *more)]
        return [outcome.outcome for outcome in remember(namespace, news, by="tests")][IN_MEMORY_FROM:]

    assert batch("Maya is the first violin of the orchestra") == ["stored"]
    assert batch("Maya is the first violin of the orchestras") == ["merged"]
    first = Memory.objects.get(content="Maya is the first violin of the orchestra")
    forget_memory(namespace, first.id, by="tests")
    assert batch("Maya is the first violin of the orchestra!?") == ["stored"]
    store(namespace, "Elias keeps bees behind the old mill", session="alone")
    assert batch("Elias keeps bees behind the old mills") == ["merged"]
    assert batch("Jonas has sold his boat in May") == ["stored"]
    assert batch("Jonas has sold his boat in May indeed", "Jonas has sold his boats in May") == ["merged", "merged"]


@pytest.mark.django_db(transaction=True)
def test_a_memory_hidden_and_made_visible_again_is_one_neighbour(namespace: Namespace) -> None:
    fill = [NewMemory(content=f"Parcel {number} waits at gate {number * 7}") for number in range(IN_MEMORY_FROM)]
    original = store(namespace, "The ledger runs on PostgreSQL 14", session="a").memory
    remember(namespace, fill, by="tests")
    unsupported = {"content": "The ledger runs on SQLite", "evidence": "We talked about the quarterly budget only."}
    assert correct_memory(namespace, original.id, unsupported, by="tests")[0].outcome == "rejected"
    queries = np.asarray(embedder("all-MiniLM-L6-v2").embed([original.content] * IN_MEMORY_FROM), dtype=float)
    assert [near.memory for near in nearest_memories(namespace, queries, 0.99)[0]] == [original.id]


@pytest.mark.django_db(transaction=True)
def test_what_is_hidden_takes_no_place_from_what_is_active(namespace: Namespace) -> None:
    fill = [NewMemory(content=f"Parcel {number} waits at gate {number * 7}") for number in range(IN_MEMORY_FROM)]
    words = "The ledger runs on PostgreSQL"
    texts = [f"{words} {number} indeed" for number in range(MAX_NEIGHBOURS + 2)]
    gone = remember(namespace, [NewMemory(content=text) for text in texts], by="tests")
    original = store(namespace, f"{words} 99", session="a")
    remember(namespace, fill, by="tests")
    for outcome in gone:
        forget_memory(namespace, outcome.memory.id, by="tests")
    *_, last = remember(namespace, [*fill, NewMemory(content=f"{words} 98 indeed", session="b")], by="tests")
    edge = MemoryEdge.objects.get(source_id=last.memory.id)
    assert (edge.kind, edge.target_id) == (EdgeKind.CONTRADICTION, original.memory.id)


@pytest.mark.parametrize("company", [0, IN_MEMORY_FROM])
def test_what_others_say_of_themselves_takes_no_place_from_what_a_user_says(namespace: Namespace, company: int) -> None:
    users = [f"user {number}" for number in range(MAX_NEIGHBOURS + 2)]
    outcomes = [store(namespace, "I prefer tea in the morning", user=user, session="a") for user in users]
    fill = [NewMemory(content=f"Parcel {number} waits at gate {number * 7}") for number in range(company)]
    news = [*fill, NewMemory(content="I do not prefer tea in the morning", user=users[-1], session="b")]
    *_, last = remember(namespace, news, by="tests")
    assert last.reason == "negation"
    assert MemoryEdge.objects.get(source_id=last.memory.id).target_id == outcomes[-1].memory.id


def test_what_is_said_of_other_subjects_takes_no_place(namespace: Namespace) -> None:
    subjects = [f"Person {chr(65 + number)}" for number in range(MAX_NEIGHBOURS + 2)]
    outcomes = [store(namespace, "Was born in 1990", subject=subject, session="a") for subject in subjects]
    last = store(namespace, "Was born in 1991", subject=subjects[-1], session="b")
    assert MemoryEdge.objects.get().target_id == outcomes[-1].memory.id
    assert last.reason == "another date"


@pytest.mark.parametrize("known", [False, True])
def test_what_is_said_of_two_subjects_is_no_contradiction(namespace: Namespace, known: bool) -> None:
    for name in ("Alice", "Bob") if known else ():
        entity(namespace, name)
    one = store(namespace, "Was born in 1990", subject="Alice", session="a")
    other = store(namespace, "Was born in 1991", subject="Bob", session="b")
    assert (one.memory.belief, other.memory.belief, other.outcome) == (5.0, 5.0, "stored")
    assert not MemoryEdge.objects.exists()


@pytest.mark.parametrize("known", [False, True])
def test_two_subjects_that_have_changed_their_roles_oppose_each_other(namespace: Namespace, known: bool) -> None:
    for name in ("Alice Ek", "Bob Ek") if known else ():
        entity(namespace, name)
    store(namespace, "Alice reports to Bob", subject="Alice Ek", session="a")
    assert store(namespace, "Bob reports to Alice", subject="Bob Ek", session="b").reason == "swapped roles"
    assert contradictions() == 1
    store(namespace, "Likes Rome more than Paris", subject="Alice", session="a")
    store(namespace, "Likes Paris more than Rome", subject="Bob", session="b")
    assert contradictions() == 1


def test_who_becomes_known_later_is_the_same_subject(namespace: Namespace) -> None:
    store(namespace, "Was born in 1990", subject="Alice", session="a")
    entity(namespace, "Alice")
    store(namespace, "Was born in 1991", subject="alice", session="b")
    assert contradictions() == 1


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_is_taken_back_leaves_nothing_in_memory(namespace: Namespace) -> None:
    news = [NewMemory(content=f"Parcel {number} waits at gate {number * 7}") for number in range(IN_MEMORY_FROM + 1)]
    remember(namespace, news, by="tests")
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        remember(namespace, [NewMemory(content="Elias keeps bees behind the old mill")], by="tests")
        remember(namespace, news, by="tests")
        raise ZeroDivisionError
    store(namespace, "Jonas sold his boat in May", session="a")
    again = [*news, NewMemory(content="Jonas sold his boat in May.", session="b")]
    assert remember(namespace, again, by="tests")[-1].outcome == "merged"
    bees = [*news, NewMemory(content="Elias keeps bees behind the old mills", session="b")]
    assert remember(namespace, bees, by="tests")[-1].outcome == "stored"
