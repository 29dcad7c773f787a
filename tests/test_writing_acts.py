"""What later evidence does to stored memories, and that a merge can be undone as if it had never been."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import F
from evaluator import evaluate
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memories.models import (
    Entity,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryVector,
    Mention,
    Namespace,
    NamespaceStatistics,
    Posting,
    ReviewItem,
    ScoreEvent,
    TokenStates,
)
from memories.models.choices import EdgeKind, Status, Verdict
from memories.writing import acts
from memories.writing.correcting import correct
from memories.writing.editing import edit
from memories.writing.linking import link, unlink
from memories.writing.new_memory import NewMemory, Said
from memories.writing.refusal import AbsentError, RefusedError
from memories.writing.remember import Outcome, remember
from memories.writing.reviewing import decide
from memories.writing.splitting import split

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DATABASE = (
    "The invoicing service uses PostgreSQL as its database",
    "The invoicing service uses PostgreSQL as the database",
)
COFFEE = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"  # cosine .901: escalated
Tell = Callable[..., Outcome]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def tell(namespace: Namespace) -> Tell:
    return teller(namespace)


def teller(namespace: Namespace) -> Tell:
    def telling(content: str, level: str = "direct", **more: Any) -> Outcome:
        new = NewMemory(**{"content": content, "type": "Fact", "said": (Said(level),), "model": "haiku", **more})
        (outcome,) = remember(namespace, [new], by="tests")
        return outcome

    return telling


def stored(id: UUID) -> Memory:
    return Memory.objects.get(id=id)


def told(namespace: Namespace) -> tuple[int, set[UUID]]:
    """How many memories the statistics count, and which have words."""
    documents = NamespaceStatistics.objects.get(namespace=namespace).documents
    return documents, set(Posting.objects.within(namespace).values_list("memory_id", flat=True))


# Correction


def test_a_correction_supersedes_without_a_contradiction(namespace: Namespace, tell: Tell) -> None:
    old = tell("The ledger runs on PostgreSQL 14", session="a", tags=("db",), user="maya").memory
    outcome, was = correct(namespace, old.id, {"content": "The ledger runs on PostgreSQL 15"}, by="maya")
    new, old = stored(outcome.memory.id), stored(old.id)
    assert (outcome.outcome, old.status, old.superseded_by_id, old.valid_until) == ("stored", "superseded", new.id, NOW)
    assert (new.status, new.valid_from, new.user, new.tag_names) == ("active", NOW, "maya", ["db"])
    assert (old.belief, new.belief) == (5.0, 5.0)
    assert not MemoryEdge.objects.exists()
    assert told(namespace) == (1, {new.id})
    assert not MemoryVector.objects.get(memory_id=old.id).active
    event = ScoreEvent.objects.filter(memory_id=old.id).latest("id")
    assert (event.cause, event.other_id, event.by) == ("superseded", new.id, "maya")
    assert (event.before["status"], event.before["valid_until"]) == ("active", None)
    assert event.after["valid_until"] == NOW.isoformat()
    assert was.memory.superseded_by_id == new.id


def test_a_correction_ends_the_old_one_where_the_new_begins_and_never_later_than_it_ended(
    namespace: Namespace, tell: Tell
) -> None:
    days = [NOW + timedelta(days=day) for day in range(4)]
    ends = tell("Maya leads the team", valid_from=days[0], valid_until=days[1]).memory
    correct(namespace, ends.id, {"content": "Elias leads the team", "valid_from": days[2]}, by="tests")
    assert stored(ends.id).valid_until == days[1]
    later = tell("The cello is rented", valid_from=days[3]).memory
    outcome, _ = correct(namespace, later.id, {"content": "The cello is owned", "valid_from": days[2]}, by="tests")
    assert stored(later.id).valid_until == days[3]
    assert stored(outcome.memory.id).valid_from == days[2]
    goes_on = tell("The boat lies in Malmö", valid_until=days[3]).memory
    outcome, _ = correct(namespace, goes_on.id, {"content": "The boat lies in Lund", "valid_from": days[2]}, by="tests")
    assert (stored(goes_on.id).valid_until, stored(outcome.memory.id).valid_until) == (days[2], days[3])


def test_every_change_of_belief_and_utility_is_explained(namespace: Namespace, tell: Tell) -> None:
    one, other = tell("Maya plays the cello").memory, tell("The boat lies in Lund").memory
    acts.contradict(namespace, one.id, other.id, reason="she sold it", by="tests")
    acts.judge(namespace, one.id, useful=True, by="tests")
    against, useful = ScoreEvent.objects.filter(memory_id=one.id).order_by("id")[1:]
    assert evaluate(against.parts) == stored(one.id).belief == 3.5
    assert against.parts["reason"] == "she sold it"
    assert evaluate(useful.parts) == pytest.approx(2 / 3)


def test_belief_that_is_taken_back_is_explained(namespace: Namespace, tell: Tell) -> None:
    one, other = tell("Maya plays the cello").memory, tell("The boat lies in Lund").memory
    for session in "abc":
        tell("Maya plays the cello", session=session)
    acts.contradict(namespace, one.id, other.id, reason="she sold it", by="tests")
    unlink(namespace, MemoryEdge.objects.get().id, by="tests")
    Memory.objects.filter(id=other.id).update(belief=4.25)  # as an older policy would have it
    acts.contradict(namespace, one.id, other.id, reason="", by="tests")
    unlink(namespace, MemoryEdge.objects.get().id, by="tests")
    removed = ScoreEvent.objects.filter(cause="edge removed")
    assert removed.count() == 4
    for event in removed:
        assert evaluate(event.parts) == pytest.approx(event.after["belief"], abs=1e-9)


def test_a_split_explains_the_belief_it_takes_back(namespace: Namespace, tell: Tell) -> None:
    tell(DATABASE[0], session="a")
    tell(DATABASE[1], session="b")
    split(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    event = ScoreEvent.objects.get(cause="split", after__has_key="belief")
    assert evaluate(event.parts["belief"]) == event.after["belief"] == 5.0
    assert evaluate(event.parts) == pytest.approx(event.after["confidence"], abs=1e-9)


def test_a_survivor_of_another_type_splits_back(namespace: Namespace, tell: Tell) -> None:
    kept = tell(DATABASE[0], type="Relation", session="a").memory
    before = numbers(kept.id)
    tell(DATABASE[1], type="Entity", session="b")
    assert stored(kept.id).type_prior == 0.90
    split(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    assert numbers(kept.id) == before


def test_a_correction_to_what_another_memory_says_merges_there(namespace: Namespace, tell: Tell) -> None:
    right = tell("Elias plays the oboe", session="a").memory
    wrong = tell("Maya keeps a kestrel in the shed", session="b").memory
    outcome, _ = correct(namespace, wrong.id, {"content": "Elias plays the oboe.", "session": "c"}, by="tests")
    assert (outcome.outcome, outcome.memory.id) == ("merged", right.id)
    assert stored(wrong.id).superseded_by_id == right.id
    assert stored(right.id).repetitions == 1


def test_a_correction_takes_the_old_value_over_only_where_its_text_names_it(namespace: Namespace, tell: Tell) -> None:
    said = {"subject": "Maya", "predicate": "lives in", "object": "Berlin"}
    old = tell("Maya lives in Berlin", **said).memory
    outcome, _ = correct(namespace, old.id, {"content": "Maya lives in Munich"}, by="tests")
    new = stored(outcome.memory.id)
    assert (new.subject_surface, new.predicate, new.object) == ("Maya", "lives in", "")
    outcome, _ = correct(namespace, new.id, {"content": "Maya lives near Munich", "object": "near Munich"}, by="tests")
    assert stored(outcome.memory.id).object == "near Munich"


def test_a_correction_that_its_source_does_not_support_leaves_the_old_one_as_it_was(
    namespace: Namespace, tell: Tell
) -> None:
    old = tell("Owns two horses").memory
    said = {"content": "Owns a farm in Skåne", "evidence": "We talked about the quarterly budget only."}
    outcome, _ = correct(namespace, old.id, said, by="tests")
    assert outcome.outcome == "rejected"
    assert stored(old.id).status == Status.ACTIVE
    assert told(namespace) == (1, {old.id})
    assert MemoryVector.objects.get(memory_id=old.id).active


def test_a_correction_to_the_same_words_is_refused(namespace: Namespace, tell: Tell) -> None:
    old = tell("Plays the cello").memory
    with pytest.raises(RefusedError, match="nothing to correct"):
        correct(namespace, old.id, {"content": "plays the  cello."}, by="tests")
    outcome, _ = correct(namespace, old.id, {"content": "Plays the cello", "type": "Preference"}, by="tests")
    assert (outcome.outcome, stored(outcome.memory.id).type) == ("stored", "Preference")


def test_a_failed_correction_leaves_nothing_behind(
    namespace: Namespace, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tell("Plays the cello").memory

    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("memories.writing.correcting.supersede", fail)
    with pytest.raises(RuntimeError):
        correct(namespace, old.id, {"content": "Plays the oboe"}, by="tests")
    assert Memory.objects.get().status == Status.ACTIVE
    assert told(namespace) == (1, {old.id})


# Contradiction


def test_a_contradiction_costs_both_once(namespace: Namespace, tell: Tell) -> None:
    one, other = tell("The shop opens at dawn").memory, tell("Nobody is ever in the shop").memory
    assert acts.contradict(namespace, one.id, other.id, reason="I was there", by="maya")[2] is True
    assert acts.contradict(namespace, other.id, one.id, reason="", by="maya")[2] is False
    edge = MemoryEdge.objects.get()
    assert (edge.kind, edge.source_id, edge.target_id) == ("contradiction", other.id, one.id)
    assert [(stored(id).belief, stored(id).contradictions) for id in (one.id, other.id)] == [(3.5, 1), (3.5, 1)]
    event = ScoreEvent.objects.get(memory_id=one.id, cause="contradicted")
    assert (event.other_id, event.parts["reason"], event.parts["value"]) == (other.id, "I was there", 3.5)


def test_belief_comes_back_when_a_contradiction_is_taken_away(namespace: Namespace, tell: Tell) -> None:
    one, other = tell("The shop opens at dawn").memory, tell("Nobody is ever in the shop").memory
    acts.contradict(namespace, one.id, other.id, reason="", by="tests")
    tell("The shop opens at dawn", session="b")
    unlink(namespace, MemoryEdge.objects.get().id, by="tests")
    assert [(stored(id).belief, stored(id).contradictions) for id in (one.id, other.id)] == [(5.5, 0), (5.0, 0)]
    assert ScoreEvent.objects.filter(memory_id=one.id).latest("id").cause == "edge removed"
    acts.contradict(namespace, one.id, other.id, reason="", by="tests")
    assert stored(one.id).belief == 4.0


def test_an_edge_that_moved_no_belief_goes_without_a_trace(namespace: Namespace, tell: Tell) -> None:
    one, other = tell("The shop opens at dawn").memory, tell("Nobody is ever in the shop").memory
    tell("Nobody is ever in the shop", session="b")
    edge = link(namespace, one.id, other.id, EdgeKind.SUPPORTS, weight=0.5, by="tests")
    assert stored(other.id).corroborations == 1
    unlink(namespace, edge.id, by="tests")
    assert (stored(other.id).belief, stored(other.id).corroborations) == (5.5, 1)
    with pytest.raises(AbsentError):
        unlink(namespace, edge.id, by="tests")


# Merging two stored memories, and splitting

NUMBERS = (
    "confidence",
    "source_strength",
    "repetitions",
    "extractor_confidence",
    "extractor_model",
    "type_prior",
    "grounding",
    "grounding_penalty",
    "belief",
    "corroborations",
    "contradictions",
    "useful",
    "not_useful",
    "access_count",
    "confirmed_at",
    "status",
    "reason",
)


def numbers(id: UUID) -> dict[str, Any]:
    """Everything of a memory that evidence moves, and whence it comes."""
    sources = sorted(
        (row.session.key if row.session else "", row.level) for row in MemorySource.objects.filter(memory_id=id)
    )
    return {name: getattr(stored(id), name) for name in NUMBERS} | {"sources": sources}


def review(namespace: Namespace, one: Memory, other: Memory) -> ReviewItem:
    first, second = sorted((one.id, other.id))
    return ReviewItem.objects.create(namespace=namespace, first_id=first, second_id=second, cosine=0.9)


def test_two_stored_memories_merge_by_the_formula(namespace: Namespace, tell: Tell) -> None:
    kept = tell("Maya likes sailing", "speculation", session="a").memory
    tell("Maya likes sailing", "speculation", session="b")
    gone = tell("Sails, Maya does, and gladly", session="c", model="opus").memory
    tell("Sails, Maya does, and gladly", session="d")
    Memory.objects.filter(id__in=[kept.id, gone.id]).update(access_count=3)
    decide(namespace, review(namespace, kept, gone).id, Verdict.DUPLICATE, by="maya")
    one = stored(kept.id)
    assert (one.repetitions, one.source_strength, one.extractor_confidence) == (1 + 1 + 1, 0.95, 0.90)
    assert (one.access_count, one.corroborations) == (6, 3)
    other = stored(gone.id)
    assert (other.status, other.merged_into_id) == ("merged", kept.id)
    assert one.confidence >= other.confidence
    assert told(namespace) == (1, {kept.id})
    assert not MemoryVector.objects.get(memory_id=gone.id).active
    assert [event.other_id for event in ScoreEvent.objects.filter(cause="merged").order_by("id")] == [kept.id, gone.id]


def test_a_session_that_said_both_is_no_independent_observation(namespace: Namespace, tell: Tell) -> None:
    kept, gone = tell("Maya likes sailing", session="a").memory, tell("Sails, Maya does", session="a").memory
    decide(namespace, review(namespace, kept, gone).id, Verdict.DUPLICATE, by="maya")
    assert (stored(kept.id).repetitions, stored(kept.id).belief) == (0, 5.0)


def test_a_survivor_keeps_what_its_own_session_said_more_directly_in_other_words(
    namespace: Namespace, tell: Tell
) -> None:
    kept = tell("Maya likes sailing", "speculation", session="a").memory
    gone = tell("Sails, Maya does", session="a").memory
    before = numbers(kept.id)
    decide(namespace, review(namespace, kept, gone).id, Verdict.DUPLICATE, by="maya")
    assert stored(kept.id).confidence == gone.confidence
    acts.judge(namespace, kept.id, useful=False, by="maya")
    assert stored(kept.id).confidence == gone.confidence
    split(namespace, gone.id, by="maya")
    assert numbers(kept.id) == before | {"not_useful": 1}


def test_a_memory_that_backed_another_does_not_count_again_when_they_merge(namespace: Namespace, tell: Tell) -> None:
    Entity.objects.create(namespace=namespace, name="Maya", normalised="maya", kind="person")
    kept, gone = tell(COFFEE[0], session="a").memory, tell(COFFEE[1], session="b").memory
    before = numbers(kept.id)
    assert (before["belief"], before["corroborations"]) == (5.5, 1)
    decide(namespace, ReviewItem.objects.get().id, Verdict.DUPLICATE, by="maya")
    assert (stored(kept.id).belief, stored(kept.id).repetitions) == (5.5, 1)
    split(namespace, gone.id, by="maya")
    assert numbers(kept.id) == before


def test_a_merge_on_store_splits_back_to_what_was_before(namespace: Namespace, tell: Tell) -> None:
    kept = tell(DATABASE[0], "weak_inference", session="a").memory
    before = numbers(kept.id)
    assert tell(DATABASE[1], session="b", model="opus").outcome == "merged"
    gone = Memory.objects.get(status=Status.MERGED)
    assert not MemoryVector.objects.filter(memory_id=gone.id).exists()
    assert numbers(kept.id)["repetitions"] == 1
    lone, survivor = split(namespace, gone.id, by="maya")
    assert (lone.memory.id, survivor.memory.id) == (gone.id, kept.id)
    assert numbers(kept.id) == before
    again = stored(gone.id)
    assert (again.status, again.merged_into_id, again.repetitions, again.source_strength) == ("active", None, 0, 0.95)
    assert MemoryVector.objects.get(memory_id=gone.id).active
    assert TokenStates.objects.filter(memory_id=gone.id).exists()
    assert told(namespace) == (2, {kept.id, gone.id})
    assert [event.cause for event in ScoreEvent.objects.filter(memory_id=kept.id).order_by("id")][-1] == "split"


def known_by(id: UUID) -> dict[str, Any]:
    """What else is known of a memory: tags, entities, and what callers told."""
    memory = stored(id)
    columns = ("importance", "quality", "memory_score", "event_at", "event_until", "valid_from", "metadata")
    named = sorted(mention.entity.name for mention in Mention.objects.filter(memory_id=id).select_related("entity"))
    return {name: getattr(memory, name) for name in columns} | {"tags": memory.tag_names, "named": named}


KNOWN: list[dict[str, Any]] = [
    {"tags": ("db",), "entities": ("Postgres",), "metadata": {"a": 1}, "importance": 0.6},
    {
        "tags": ("db", "sql"),
        "entities": ("Postgres", "Invoicing"),
        "metadata": {"a": 2, "b": 3},
        "importance": 0.9,
        "event_at": NOW,
        "memory_score": 0.7,
    },
]


@pytest.mark.parametrize("way", ["stored", "reviewed"])
def test_a_survivor_gets_what_a_paraphrase_knows_and_gives_it_back(namespace: Namespace, tell: Tell, way: str) -> None:
    words = DATABASE if way == "stored" else ("Maya likes sailing", "Sails, Maya does, and gladly")
    kept = tell(words[0], session="a", **KNOWN[0]).memory
    before = known_by(kept.id)
    outcome = tell(words[1], session="b", **KNOWN[1])
    if way == "reviewed":
        decide(namespace, review(namespace, kept, outcome.memory).id, Verdict.DUPLICATE, by="maya")
    else:
        assert outcome.memory.tag_names == ["db", "sql"]
    assert known_by(kept.id) == {
        "tags": ["db", "sql"],
        "named": ["Invoicing", "Postgres"],
        "metadata": {"a": 1, "b": 3},
        "importance": 0.9,
        "quality": 0.5,
        "event_at": NOW,
        "event_until": None,
        "valid_from": None,
        "memory_score": 0.7,
    }
    split(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    assert known_by(kept.id) == before


def test_what_two_paraphrases_brought_goes_with_the_last_of_them(namespace: Namespace, tell: Tell) -> None:
    kept = tell(CONTENTS[0], session="a", **KNOWN[0]).memory
    before = known_by(kept.id)
    others = [tell(content, session="b", **KNOWN[1]).memory for content in CONTENTS[1:]]
    for other in others:
        decide(namespace, review(namespace, kept, other).id, Verdict.DUPLICATE, by="tests")
    after = known_by(kept.id)
    edit(namespace, kept.id, {"quality": 0.9}, by="tests")
    split(namespace, others[0].id, by="tests")
    assert known_by(kept.id) == after | {"quality": 0.9}
    split(namespace, others[1].id, by="tests")
    assert known_by(kept.id) == before | {"quality": 0.9}


def test_what_was_split_stays_apart_when_both_are_heard_again(namespace: Namespace, tell: Tell) -> None:
    kept = tell(DATABASE[0], session="a").memory
    tell(DATABASE[1], session="b")
    gone = Memory.objects.get(status=Status.MERGED)
    split(namespace, gone.id, by="maya")
    item = ReviewItem.objects.get()
    assert (item.first_id, item.second_id, item.state, item.decided_by) == (kept.id, gone.id, "distinct", "maya")
    assert item.cosine > 0.92
    for number, (content, memory) in enumerate(zip(DATABASE, (kept, gone), strict=True)):
        outcome = tell(content, session=f"later {number}")
        assert (outcome.reason, outcome.memory.id) == ("said before", memory.id)
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2


def test_two_merged_from_one_session_are_split_one_after_the_other(namespace: Namespace, tell: Tell) -> None:
    kept = tell("Maya likes sailing", session="a").memory
    before = numbers(kept.id)
    others = [tell(content, session="b").memory for content in ("Sails, Maya does", "A sailor at heart is Maya")]
    for other in others:
        decide(namespace, review(namespace, kept, other).id, Verdict.DUPLICATE, by="tests")
    assert stored(kept.id).repetitions == 1
    split(namespace, others[0].id, by="tests")
    assert (stored(kept.id).repetitions, stored(kept.id).belief) == (1, 5.5)
    split(namespace, others[1].id, by="tests")
    assert numbers(kept.id) == before


def test_a_split_is_refused_where_it_cannot_be(namespace: Namespace, tell: Tell) -> None:
    kept = tell(DATABASE[0], session="a").memory
    with pytest.raises(RefusedError, match="no merge to undo"):
        split(namespace, kept.id, by="tests")
    tell(DATABASE[1], session="b")
    gone = Memory.objects.get(status=Status.MERGED)
    other = tell("Something else altogether").memory
    decide(namespace, review(namespace, kept, other).id, Verdict.DUPLICATE, by="tests")
    assert stored(other.id).merged_into_id == kept.id
    acts.forget(namespace, kept.id, by="tests")
    with pytest.raises(RefusedError, match="is forgotten"):
        split(namespace, gone.id, by="tests")
    assert stored(gone.id).status == Status.MERGED


def test_a_split_is_refused_while_a_twin_is_active(namespace: Namespace, tell: Tell) -> None:
    kept = tell(DATABASE[0], session="a").memory
    tell(DATABASE[1], session="b")
    gone = Memory.objects.get(status=Status.MERGED)
    correct(namespace, kept.id, {"content": "The invoicing service uses SQLite"}, by="tests")
    twin = tell(DATABASE[1], session="c").memory
    assert twin.id != gone.id
    with pytest.raises(RefusedError, match=f"Memory {twin.id} says the same words"):
        split(namespace, gone.id, by="tests")


def test_a_survivor_that_was_absorbed_itself_must_be_split_first(namespace: Namespace, tell: Tell) -> None:
    first = tell("Maya likes sailing", session="a").memory
    second = tell(DATABASE[0], session="b").memory
    tell(DATABASE[1], session="c")
    third = Memory.objects.get(status=Status.MERGED)
    before = numbers(first.id), numbers(second.id)
    decide(namespace, review(namespace, first, second).id, Verdict.DUPLICATE, by="tests")
    with pytest.raises(RefusedError, match=f"was merged into {first.id}"):
        split(namespace, third.id, by="tests")
    split(namespace, second.id, by="tests")
    assert (numbers(first.id), numbers(second.id)) == before
    split(namespace, third.id, by="tests")
    assert stored(second.id).repetitions == 0


CONTENTS = "Maya likes sailing", "Sails, Maya does, and gladly", "A sailor at heart is our Maya"
ACTS: dict[str, Callable[[Namespace, UUID, int], object]] = {
    "confirm": lambda namespace, kept, _: acts.confirm(namespace, kept, by="tests"),
    "useful": lambda namespace, kept, _: acts.judge(namespace, kept, useful=True, by="tests"),
    "observe": lambda namespace, _, number: teller(namespace)(CONTENTS[0], "strong_inference", session=f"s{number}"),
    "insist": lambda namespace, _, __: teller(namespace)(CONTENTS[0], "direct", session="a"),
    "contradict": lambda namespace, kept, number: acts.contradict(
        namespace, kept, teller(namespace)(f"Rock {number * 7919} is heavy").memory.id, reason="", by="tests"
    ),
    "return": lambda _, kept, __: Memory.objects.filter(id=kept).update(access_count=F("access_count") + 2),
}
MEMORIES = st.fixed_dictionaries(
    {
        "sessions": st.lists(st.sampled_from(["a", "x", "y"]), min_size=1, max_size=3, unique=True),
        "level": st.sampled_from(["direct", "speculation"]),
        "model": st.sampled_from(["haiku", "opus", ""]),
        "confirmed": st.booleans(),
        "accesses": st.integers(0, 3),
    }
)


# Each example is two worlds of real rows: too slow to be shrunk.
@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    before=st.lists(st.sampled_from(sorted(ACTS)), max_size=4),
    between=st.lists(st.sampled_from([*sorted(ACTS), "merge another"]), max_size=5),
    one=MEMORIES,
    another=MEMORIES,
)
def test_a_merge_that_is_split_leaves_what_there_would_be_without_it(
    before: list[str], between: list[str], one: dict[str, Any], another: dict[str, Any]
) -> None:
    def world(merging: bool) -> list[dict[str, Any]]:
        namespace = Namespace.objects.create(
            slug=f"n{uuid4().hex}", title="A world", clock=NOW, embedder="wordllama-256"
        )
        kept = teller(namespace)(CONTENTS[0], "weak_inference", session="a").memory
        gone, third = (
            remembered(namespace, text, told) for text, told in zip(CONTENTS[1:], (one, another), strict=True)
        )

        def act(name: str, number: int) -> None:
            if name != "merge another":
                ACTS[name](namespace, kept.id, number)
            elif not ReviewItem.objects.within(namespace).filter(second_id=third.id).exists():
                decide(namespace, review(namespace, kept, third).id, Verdict.DUPLICATE, by="tests")

        for number, name in enumerate(before):
            act(name, number)
        if merging:
            decide(namespace, review(namespace, kept, gone).id, Verdict.DUPLICATE, by="tests")
        for number, name in enumerate(between, len(before)):
            act(name, number)
        if merging:
            split(namespace, gone.id, by="tests")
        return [numbers(memory.id) for memory in (kept, gone, third)]

    for with_merge, without in zip(world(True), world(False), strict=True):
        assert with_merge == without


def remembered(namespace: Namespace, content: str, told: dict[str, Any]) -> Memory:
    """A memory that was said in some sessions, perhaps confirmed and accessed."""
    for session in told["sessions"]:
        memory = teller(namespace)(content, told["level"], session=session, model=told["model"]).memory
    if told["confirmed"]:
        acts.confirm(namespace, memory.id, by="tests")
    Memory.objects.filter(id=memory.id).update(access_count=told["accesses"])
    return memory


# Editing


def test_an_edit_changes_what_is_not_content_and_history_tells_it(namespace: Namespace, tell: Tell) -> None:
    memory = tell("Plays the cello", tags=("music", "old")).memory
    until = NOW + timedelta(days=3)
    changes = {"importance": 0.9, "valid_until": until, "tags": ["music", "new"], "metadata": {"a": 1}, "user": "maya"}
    edit(namespace, memory.id, changes, by="maya")
    edited = stored(memory.id)
    assert (edited.importance, edited.valid_until, edited.metadata, edited.user) == (0.9, until, {"a": 1}, "maya")
    assert edited.tag_names == ["music", "new"]
    event = ScoreEvent.objects.get(cause="edited")
    assert event.before == {"importance": 0.5, "valid_until": None}
    assert event.after == {"importance": 0.9, "valid_until": until.isoformat()}
    edit(namespace, memory.id, {"tags": []}, by="maya")
    assert ScoreEvent.objects.filter(cause="edited").count() == 1


# Edges between memories


def test_an_order_of_memories_has_no_circle(namespace: Namespace, tell: Tell) -> None:
    a, b, c = (tell(content).memory.id for content in ("Plays the cello", "Runs on Sundays", "Reads at night"))
    link(namespace, a, b, EdgeKind.EXTENDS, weight=1.0, by="tests")
    link(namespace, b, c, EdgeKind.EXTENDS, weight=1.0, by="tests")
    with pytest.raises(RefusedError, match=f"circle of extends: {c} → {a} → {b} → {c}"):
        link(namespace, c, a, EdgeKind.EXTENDS, weight=1.0, by="tests")
    link(namespace, c, a, EdgeKind.SUMMARY_OF, weight=1.0, by="tests")
    link(namespace, c, a, EdgeKind.SIMILAR, weight=1.0, by="tests")
    link(namespace, a, c, EdgeKind.SIMILAR, weight=1.0, by="tests")
    with pytest.raises(RefusedError, match="already"):
        link(namespace, a, b, EdgeKind.EXTENDS, weight=1.0, by="tests")
    assert MemoryEdge.objects.count() == 5


# Where a memory stands


@pytest.mark.parametrize(
    "act",
    [
        lambda namespace, id: acts.confirm(namespace, id, by="tests"),
        lambda namespace, id: acts.judge(namespace, id, useful=True, by="tests"),
        lambda namespace, id: acts.contradict(namespace, id, tell_another(namespace), reason="", by="tests"),
        lambda namespace, id: acts.contradict(namespace, tell_another(namespace), id, reason="", by="tests"),
        lambda namespace, id: correct(namespace, id, {"content": "Something else"}, by="tests"),
    ],
    ids=["confirm", "feedback", "contradict", "contradict by", "correct"],
)
def test_what_is_said_of_a_memory_that_is_not_active_is_refused_and_names_the_one_that_stands_for_it(
    namespace: Namespace, tell: Tell, act: Callable[[Namespace, UUID], object]
) -> None:
    kept = tell(DATABASE[0], session="a").memory
    tell(DATABASE[1], session="b")
    merged = Memory.objects.get(status=Status.MERGED)
    wrong = tell("Maya keeps a kestrel in the shed").memory
    right = correct(namespace, wrong.id, {"content": "Maya keeps a falcon"}, by="tests")[0].memory
    away = tell("Reads at night").memory
    Memory.objects.filter(id=away.id).update(status=Status.ARCHIVED, reason="belief 1.5")
    last = ScoreEvent.objects.latest("id").id
    with pytest.raises(RefusedError, match=f"was merged into {kept.id}"):
        act(namespace, merged.id)
    with pytest.raises(RefusedError, match=f"was superseded by {right.id}"):
        act(namespace, wrong.id)
    with pytest.raises(RefusedError, match=r"is archived \(belief 1.5\)"):
        act(namespace, away.id)
    with pytest.raises(AbsentError):
        act(namespace, uuid4())
    assert not ScoreEvent.objects.filter(id__gt=last).exclude(cause="stored").exists()


def tell_another(namespace: Namespace) -> UUID:
    return teller(namespace)("The moon is full").memory.id
