"""Corrections with a later start: the old memory stays valid until then."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memories.contracts.new_memory import NewMemory, Utterance
from memories.jobs.scheduled import start_due_reflections
from memories.maintenance.erase import Erasure
from memories.models import Job, Memory, MemoryEdge, MemoryVector, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import JobKind, JobState, Status, Verdict
from memories.retrieval.retrieve import retrieve
from memories.writing import feedback
from memories.writing.correct import correct_memory
from memories.writing.edit import edit_memory
from memories.writing.lock import lock_memories
from memories.writing.merge import merge_memories, split_memory
from memories.writing.remember import remember
from memories.writing.review import decide_review
from memories.writing.write_errors import RefusedError
from tests.support.reflection import reflect
from tests.support.retrieval_world import make_query
from tests.support.rows import review_item
from tests.support.search_index import indexed_memories

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
START, LATER = NOW + timedelta(days=30), NOW + timedelta(days=60)
MUNICH, BERLIN, LUND = (f"Maya lives in {place}" for place in ("Munich", "Berlin", "Lund"))


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def old(namespace: Namespace) -> UUID:
    return store(namespace, MUNICH, session="a").id


@pytest.fixture
def successor(namespace: Namespace, old: UUID) -> UUID:
    return correct_to(namespace, old, BERLIN, START)


def store(namespace: Namespace, content: str, **more: Any) -> Memory:
    fields: dict[str, Any] = {
        "type": "Fact",
        "utterances": (Utterance("direct"),),
        "subject": "Maya",
        "predicate": "lives in",
    }
    (outcome,) = remember(namespace, [NewMemory(content=content, **fields, **more)], by="tests")
    return outcome.memory


def correct_to(namespace: Namespace, memory: UUID, content: str, since: datetime | None = None) -> UUID:
    changes = {"content": content} | ({"valid_from": since} if since else {})
    outcome, _ = correct_memory(namespace, memory, changes, by="maya")
    return outcome.memory.id


def reload_memory(memory: UUID) -> Memory:
    return Memory.objects.get(id=memory)


def on(namespace: Namespace, time: datetime) -> Namespace:
    """The namespace with its clock set."""
    namespace.clock = time
    namespace.save()
    return namespace


def retrieved_at(namespace: Namespace, time: datetime, as_of: datetime | None = None) -> list[str]:
    """The contents retrieved at a time."""
    retrieval = retrieve(make_query(on(namespace, time), "Where does Maya live?", as_of=as_of))
    return [retrieval.candidates.rows[place]["content"] for place in retrieval.ranking.order.rows.tolist()]


def everything(namespace: Namespace) -> tuple[Any, ...]:
    """The state that a second run must not change."""
    rows = Memory.objects.order_by("id").values("id", "status", "reason", "valid_until", "superseded_by_id")
    return list(rows), ScoreEvent.objects.count(), indexed_memories(namespace)


def test_a_correction_of_a_later_day_leaves_the_old_one_active_until_then(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    was, will = reload_memory(old), reload_memory(successor)
    assert (was.status, was.valid_until, was.superseded_by_id) == (Status.ACTIVE, START, successor)
    assert (will.status, will.valid_from, will.valid_until) == (Status.ACTIVE, START, None)
    assert indexed_memories(namespace) == (2, {old, successor})
    assert MemoryVector.objects.get(memory_id=old).active
    assert not MemoryEdge.objects.exists()
    event = ScoreEvent.objects.filter(memory_id=old).latest("id")
    assert (event.cause, event.other_id, event.by) == ("corrected", successor, "maya")
    assert (event.before["valid_until"], event.after["valid_until"]) == (None, START.isoformat())


@pytest.mark.parametrize("reflected", [False, True])
def test_one_of_the_two_is_retrieved_at_any_time(
    namespace: Namespace, old: UUID, successor: UUID, *, reflected: bool
) -> None:
    before, after = START - timedelta(seconds=1), START
    assert retrieved_at(namespace, before) == [MUNICH]
    if reflected:
        reflect(on(namespace, START), "succession")
    assert retrieved_at(namespace, after) == [BERLIN]
    assert retrieved_at(namespace, LATER, as_of=NOW) == [MUNICH]
    assert retrieved_at(namespace, LATER, as_of=before) == [MUNICH]
    assert retrieved_at(namespace, LATER, as_of=after) == [BERLIN]


def test_reflection_supersedes_what_is_due_once(namespace: Namespace, old: UUID, successor: UUID) -> None:
    assert reflect(namespace, "succession") == {"awaiting": 1, "superseded": 0}
    assert reload_memory(old).status == Status.ACTIVE
    facts = reflect(on(namespace, START), "succession")
    assert (facts["awaiting"], facts["superseded"]) == (0, 1)
    assert facts["examples"] == [{"memory": str(old), "by": str(successor)}]
    was = reload_memory(old)
    assert (was.status, was.reason, was.superseded_by_id) == (Status.SUPERSEDED, "corrected", successor)
    assert indexed_memories(namespace) == (1, {successor})
    assert not MemoryVector.objects.get(memory_id=old).active
    event = ScoreEvent.objects.filter(memory_id=old).latest("id")
    assert (event.cause, event.other_id, event.at) == ("superseded", successor, START)
    assert (event.before["status"], event.after["status"]) == ("active", "superseded")
    before = everything(namespace)
    assert reflect(namespace, "succession") == {"awaiting": 0, "superseded": 0}
    assert everything(namespace) == before


def test_the_passing_of_time_alone_is_reason_to_reflect(namespace: Namespace, old: UUID, successor: UUID) -> None:
    begun = datetime.now(UTC) + timedelta(minutes=1)
    Job.objects.create(namespace=namespace, kind=JobKind.REFLECT, state=JobState.DONE, started_at=begun)
    Namespace.objects.filter(id=namespace.id).update(clock=None)
    Memory.objects.filter(id=old).update(valid_until=begun + timedelta(days=1))
    assert start_due_reflections() == []
    Memory.objects.filter(id=old).update(valid_until=NOW)
    assert [job.namespace_id for job in start_due_reflections()] == [namespace.id]


def test_the_same_words_of_another_value_are_no_obstacle(namespace: Namespace) -> None:
    old = store(namespace, "Maya's plan", object="basic").id
    outcome, _ = correct_memory(
        namespace, old, {"content": "Maya's plan", "object": "team", "valid_from": START}, by="tests"
    )
    assert (outcome.outcome, reload_memory(old).status) == ("stored", Status.ACTIVE)
    assert outcome.memory.id != old
    assert reflect(on(namespace, START), "succession")["superseded"] == 1


def test_what_ends_before_its_correction_begins_gives_way_at_its_end(namespace: Namespace) -> None:
    ends = NOW + timedelta(days=10)
    old = store(namespace, MUNICH, valid_until=ends).id
    correct_to(namespace, old, BERLIN, START)
    assert (reload_memory(old).status, reload_memory(old).valid_until) == (Status.ACTIVE, ends)
    assert reflect(on(namespace, ends), "succession")["superseded"] == 1


# Other operations while a correction is pending


def test_a_second_correction_holds_until_the_first_begins(namespace: Namespace, old: UUID, successor: UUID) -> None:
    between = correct_to(namespace, old, LUND)
    assert (reload_memory(old).status, reload_memory(old).superseded_by_id, reload_memory(old).valid_until) == (
        "superseded",
        between,
        NOW,
    )
    one = reload_memory(between)
    assert (one.status, one.valid_from, one.valid_until, one.superseded_by_id) == ("active", NOW, START, successor)
    assert (retrieved_at(namespace, NOW), retrieved_at(namespace, START)) == ([LUND], [BERLIN])
    assert reflect(namespace, "succession")["superseded"] == 1
    assert not MemoryEdge.objects.exists()


@pytest.mark.parametrize("since", [START, LATER])
def test_from_its_end_on_another_memory_is_to_be_corrected(
    namespace: Namespace, old: UUID, successor: UUID, since: datetime
) -> None:
    with pytest.raises(RefusedError, match=f"is superseded by {successor} at 2026-04-01"):
        correct_to(namespace, old, LUND, since)
    with pytest.raises(RefusedError, match="use that one"):
        correct_to(on(namespace, since), old, LUND)


def test_what_has_not_begun_is_corrected_from_its_beginning_on(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    last = correct_to(namespace, successor, LUND)
    assert (reload_memory(successor).status, reload_memory(last).valid_from) == (Status.SUPERSEDED, START)
    assert (reload_memory(old).status, reload_memory(old).superseded_by_id, reload_memory(old).valid_until) == (
        "active",
        last,
        START,
    )
    assert (retrieved_at(namespace, NOW), retrieved_at(namespace, START)) == ([MUNICH], [LUND])


def test_a_correction_that_is_moved_up_ends_the_first_memory_at_once(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    last = correct_to(namespace, successor, LUND, NOW)
    assert {reload_memory(old).status, reload_memory(successor).status} == {Status.SUPERSEDED}
    assert (reload_memory(old).superseded_by_id, reload_memory(old).valid_until) == (last, NOW)
    assert indexed_memories(namespace) == (1, {last})
    assert retrieved_at(namespace, NOW) == [LUND]


def test_the_old_one_follows_when_its_correction_begins_on_another_day(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    edit_memory(namespace, successor, {"valid_from": LATER}, by="tests")
    assert (reload_memory(old).valid_until, reload_memory(old).superseded_by_id) == (LATER, successor)
    edit_memory(namespace, successor, {"valid_from": NOW}, by="tests")
    assert (reload_memory(old).status, reload_memory(old).valid_until) == (Status.SUPERSEDED, NOW)
    assert indexed_memories(namespace) == (1, {successor})


def test_who_lifts_its_end_lifts_its_correction(namespace: Namespace, old: UUID, successor: UUID) -> None:
    edit_memory(namespace, old, {"valid_until": None}, by="tests")
    assert (reload_memory(old).status, reload_memory(old).superseded_by_id, reload_memory(old).reason) == (
        Status.ACTIVE,
        None,
        "",
    )


def forget_one(namespace: Namespace, memory: UUID) -> None:
    feedback.forget_memory(namespace, memory, by="tests")


def erase_one(namespace: Namespace, memory: UUID) -> None:
    Erasure(namespace).erase([memory])


@pytest.mark.parametrize("gone", [forget_one, erase_one])
@pytest.mark.parametrize("until", [None, LATER])
def test_a_correction_that_is_gone_before_it_begins_has_corrected_nothing(
    namespace: Namespace, until: datetime | None, gone: Callable[[Namespace, UUID], None]
) -> None:
    old = store(namespace, MUNICH, valid_until=until).id
    gone(namespace, correct_to(namespace, old, BERLIN, START))
    was = reload_memory(old)
    assert (was.status, was.reason, was.superseded_by_id, was.valid_until) == (Status.ACTIVE, "", None, until)
    assert indexed_memories(namespace) == (1, {old})
    assert retrieved_at(namespace, START) == [MUNICH]
    assert not ScoreEvent.objects.filter(memory_id=old, other_id__isnull=False).exists() or gone is forget_one


def test_a_correction_that_is_erased_after_it_began_leaves_the_old_one_archived(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    Erasure(on(namespace, START)).erase([successor])
    assert (reload_memory(old).status, reload_memory(old).reason) == (Status.ARCHIVED, "what replaced it was erased")
    assert indexed_memories(namespace) == (0, set())
    assert not MemoryVector.objects.get(memory_id=old).active


def test_what_is_forgotten_meanwhile_stays_forgotten(namespace: Namespace, old: UUID, successor: UUID) -> None:
    feedback.forget_memory(namespace, old, by="tests")
    before = everything(namespace)
    assert reflect(on(namespace, START), "succession") == {"awaiting": 0, "superseded": 0}
    assert everything(namespace) == before
    assert reload_memory(old).status == Status.FORGOTTEN


def test_what_is_stated_again_meanwhile_counts_and_ends_all_the_same(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    assert store(namespace, MUNICH, session="b").id == old
    assert (reload_memory(old).repetitions, reload_memory(old).valid_until) == (1, START)
    again = store(on(namespace, LATER), MUNICH, session="c").id
    assert again not in (old, successor)
    assert reflect(namespace, "succession")["superseded"] == 1


def test_what_says_the_same_ends_with_it(namespace: Namespace) -> None:
    earlier = store(namespace, "Munich is where Maya has her flat").id
    old = store(namespace, "In Munich, on the river, she has rooms", session="b").id
    new = correct_to(namespace, old, "Maya has a flat in Berlin", START)
    decide_duplicate(namespace, earlier, old)
    assert (reload_memory(earlier).status, reload_memory(earlier).merged_into_id) == (Status.MERGED, old)
    assert (reload_memory(old).status, reload_memory(old).superseded_by_id) == (Status.ACTIVE, new)
    split_memory(namespace, earlier, by="tests")
    assert (reload_memory(earlier).status, reload_memory(earlier).valid_until) == (Status.ACTIVE, None)
    assert reload_memory(old).valid_until == START


def decide_duplicate(namespace: Namespace, one: UUID, other: UUID) -> None:
    ReviewItem.objects.all().delete()
    decide_review(
        namespace, review_item(namespace, reload_memory(one), reload_memory(other)).id, Verdict.DUPLICATE, by="maya"
    )


def test_a_contradiction_costs_it_belief_and_moves_no_end(namespace: Namespace, old: UUID, successor: UUID) -> None:
    new_memory = NewMemory(content="The flat has stood empty for years", type="Fact", utterances=(Utterance("direct"),))
    (outcome,) = remember(namespace, [new_memory], by="tests")
    feedback.contradict_memories(namespace, old, outcome.memory.id, reason="", by="tests")
    feedback.confirm_memory(namespace, old, by="tests")
    assert (reload_memory(old).belief, reload_memory(old).valid_until, reload_memory(old).superseded_by_id) == (
        3.5,
        START,
        successor,
    )
    assert reflect(on(namespace, START), "succession")["superseded"] == 1


def test_a_correction_that_is_archived_before_it_begins_ends_nothing(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    Memory.objects.within(namespace).filter(id=successor).update(belief=0.5)
    reflect(namespace, "archival", archive=True)
    assert reload_memory(successor).status == Status.ARCHIVED
    old_memory = reload_memory(old)
    assert (old_memory.status, old_memory.superseded_by_id, old_memory.valid_until) == (Status.ACTIVE, None, None)


def test_what_awaits_a_correction_awaits_the_one_that_absorbs_it(
    namespace: Namespace, old: UUID, successor: UUID
) -> None:
    other = store(namespace, "Maya will have her home in Berlin", session="b", valid_from=START).id
    with lock_memories(namespace, successor, other, by="tests") as locked:
        merge_memories(locked, locked.known[other], locked.known[successor], "the same")
    assert reload_memory(old).superseded_by_id == other
    assert reload_memory(old).status == Status.ACTIVE
