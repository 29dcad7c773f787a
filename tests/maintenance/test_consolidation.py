"""Summaries of similar memories."""

import pytest

from memories.contracts.new_memory import NewMemory
from memories.maintenance.consolidation import consolidate
from memories.models import (
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    Posting,
    ScoreEvent,
)
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.writing import feedback
from memories.writing.remember import remember
from tests.support.reflection import NOW, add_entity, reflect, reload_memory, start_step, store_memory

pytestmark = pytest.mark.django_db
# Cosines from .74 to .80; nothing that storing would merge or escalate.
COFFEE = (
    "Maya drinks her coffee black in the morning",
    "Maya takes a black coffee before the stand-up",
    "Every day Maya has black coffee for breakfast",
)
FOURTH = "Maya likes black coffee from the roastery in Lerum"


@pytest.fixture
def namespace() -> Namespace:
    namespace = Namespace.objects.create(slug="desk", title="A desk", clock=NOW)
    add_entity(namespace, "Maya", "person")
    return namespace


@pytest.fixture
def coffee(namespace: Namespace) -> list[Memory]:
    store_memory(namespace, "Maya sails on Sundays", subject="Maya", session="d")
    return [store_memory(namespace, text, subject="Maya", session=f"s{place}") for place, text in enumerate(COFFEE)]


def summary() -> Memory:
    return Memory.objects.get(level=ChunkLevel.SUMMARY, status=Status.ACTIVE)


def members(memory: Memory) -> set[object]:
    edges = MemoryEdge.objects.filter(source_id=memory.id, kind=EdgeKind.SUMMARY_OF)
    return set(edges.values_list("target_id", flat=True))


def test_alike_memories_of_a_subject_get_a_summary_and_stay(namespace: Namespace, coffee: list[Memory]) -> None:
    facts = reflect(namespace, "consolidation")
    made = summary()
    assert facts["summaries"] == 1
    assert members(made) == {one.id for one in coffee}
    assert all(reload_memory(one) == one and reload_memory(one).status == Status.ACTIVE for one in coffee)
    assert made.subject_id == coffee[0].subject_id
    assert [tag.tag for tag in MemoryTag.objects.filter(memory_id=made.id)] == ["summary"]
    assert facts["examples"] == [{"memory": str(made.id), "content": made.content, "members": 3}]


def test_a_summary_tells_more_than_its_middle_and_can_be_found(namespace: Namespace, coffee: list[Memory]) -> None:
    reflect(namespace, "consolidation")
    made = summary()
    assert made.content.endswith("(3 memories)")
    assert all(word in made.content for word in ("morning", "stand-up", "breakfast"))
    assert Posting.objects.filter(memory_id=made.id, term="breakfast").exists()
    assert MemoryVector.objects.get(memory_id=made.id).level == ChunkLevel.SUMMARY
    assert Mention.objects.filter(memory_id=made.id, entity_id=made.subject_id).exists()
    event = ScoreEvent.objects.get(memory_id=made.id)
    assert (event.cause, event.by, event.after["status"]) == ("stored", "tests", "active")
    assert (made.provenance_depth, MemorySource.objects.get(memory_id=made.id).source) == (1, "consolidation")


def test_a_summary_absorbs_nothing_that_is_told_later(namespace: Namespace, coffee: list[Memory]) -> None:
    reflect(namespace, "consolidation")
    again = NewMemory(content=summary().content, type="Fact", subject="Maya", session="z", predicate="told")
    (outcome,) = remember(namespace, [again], by="tests")
    assert outcome.memory.id != summary().id
    assert outcome.memory.status == Status.ACTIVE


def test_the_same_members_are_summarised_once(namespace: Namespace, coffee: list[Memory]) -> None:
    reflect(namespace, "consolidation")
    first = summary()
    work = start_step(namespace, "consolidation", full=True)
    consolidate(work)
    assert not work.step_result["summaries"]
    assert summary() == first
    assert ScoreEvent.objects.filter(memory_id=first.id).count() == 1


def test_a_summary_of_other_members_supersedes_the_old_one(namespace: Namespace, coffee: list[Memory]) -> None:
    reflect(namespace, "consolidation")
    first = summary()
    fourth = store_memory(namespace, FOURTH, subject="Maya", session="e")
    facts = reflect(namespace, "consolidation")
    made = summary()
    assert (facts["summaries"], facts["superseded"]) == (1, 1)
    assert fourth.id in members(made)
    old = reload_memory(first)
    assert (old.status, old.superseded_by_id) == (Status.SUPERSEDED, made.id)
    assert not Posting.objects.filter(memory_id=old.id).exists()
    assert not MemoryVector.objects.get(memory_id=old.id).active


def test_a_summary_whose_members_are_gone_is_archived(namespace: Namespace, coffee: list[Memory]) -> None:
    reflect(namespace, "consolidation")
    first = summary()
    feedback.forget_memory(namespace, coffee[0].id, by="tests")
    facts = reflect(namespace, "consolidation")
    assert (facts["summaries"], facts["archived"]) == (0, 1)
    assert reload_memory(first).status == Status.ARCHIVED


def test_what_contradicts_the_middle_is_not_summed_up_with_it(namespace: Namespace, coffee: list[Memory]) -> None:
    odd = store_memory(namespace, "Maya never has black coffee for breakfast any more", subject="Maya", session="e")
    reflect(namespace, "consolidation")
    assert odd.id not in members(summary())


def test_two_are_not_enough_and_users_are_kept_apart(namespace: Namespace) -> None:
    for place, text in enumerate(COFFEE):
        store_memory(namespace, text, subject="Maya", session=f"s{place}", user="maya" if place else "elias")
    assert reflect(namespace, "consolidation")["summaries"] == 0
