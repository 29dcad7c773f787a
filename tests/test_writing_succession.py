"""A correction told ahead: what it corrects holds until it begins, and gives way then."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from reflection import reflect
from retrieval_world import asking
from test_writing_acts import review, told

from memories.erasing.erase import Erasure
from memories.jobs.scheduled import reflect_on_all
from memories.models import Job, Memory, MemoryEdge, MemoryVector, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import JobKind, JobState, Status, Verdict
from memories.retrieval.retrieve import retrieve
from memories.writing import acts
from memories.writing.correcting import correct
from memories.writing.editing import edit
from memories.writing.held import held
from memories.writing.merging import absorb
from memories.writing.new_memory import NewMemory, Said
from memories.writing.refusal import RefusedError
from memories.writing.remember import remember
from memories.writing.reviewing import decide
from memories.writing.splitting import split

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
START, LATER = NOW + timedelta(days=30), NOW + timedelta(days=60)
MUNICH, BERLIN, LUND = (f"Maya lives in {place}" for place in ("Munich", "Berlin", "Lund"))


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def old(namespace: Namespace) -> UUID:
    return tell(namespace, MUNICH, session="a").id


@pytest.fixture
def new(namespace: Namespace, old: UUID) -> UUID:
    return corrected(namespace, old, BERLIN, START)


def tell(namespace: Namespace, content: str, **more: Any) -> Memory:
    said: dict[str, Any] = {"type": "Fact", "said": (Said("direct"),), "subject": "Maya", "predicate": "lives in"}
    (outcome,) = remember(namespace, [NewMemory(content=content, **said, **more)], by="tests")
    return outcome.memory


def corrected(namespace: Namespace, memory: UUID, content: str, since: datetime | None = None) -> UUID:
    said = {"content": content} | ({"valid_from": since} if since else {})
    outcome, _ = correct(namespace, memory, said, by="maya")
    return outcome.memory.id


def stored(memory: UUID) -> Memory:
    return Memory.objects.get(id=memory)


def on(namespace: Namespace, moment: datetime) -> Namespace:
    """The namespace at another moment."""
    namespace.clock = moment
    namespace.save()
    return namespace


def holding(namespace: Namespace, moment: datetime, as_of: datetime | None = None) -> list[str]:
    """What is answered at a moment."""
    retrieval = retrieve(asking(on(namespace, moment), "Where does Maya live?", as_of=as_of))
    return [retrieval.batch.rows[place]["content"] for place in retrieval.ranking.order.rows.tolist()]


def everything(namespace: Namespace) -> tuple[Any, ...]:
    """What a further look must not change."""
    rows = Memory.objects.order_by("id").values("id", "status", "reason", "valid_until", "superseded_by_id")
    return list(rows), ScoreEvent.objects.count(), told(namespace)


def test_a_correction_of_a_later_day_leaves_the_old_one_active_until_then(
    namespace: Namespace, old: UUID, new: UUID
) -> None:
    was, will = stored(old), stored(new)
    assert (was.status, was.valid_until, was.superseded_by_id) == (Status.ACTIVE, START, new)
    assert (will.status, will.valid_from, will.valid_until) == (Status.ACTIVE, START, None)
    assert told(namespace) == (2, {old, new})
    assert MemoryVector.objects.get(memory_id=old).active
    assert not MemoryEdge.objects.exists()
    event = ScoreEvent.objects.filter(memory_id=old).latest("id")
    assert (event.cause, event.other_id, event.by) == ("corrected", new, "maya")
    assert (event.before["valid_until"], event.after["valid_until"]) == (None, START.isoformat())


@pytest.mark.parametrize("reflected", [False, True])
def test_one_of_the_two_is_answered_at_any_moment(
    namespace: Namespace, old: UUID, new: UUID, *, reflected: bool
) -> None:
    before, after = START - timedelta(seconds=1), START
    assert holding(namespace, before) == [MUNICH]
    if reflected:
        reflect(on(namespace, START), "succession")
    assert holding(namespace, after) == [BERLIN]
    assert holding(namespace, LATER, as_of=NOW) == [MUNICH]
    assert holding(namespace, LATER, as_of=before) == [MUNICH]
    assert holding(namespace, LATER, as_of=after) == [BERLIN]


def test_reflection_supersedes_what_is_due_once(namespace: Namespace, old: UUID, new: UUID) -> None:
    assert reflect(namespace, "succession") == {"awaiting": 1, "superseded": 0}
    assert stored(old).status == Status.ACTIVE
    facts = reflect(on(namespace, START), "succession")
    assert (facts["awaiting"], facts["superseded"]) == (0, 1)
    assert facts["examples"] == [{"memory": str(old), "by": str(new)}]
    was = stored(old)
    assert (was.status, was.reason, was.superseded_by_id) == (Status.SUPERSEDED, "corrected", new)
    assert told(namespace) == (1, {new})
    assert not MemoryVector.objects.get(memory_id=old).active
    event = ScoreEvent.objects.filter(memory_id=old).latest("id")
    assert (event.cause, event.other_id, event.at) == ("superseded", new, START)
    assert (event.before["status"], event.after["status"]) == ("active", "superseded")
    stands = everything(namespace)
    assert reflect(namespace, "succession") == {"awaiting": 0, "superseded": 0}
    assert everything(namespace) == stands


def test_the_passing_of_time_alone_is_reason_to_reflect(namespace: Namespace, old: UUID, new: UUID) -> None:
    begun = datetime.now(UTC) + timedelta(minutes=1)
    Job.objects.create(namespace=namespace, kind=JobKind.REFLECT, state=JobState.DONE, started_at=begun)
    Namespace.objects.filter(id=namespace.id).update(clock=None)
    Memory.objects.filter(id=old).update(valid_until=begun + timedelta(days=1))
    assert reflect_on_all() == []
    Memory.objects.filter(id=old).update(valid_until=NOW)
    assert [job.namespace_id for job in reflect_on_all()] == [namespace.id]


def test_the_same_words_of_another_value_are_no_obstacle(namespace: Namespace) -> None:
    old = tell(namespace, "Maya's plan", object="basic").id
    outcome, _ = correct(namespace, old, {"content": "Maya's plan", "object": "team", "valid_from": START}, by="tests")
    assert (outcome.outcome, stored(old).status) == ("stored", Status.ACTIVE)
    assert outcome.memory.id != old
    assert reflect(on(namespace, START), "succession")["superseded"] == 1


def test_what_ends_before_its_correction_begins_gives_way_at_its_end(namespace: Namespace) -> None:
    ends = NOW + timedelta(days=10)
    old = tell(namespace, MUNICH, valid_until=ends).id
    corrected(namespace, old, BERLIN, START)
    assert (stored(old).status, stored(old).valid_until) == (Status.ACTIVE, ends)
    assert reflect(on(namespace, ends), "succession")["superseded"] == 1


# What else may happen while a memory awaits its end


def test_a_second_correction_holds_until_the_first_begins(namespace: Namespace, old: UUID, new: UUID) -> None:
    between = corrected(namespace, old, LUND)
    assert (stored(old).status, stored(old).superseded_by_id, stored(old).valid_until) == ("superseded", between, NOW)
    one = stored(between)
    assert (one.status, one.valid_from, one.valid_until, one.superseded_by_id) == ("active", NOW, START, new)
    assert (holding(namespace, NOW), holding(namespace, START)) == ([LUND], [BERLIN])
    assert reflect(namespace, "succession")["superseded"] == 1
    assert not MemoryEdge.objects.exists()


@pytest.mark.parametrize("since", [START, LATER])
def test_from_its_end_on_another_memory_is_to_be_corrected(
    namespace: Namespace, old: UUID, new: UUID, since: datetime
) -> None:
    with pytest.raises(RefusedError, match=f"gives way to {new} at 2026-04-01"):
        corrected(namespace, old, LUND, since)
    with pytest.raises(RefusedError, match="speak of that one"):
        corrected(on(namespace, since), old, LUND)


def test_what_has_not_begun_is_corrected_from_its_beginning_on(namespace: Namespace, old: UUID, new: UUID) -> None:
    last = corrected(namespace, new, LUND)
    assert (stored(new).status, stored(last).valid_from) == (Status.SUPERSEDED, START)
    assert (stored(old).status, stored(old).superseded_by_id, stored(old).valid_until) == ("active", last, START)
    assert (holding(namespace, NOW), holding(namespace, START)) == ([MUNICH], [LUND])


def test_a_correction_that_is_moved_up_ends_the_first_memory_at_once(
    namespace: Namespace, old: UUID, new: UUID
) -> None:
    last = corrected(namespace, new, LUND, NOW)
    assert {stored(old).status, stored(new).status} == {Status.SUPERSEDED}
    assert (stored(old).superseded_by_id, stored(old).valid_until) == (last, NOW)
    assert told(namespace) == (1, {last})
    assert holding(namespace, NOW) == [LUND]


def test_the_old_one_follows_when_its_correction_begins_on_another_day(
    namespace: Namespace, old: UUID, new: UUID
) -> None:
    edit(namespace, new, {"valid_from": LATER}, by="tests")
    assert (stored(old).valid_until, stored(old).superseded_by_id) == (LATER, new)
    edit(namespace, new, {"valid_from": NOW}, by="tests")
    assert (stored(old).status, stored(old).valid_until) == (Status.SUPERSEDED, NOW)
    assert told(namespace) == (1, {new})


def test_who_lifts_its_end_lifts_its_correction(namespace: Namespace, old: UUID, new: UUID) -> None:
    edit(namespace, old, {"valid_until": None}, by="tests")
    assert (stored(old).status, stored(old).superseded_by_id, stored(old).reason) == (Status.ACTIVE, None, "")


def forgotten(namespace: Namespace, memory: UUID) -> None:
    acts.forget(namespace, memory, by="tests")


def erased(namespace: Namespace, memory: UUID) -> None:
    Erasure(namespace).erase([memory])


@pytest.mark.parametrize("gone", [forgotten, erased])
@pytest.mark.parametrize("until", [None, LATER])
def test_a_correction_that_is_gone_before_it_begins_has_corrected_nothing(
    namespace: Namespace, until: datetime | None, gone: Callable[[Namespace, UUID], None]
) -> None:
    old = tell(namespace, MUNICH, valid_until=until).id
    gone(namespace, corrected(namespace, old, BERLIN, START))
    was = stored(old)
    assert (was.status, was.reason, was.superseded_by_id, was.valid_until) == (Status.ACTIVE, "", None, until)
    assert told(namespace) == (1, {old})
    assert holding(namespace, START) == [MUNICH]
    assert not ScoreEvent.objects.filter(memory_id=old, other_id__isnull=False).exists() or gone is forgotten


def test_a_correction_that_is_erased_after_it_began_leaves_the_old_one_archived(
    namespace: Namespace, old: UUID, new: UUID
) -> None:
    Erasure(on(namespace, START)).erase([new])
    assert (stored(old).status, stored(old).reason) == (Status.ARCHIVED, "what replaced it was erased")
    assert told(namespace) == (0, set())
    assert not MemoryVector.objects.get(memory_id=old).active


def test_what_is_forgotten_meanwhile_stays_forgotten(namespace: Namespace, old: UUID, new: UUID) -> None:
    acts.forget(namespace, old, by="tests")
    stands = everything(namespace)
    assert reflect(on(namespace, START), "succession") == {"awaiting": 0, "superseded": 0}
    assert everything(namespace) == stands
    assert stored(old).status == Status.FORGOTTEN


def test_what_is_said_again_meanwhile_counts_and_ends_all_the_same(namespace: Namespace, old: UUID, new: UUID) -> None:
    assert tell(namespace, MUNICH, session="b").id == old
    assert (stored(old).repetitions, stored(old).valid_until) == (1, START)
    again = tell(on(namespace, LATER), MUNICH, session="c").id
    assert again not in (old, new)
    assert reflect(namespace, "succession")["superseded"] == 1


def test_what_says_the_same_ends_with_it(namespace: Namespace) -> None:
    earlier = tell(namespace, "Munich is where Maya has her flat").id
    old = tell(namespace, "In Munich, on the river, she has rooms", session="b").id
    new = corrected(namespace, old, "Maya has a flat in Berlin", START)
    decide_the_same(namespace, earlier, old)
    assert (stored(earlier).status, stored(earlier).merged_into_id) == (Status.MERGED, old)
    assert (stored(old).status, stored(old).superseded_by_id) == (Status.ACTIVE, new)
    split(namespace, earlier, by="tests")
    assert (stored(earlier).status, stored(earlier).valid_until) == (Status.ACTIVE, None)
    assert stored(old).valid_until == START


def decide_the_same(namespace: Namespace, one: UUID, other: UUID) -> None:
    ReviewItem.objects.all().delete()
    decide(namespace, review(namespace, stored(one), stored(other)).id, Verdict.DUPLICATE, by="maya")


def test_a_contradiction_costs_it_belief_and_moves_no_end(namespace: Namespace, old: UUID, new: UUID) -> None:
    said = NewMemory(content="The flat has stood empty for years", type="Fact", said=(Said("direct"),))
    (outcome,) = remember(namespace, [said], by="tests")
    acts.contradict(namespace, old, outcome.memory.id, reason="", by="tests")
    acts.confirm(namespace, old, by="tests")
    assert (stored(old).belief, stored(old).valid_until, stored(old).superseded_by_id) == (3.5, START, new)
    assert reflect(on(namespace, START), "succession")["superseded"] == 1


def test_a_correction_that_is_archived_before_it_begins_ends_nothing(
    namespace: Namespace, old: UUID, new: UUID
) -> None:
    Memory.objects.within(namespace).filter(id=new).update(belief=0.5)
    reflect(namespace, "archival", archive=True)
    assert stored(new).status == Status.ARCHIVED
    kept = stored(old)
    assert (kept.status, kept.superseded_by_id, kept.valid_until) == (Status.ACTIVE, None, None)


def test_what_awaits_a_correction_awaits_the_one_that_absorbs_it(namespace: Namespace, old: UUID, new: UUID) -> None:
    other = tell(namespace, "Maya will have her home in Berlin", session="b", valid_from=START).id
    with held(namespace, new, other, by="tests") as hold:
        absorb(hold, hold.known[other], hold.known[new], "the same")
    assert stored(old).superseded_by_id == other
    assert stored(old).status == Status.ACTIVE
