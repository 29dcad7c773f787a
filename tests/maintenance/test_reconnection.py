"""Memories linked to entities that were stored later."""

import pytest

from memories.models import Entity, EntityEdge, Job, Memory, Mention, Namespace, Posting, ScoreEvent
from memories.models.choices import Status
from scoring.dedup import content_hash
from tests.support.reflection import NOW, add_entity, reflect, reload_memory, store_memory
from tests.support.rows import add_alias

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


def names(memory: Memory) -> set[str]:
    return {mention.entity.name for mention in Mention.objects.filter(memory_id=memory.id)}


def test_a_subject_that_is_known_now_takes_the_place_of_its_stand_in(namespace: Namespace) -> None:
    memory = store_memory(namespace, "Barks at night", subject="Cron", predicate="barks_at", object="night")
    assert memory.subject_fallback
    cron = add_entity(namespace, "Cron", "cat")
    facts = reflect(namespace, "reconnection")
    memory = reload_memory(memory)
    assert (memory.subject_id, memory.subject_fallback) == (cron.id, None)
    assert bytes(memory.content_hash) == content_hash("Fact", "Cron", "barks_at", "Barks at night")
    assert names(memory) == {"Cron"}
    assert (facts["resolved"], facts["mentions"], facts["merged"]) == (1, 1, 0)
    assert facts["examples"] == [{"memory": str(memory.id), "subject": "Cron"}]


def test_a_memory_that_thereby_says_what_another_says_is_merged_into_the_earlier(namespace: Namespace) -> None:
    early = store_memory(namespace, "Barks at night", subject="Cronny", session="a")
    cron = add_entity(namespace, "Cron", "cat")
    late = store_memory(namespace, "Sleeps all day", subject="Cron", session="b")
    same = content_hash("Fact", "Cron", "", "Barks at night")
    Memory.objects.filter(id=late.id).update(content="Barks at night", content_hash=same)
    add_alias(cron, "Cronny")
    assert reflect(namespace, "reconnection")["merged"] == 1
    early, late = reload_memory(early), reload_memory(late)
    assert (early.status, early.subject_id, early.repetitions) == (Status.ACTIVE, cron.id, 1)
    assert (late.status, late.merged_into_id) == (Status.MERGED, early.id)
    assert not Posting.objects.filter(memory_id=late.id).exists()
    assert bytes(early.content_hash) == bytes(late.content_hash)
    causes = ScoreEvent.objects.filter(cause="merged").values_list("memory_id", "other_id")
    assert set(causes) == {(early.id, late.id), (late.id, early.id)}
    assert reflect(namespace, "reconnection", full=True)["merged"] == 0


def test_a_memory_of_another_time_stays_by_itself_though_it_turns_out_to_say_the_same(namespace: Namespace) -> None:
    year = NOW.replace(year=2020)
    early = store_memory(namespace, "Barks at night", subject="Cronny", session="a", valid_until=year)
    cron = add_entity(namespace, "Cron", "cat")
    late = store_memory(namespace, "Barks at night", subject="Cron", session="b", valid_from=year)
    add_alias(cron, "Cronny")
    facts = reflect(namespace, "reconnection")
    assert (facts["resolved"], facts["merged"]) == (1, 0)
    assert {reload_memory(memory).subject_id for memory in (early, late)} == {cron.id}
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2


def test_an_entity_made_later_is_found_in_the_memories_that_name_it(namespace: Namespace) -> None:
    memory = store_memory(namespace, "The gateway Grind forwards to Slottet", session="a")
    other = store_memory(namespace, "Maya sails on Sundays", session="a")
    assert not names(memory)
    add_entity(namespace, "Grind")
    add_entity(namespace, "Slottet")
    assert reflect(namespace, "reconnection")["mentions"] == 2
    assert (names(memory), names(other)) == ({"Grind", "Slottet"}, set())
    assert reflect(namespace, "reconnection", full=True)["mentions"] == 0


def test_an_entity_that_was_known_when_a_memory_was_stored_is_not_added_to_it(namespace: Namespace) -> None:
    add_entity(namespace, "Grind")
    memory = store_memory(namespace, "The gateway Grind forwards to Slottet", session="a")
    Mention.objects.all().delete()
    add_entity(namespace, "Slottet")
    reflect(namespace, "reconnection")
    assert names(memory) == {"Slottet"}


def test_a_relation_is_read_from_subject_predicate_and_object_once_both_are_known(namespace: Namespace) -> None:
    grind = add_entity(namespace, "Grind")
    store_memory(namespace, "It forwards to Slottet", subject="Grind", predicate="forwards_to", object="Slottet")
    assert not EntityEdge.objects.exists()
    slottet = add_entity(namespace, "Slottet")
    assert reflect(namespace, "reconnection")["relations"] == 1
    edge = EntityEdge.objects.get()
    assert (edge.source_id, edge.predicate, edge.target_id) == (grind.id, "forwards_to", slottet.id)
    reflect(namespace, "reconnection", full=True)
    assert EntityEdge.objects.count() == 1


def test_a_name_that_two_share_resolves_nothing(namespace: Namespace) -> None:
    memory = store_memory(namespace, "Barks at night", subject="Cron")
    add_entity(namespace, "Cron", "cat")
    add_entity(namespace, "Cron", "program")
    assert reflect(namespace, "reconnection")["resolved"] == 0
    assert reload_memory(memory).subject_fallback


def test_without_new_names_nothing_is_looked_at(namespace: Namespace) -> None:
    store_memory(namespace, "Barks at night", subject="Cron")
    add_entity(namespace, "Elias", "person")
    reflect(namespace, "reconnection")
    Job.objects.update(started_at=NOW.replace(year=2100))
    assert reflect(namespace, "reconnection")["looked_at"] == 0
    assert Entity.objects.count() == 1
