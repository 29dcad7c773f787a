"""Later evidence on stored memories, and splits that undo merges completely."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import F
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import (
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryVector,
    Mention,
    Namespace,
    ReviewItem,
    ScoreEvent,
    TokenStates,
)
from memories.models.choices import EdgeKind, Status, Verdict
from memories.writing import feedback
from memories.writing.correct import correct_memory
from memories.writing.decide import Outcome
from memories.writing.edit import edit_memory
from memories.writing.link import delete_edge, link_memories
from memories.writing.merge import split_memory
from memories.writing.remember import remember
from memories.writing.review import decide_review
from memories.writing.write_errors import NotFoundError, RefusedError
from tests.support.examples import examples
from tests.support.explanations import evaluate
from tests.support.rows import review_item, store_entity
from tests.support.search_index import indexed_memories

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DATABASE = (
    "The invoicing service uses PostgreSQL as its database",
    "The invoicing service uses PostgreSQL as the database",
)
COFFEE = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"  # cosine .901: escalated
Store = Callable[..., Outcome]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def store(namespace: Namespace) -> Store:
    return make_store(namespace)


def make_store(namespace: Namespace) -> Store:
    def store_one(content: str, level: str = "direct", **more: Any) -> Outcome:
        new = NewMemory(
            **{"content": content, "type": "Fact", "utterances": (Utterance(level),), "model": "haiku", **more}
        )
        (outcome,) = remember(namespace, [new], by="tests")
        return outcome

    return store_one


def reload_memory(id: UUID) -> Memory:
    return Memory.objects.get(id=id)


# Correction


def test_a_correction_supersedes_without_a_contradiction(namespace: Namespace, store: Store) -> None:
    old = store("The ledger runs on PostgreSQL 14", session="a", tags=("db",), user="maya").memory
    outcome, was = correct_memory(namespace, old.id, {"content": "The ledger runs on PostgreSQL 15"}, by="maya")
    new, old = reload_memory(outcome.memory.id), reload_memory(old.id)
    assert (outcome.outcome, old.status, old.superseded_by_id, old.valid_until) == ("stored", "superseded", new.id, NOW)
    assert (new.status, new.valid_from, new.user, new.tag_names) == ("active", NOW, "maya", ["db"])
    assert (old.belief, new.belief) == (5.0, 5.0)
    assert not MemoryEdge.objects.exists()
    assert indexed_memories(namespace) == (1, {new.id})
    assert not MemoryVector.objects.get(memory_id=old.id).active
    event = ScoreEvent.objects.filter(memory_id=old.id).latest("id")
    assert (event.cause, event.other_id, event.by) == ("superseded", new.id, "maya")
    assert (event.before["status"], event.before["valid_until"]) == ("active", None)
    assert event.after["valid_until"] == NOW.isoformat()
    assert was.memory.superseded_by_id == new.id


def test_a_correction_ends_the_old_one_where_the_new_begins_and_never_later_than_it_ended(
    namespace: Namespace, store: Store
) -> None:
    days = [NOW + timedelta(days=day) for day in range(4)]
    ends = store("Maya leads the team", valid_from=days[0], valid_until=days[1]).memory
    correct_memory(namespace, ends.id, {"content": "Elias leads the team", "valid_from": days[2]}, by="tests")
    assert reload_memory(ends.id).valid_until == days[1]
    later = store("The cello is rented", valid_from=days[3]).memory
    outcome, _ = correct_memory(
        namespace, later.id, {"content": "The cello is owned", "valid_from": days[2]}, by="tests"
    )
    assert reload_memory(later.id).valid_until == days[3]
    assert reload_memory(outcome.memory.id).valid_from == days[2]
    goes_on = store("The boat lies in Malmö", valid_until=days[3]).memory
    outcome, _ = correct_memory(
        namespace, goes_on.id, {"content": "The boat lies in Lund", "valid_from": days[2]}, by="tests"
    )
    assert (reload_memory(goes_on.id).valid_until, reload_memory(outcome.memory.id).valid_until) == (days[2], days[3])


def test_every_change_of_belief_and_utility_is_explained(namespace: Namespace, store: Store) -> None:
    one, other = store("Maya plays the cello").memory, store("The boat lies in Lund").memory
    feedback.contradict_memories(namespace, one.id, other.id, reason="she sold it", by="tests")
    feedback.record_feedback(namespace, one.id, useful=True, by="tests")
    against, useful = ScoreEvent.objects.filter(memory_id=one.id).order_by("id")[1:]
    assert evaluate(against.parts) == reload_memory(one.id).belief == 3.5
    assert against.parts["reason"] == "she sold it"
    assert evaluate(useful.parts) == pytest.approx(2 / 3)


def test_belief_that_is_taken_back_is_explained(namespace: Namespace, store: Store) -> None:
    one, other = store("Maya plays the cello").memory, store("The boat lies in Lund").memory
    for session in "abc":
        store("Maya plays the cello", session=session)
    feedback.contradict_memories(namespace, one.id, other.id, reason="she sold it", by="tests")
    delete_edge(namespace, MemoryEdge.objects.get().id, by="tests")
    Memory.objects.filter(id=other.id).update(belief=4.25)  # as if by an older policy
    feedback.contradict_memories(namespace, one.id, other.id, reason="", by="tests")
    delete_edge(namespace, MemoryEdge.objects.get().id, by="tests")
    removed = ScoreEvent.objects.filter(cause="edge removed")
    assert removed.count() == 4
    for event in removed:
        assert evaluate(event.parts) == pytest.approx(event.after["belief"], abs=1e-9)


def test_a_split_explains_the_belief_it_takes_back(namespace: Namespace, store: Store) -> None:
    store(DATABASE[0], source="the runbook")
    store(DATABASE[1], source="the wiki")
    split_memory(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    event = ScoreEvent.objects.get(cause="split", after__has_key="belief")
    assert evaluate(event.parts["belief"]) == event.after["belief"] == 5.0
    assert evaluate(event.parts) == pytest.approx(event.after["confidence"], abs=1e-9)


def test_a_survivor_of_another_type_splits_back(namespace: Namespace, store: Store) -> None:
    survivor = store(DATABASE[0], type="Relation", session="a").memory
    before = numbers(survivor.id)
    store(DATABASE[1], type="Entity", session="b")
    assert reload_memory(survivor.id).type_prior == 0.90
    split_memory(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    assert numbers(survivor.id) == before


def test_a_correction_to_what_another_memory_says_merges_there(namespace: Namespace, store: Store) -> None:
    right = store("Elias plays the oboe", session="a").memory
    wrong = store("Maya keeps a kestrel in the shed", session="b").memory
    outcome, _ = correct_memory(namespace, wrong.id, {"content": "Elias plays the oboe.", "session": "c"}, by="tests")
    assert (outcome.outcome, outcome.memory.id) == ("merged", right.id)
    assert reload_memory(wrong.id).superseded_by_id == right.id
    assert reload_memory(right.id).repetitions == 1


def test_a_correction_takes_the_old_value_over_only_where_its_text_names_it(namespace: Namespace, store: Store) -> None:
    triple = {"subject": "Maya", "predicate": "lives in", "object": "Berlin"}
    old = store("Maya lives in Berlin", **triple).memory
    outcome, _ = correct_memory(namespace, old.id, {"content": "Maya lives in Munich"}, by="tests")
    new = reload_memory(outcome.memory.id)
    assert (new.subject_surface, new.predicate, new.object) == ("Maya", "lives in", "")
    outcome, _ = correct_memory(
        namespace, new.id, {"content": "Maya lives near Munich", "object": "near Munich"}, by="tests"
    )
    assert reload_memory(outcome.memory.id).object == "near Munich"


def test_a_correction_that_its_source_does_not_support_leaves_the_old_one_as_it_was(
    namespace: Namespace, store: Store
) -> None:
    old = store("Owns two horses").memory
    changes = {"content": "Owns a farm in Skåne", "evidence": "We talked about the quarterly budget only."}
    outcome, _ = correct_memory(namespace, old.id, changes, by="tests")
    assert outcome.outcome == "rejected"
    assert reload_memory(old.id).status == Status.ACTIVE
    assert indexed_memories(namespace) == (1, {old.id})
    assert MemoryVector.objects.get(memory_id=old.id).active


def test_a_correction_to_the_same_words_is_refused(namespace: Namespace, store: Store) -> None:
    old = store("Plays the cello").memory
    with pytest.raises(RefusedError, match="nothing to correct"):
        correct_memory(namespace, old.id, {"content": "plays the  cello."}, by="tests")
    outcome, _ = correct_memory(namespace, old.id, {"content": "Plays the cello", "type": "Preference"}, by="tests")
    assert (outcome.outcome, reload_memory(outcome.memory.id).type) == ("stored", "Preference")


def test_a_failed_correction_leaves_nothing_behind(
    namespace: Namespace, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = store("Plays the cello").memory

    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("memories.writing.correct.supersede", fail)
    with pytest.raises(RuntimeError):
        correct_memory(namespace, old.id, {"content": "Plays the oboe"}, by="tests")
    assert Memory.objects.get().status == Status.ACTIVE
    assert indexed_memories(namespace) == (1, {old.id})


# Contradiction


def test_a_contradiction_costs_both_once(namespace: Namespace, store: Store) -> None:
    one, other = store("The shop opens at dawn").memory, store("Nobody is ever in the shop").memory
    assert feedback.contradict_memories(namespace, one.id, other.id, reason="I was there", by="maya")[2] is True
    assert feedback.contradict_memories(namespace, other.id, one.id, reason="", by="maya")[2] is False
    edge = MemoryEdge.objects.get()
    assert (edge.kind, edge.source_id, edge.target_id) == ("contradiction", other.id, one.id)
    assert [(reload_memory(id).belief, reload_memory(id).contradictions) for id in (one.id, other.id)] == [
        (3.5, 1),
        (3.5, 1),
    ]
    event = ScoreEvent.objects.get(memory_id=one.id, cause="contradicted")
    assert (event.other_id, event.parts["reason"], event.parts["value"]) == (other.id, "I was there", 3.5)


def test_belief_comes_back_when_a_contradiction_is_taken_away(namespace: Namespace, store: Store) -> None:
    one, other = store("The shop opens at dawn").memory, store("Nobody is ever in the shop").memory
    feedback.contradict_memories(namespace, one.id, other.id, reason="", by="tests")
    store("The shop opens at dawn", source="the sign")
    delete_edge(namespace, MemoryEdge.objects.get().id, by="tests")
    assert [(reload_memory(id).belief, reload_memory(id).contradictions) for id in (one.id, other.id)] == [
        (5.5, 0),
        (5.0, 0),
    ]
    assert ScoreEvent.objects.filter(memory_id=one.id).latest("id").cause == "edge removed"
    feedback.contradict_memories(namespace, one.id, other.id, reason="", by="tests")
    assert reload_memory(one.id).belief == 4.0


def test_an_edge_that_moved_no_belief_goes_without_a_trace(namespace: Namespace, store: Store) -> None:
    one, other = store("The shop opens at dawn").memory, store("Nobody is ever in the shop").memory
    store("Nobody is ever in the shop", source="a neighbour")
    edge = link_memories(namespace, one.id, other.id, EdgeKind.SUPPORTS, weight=0.5, by="tests")
    assert reload_memory(other.id).corroborations == 1
    delete_edge(namespace, edge.id, by="tests")
    assert (reload_memory(other.id).belief, reload_memory(other.id).corroborations) == (5.5, 1)
    with pytest.raises(NotFoundError):
        delete_edge(namespace, edge.id, by="tests")


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
    """All columns of a memory that evidence changes, and its sources."""
    rows = MemorySource.objects.filter(memory_id=id)
    sources = sorted((row.session.key if row.session else "", row.source, row.level) for row in rows)
    return {name: getattr(reload_memory(id), name) for name in NUMBERS} | {"sources": sources}


def test_two_stored_memories_merge_by_the_formula(namespace: Namespace, store: Store) -> None:
    survivor = store("Maya likes sailing", "speculation", session="a", source="Elias").memory
    store("Maya likes sailing", "speculation", session="b", source="Elias")
    absorbed = store("Sails, Maya does, and gladly", session="c", source="Priya", model="opus").memory
    store("Sails, Maya does, and gladly", session="d", source="Jonas")
    Memory.objects.filter(id__in=[survivor.id, absorbed.id]).update(access_count=3)
    decide_review(namespace, review_item(namespace, survivor, absorbed).id, Verdict.DUPLICATE, by="maya")
    one = reload_memory(survivor.id)
    assert (one.repetitions, one.source_strength, one.extractor_confidence) == (1 + 1 + 1, 0.95, 0.90)
    assert (one.access_count, one.corroborations) == (6, 2)
    other = reload_memory(absorbed.id)
    assert (other.status, other.merged_into_id) == ("merged", survivor.id)
    assert one.confidence >= other.confidence
    assert indexed_memories(namespace) == (1, {survivor.id})
    assert not MemoryVector.objects.get(memory_id=absorbed.id).active
    assert [event.other_id for event in ScoreEvent.objects.filter(cause="merged").order_by("id")] == [
        survivor.id,
        absorbed.id,
    ]


def test_a_session_that_said_both_is_no_independent_observation(namespace: Namespace, store: Store) -> None:
    survivor, absorbed = store("Maya likes sailing", session="a").memory, store("Sails, Maya does", session="a").memory
    decide_review(namespace, review_item(namespace, survivor, absorbed).id, Verdict.DUPLICATE, by="maya")
    assert (reload_memory(survivor.id).repetitions, reload_memory(survivor.id).belief) == (0, 5.0)


def test_a_survivor_keeps_what_its_own_session_said_more_directly_in_other_words(
    namespace: Namespace, store: Store
) -> None:
    survivor = store("Maya likes sailing", "speculation", session="a").memory
    absorbed = store("Sails, Maya does", session="a").memory
    before = numbers(survivor.id)
    decide_review(namespace, review_item(namespace, survivor, absorbed).id, Verdict.DUPLICATE, by="maya")
    assert reload_memory(survivor.id).confidence == absorbed.confidence
    feedback.record_feedback(namespace, survivor.id, useful=False, by="maya")
    assert reload_memory(survivor.id).confidence == absorbed.confidence
    split_memory(namespace, absorbed.id, by="maya")
    assert numbers(survivor.id) == before | {"not_useful": 1}


def test_a_memory_that_backed_another_does_not_count_again_when_they_merge(namespace: Namespace, store: Store) -> None:
    store_entity(namespace, "Maya", "person")
    survivor, absorbed = store(COFFEE[0], source="Elias").memory, store(COFFEE[1], source="Priya").memory
    before = numbers(survivor.id)
    assert (before["belief"], before["corroborations"]) == (5.5, 1)
    decide_review(namespace, ReviewItem.objects.get().id, Verdict.DUPLICATE, by="maya")
    assert (reload_memory(survivor.id).belief, reload_memory(survivor.id).repetitions) == (5.5, 1)
    split_memory(namespace, absorbed.id, by="maya")
    assert numbers(survivor.id) == before


def test_a_merge_on_store_splits_back_to_what_was_before(namespace: Namespace, store: Store) -> None:
    survivor = store(DATABASE[0], "weak_inference", session="a").memory
    before = numbers(survivor.id)
    assert store(DATABASE[1], session="b", model="opus").outcome == "merged"
    absorbed = Memory.objects.get(status=Status.MERGED)
    assert not MemoryVector.objects.filter(memory_id=absorbed.id).exists()
    assert numbers(survivor.id)["repetitions"] == 1
    split_state, survivor_state = split_memory(namespace, absorbed.id, by="maya")
    assert (split_state.memory.id, survivor_state.memory.id) == (absorbed.id, survivor.id)
    assert numbers(survivor.id) == before
    again = reload_memory(absorbed.id)
    assert (again.status, again.merged_into_id, again.repetitions, again.source_strength) == ("active", None, 0, 0.95)
    assert MemoryVector.objects.get(memory_id=absorbed.id).active
    assert TokenStates.objects.filter(memory_id=absorbed.id).exists()
    assert indexed_memories(namespace) == (2, {survivor.id, absorbed.id})
    assert [event.cause for event in ScoreEvent.objects.filter(memory_id=survivor.id).order_by("id")][-1] == "split"


def known_by(id: UUID) -> dict[str, Any]:
    """Tags, entities and caller-supplied columns of a memory."""
    memory = reload_memory(id)
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
def test_a_survivor_gets_what_a_paraphrase_knows_and_gives_it_back(
    namespace: Namespace, store: Store, way: str
) -> None:
    words = DATABASE if way == "stored" else ("Maya likes sailing", "Sails, Maya does, and gladly")
    survivor = store(words[0], session="a", **KNOWN[0]).memory
    before = known_by(survivor.id)
    outcome = store(words[1], session="b", **KNOWN[1])
    if way == "reviewed":
        decide_review(namespace, review_item(namespace, survivor, outcome.memory).id, Verdict.DUPLICATE, by="maya")
    else:
        assert outcome.memory.tag_names == ["db", "sql"]
    assert known_by(survivor.id) == {
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
    split_memory(namespace, Memory.objects.get(status=Status.MERGED).id, by="maya")
    assert known_by(survivor.id) == before


def test_what_two_paraphrases_brought_goes_with_the_last_of_them(namespace: Namespace, store: Store) -> None:
    survivor = store(CONTENTS[0], session="a", **KNOWN[0]).memory
    before = known_by(survivor.id)
    others = [store(content, session="b", **KNOWN[1]).memory for content in CONTENTS[1:]]
    for other in others:
        decide_review(namespace, review_item(namespace, survivor, other).id, Verdict.DUPLICATE, by="tests")
    after = known_by(survivor.id)
    edit_memory(namespace, survivor.id, {"quality": 0.9}, by="tests")
    split_memory(namespace, others[0].id, by="tests")
    assert known_by(survivor.id) == after | {"quality": 0.9}
    split_memory(namespace, others[1].id, by="tests")
    assert known_by(survivor.id) == before | {"quality": 0.9}


def test_what_was_split_stays_apart_when_both_are_stated_again(namespace: Namespace, store: Store) -> None:
    survivor = store(DATABASE[0], session="a").memory
    store(DATABASE[1], session="b")
    absorbed = Memory.objects.get(status=Status.MERGED)
    split_memory(namespace, absorbed.id, by="maya")
    item = ReviewItem.objects.get()
    assert (item.first_id, item.second_id, item.state, item.decided_by) == (
        survivor.id,
        absorbed.id,
        "distinct",
        "maya",
    )
    assert item.cosine > 0.92
    for number, (content, memory) in enumerate(zip(DATABASE, (survivor, absorbed), strict=True)):
        outcome = store(content, session=f"later {number}")
        assert (outcome.reason, outcome.memory.id) == ("exact duplicate", memory.id)
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2


def test_two_merged_from_one_session_are_split_one_after_the_other(namespace: Namespace, store: Store) -> None:
    survivor = store("Maya likes sailing", session="a", source="Elias").memory
    before = numbers(survivor.id)
    contents = "Sails, Maya does", "A sailor at heart is Maya"
    others = [store(content, session="b", source="Priya").memory for content in contents]
    for other in others:
        decide_review(namespace, review_item(namespace, survivor, other).id, Verdict.DUPLICATE, by="tests")
    assert reload_memory(survivor.id).repetitions == 1
    split_memory(namespace, others[0].id, by="tests")
    assert (reload_memory(survivor.id).repetitions, reload_memory(survivor.id).belief) == (1, 5.5)
    split_memory(namespace, others[1].id, by="tests")
    assert numbers(survivor.id) == before


def test_a_split_is_refused_where_it_cannot_be(namespace: Namespace, store: Store) -> None:
    survivor = store(DATABASE[0], session="a").memory
    with pytest.raises(RefusedError, match="no merge to undo"):
        split_memory(namespace, survivor.id, by="tests")
    store(DATABASE[1], session="b")
    absorbed = Memory.objects.get(status=Status.MERGED)
    other = store("Something else altogether").memory
    decide_review(namespace, review_item(namespace, survivor, other).id, Verdict.DUPLICATE, by="tests")
    assert reload_memory(other.id).merged_into_id == survivor.id
    feedback.forget_memory(namespace, survivor.id, by="tests")
    with pytest.raises(RefusedError, match="is forgotten"):
        split_memory(namespace, absorbed.id, by="tests")
    assert reload_memory(absorbed.id).status == Status.MERGED


def test_a_split_is_refused_while_an_exact_duplicate_is_active(namespace: Namespace, store: Store) -> None:
    survivor = store(DATABASE[0], session="a").memory
    store(DATABASE[1], session="b")
    absorbed = Memory.objects.get(status=Status.MERGED)
    correct_memory(namespace, survivor.id, {"content": "The invoicing service uses SQLite"}, by="tests")
    duplicate = store(DATABASE[1], session="c").memory
    assert duplicate.id != absorbed.id
    with pytest.raises(RefusedError, match=f"Memory {duplicate.id} has the same text"):
        split_memory(namespace, absorbed.id, by="tests")


def test_a_survivor_that_was_absorbed_itself_must_be_split_first(namespace: Namespace, store: Store) -> None:
    first = store("Maya likes sailing", session="a").memory
    second = store(DATABASE[0], session="b").memory
    store(DATABASE[1], session="c")
    third = Memory.objects.get(status=Status.MERGED)
    before = numbers(first.id), numbers(second.id)
    decide_review(namespace, review_item(namespace, first, second).id, Verdict.DUPLICATE, by="tests")
    with pytest.raises(RefusedError, match=f"was merged into {first.id}"):
        split_memory(namespace, third.id, by="tests")
    split_memory(namespace, second.id, by="tests")
    assert (numbers(first.id), numbers(second.id)) == before
    split_memory(namespace, third.id, by="tests")
    assert reload_memory(second.id).repetitions == 0


SOURCES = "", "Elias", "a postcard"
CONTENTS = "Maya likes sailing", "Sails, Maya does, and gladly", "A sailor at heart is our Maya"
ACTS: dict[str, Callable[[Namespace, UUID, int], object]] = {
    "confirm": lambda namespace, survivor, _: feedback.confirm_memory(namespace, survivor, by="tests"),
    "useful": lambda namespace, survivor, _: feedback.record_feedback(namespace, survivor, useful=True, by="tests"),
    "observe": lambda namespace, _, number: make_store(namespace)(
        CONTENTS[0], "strong_inference", session=f"s{number}", source=SOURCES[number % len(SOURCES)]
    ),
    "insist": lambda namespace, _, __: make_store(namespace)(CONTENTS[0], "direct", session="a"),
    "contradict": lambda namespace, survivor, number: feedback.contradict_memories(
        namespace, survivor, make_store(namespace)(f"Rock {number * 7919} is heavy").memory.id, reason="", by="tests"
    ),
    "return": lambda _, survivor, __: Memory.objects.filter(id=survivor).update(access_count=F("access_count") + 2),
}
MEMORIES = st.fixed_dictionaries(
    {
        "said": st.lists(
            st.tuples(st.sampled_from(["a", "x", "y"]), st.sampled_from(SOURCES)), min_size=1, max_size=4, unique=True
        ),
        "level": st.sampled_from(["direct", "speculation"]),
        "model": st.sampled_from(["haiku", "opus", ""]),
        "confirmed": st.booleans(),
        "accesses": st.integers(0, 3),
    }
)


# Each example builds two worlds of real rows: too slow to shrink.
@settings(max_examples=examples(4, fuzz=8), derandomize=True, phases=[Phase.generate])
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
        survivor = make_store(namespace)(CONTENTS[0], "weak_inference", session="a").memory
        absorbed, third = (
            store_spec(namespace, text, spec) for text, spec in zip(CONTENTS[1:], (one, another), strict=True)
        )

        def act(name: str, number: int) -> None:
            if name != "merge another":
                ACTS[name](namespace, survivor.id, number)
            elif not ReviewItem.objects.within(namespace).filter(second_id=third.id).exists():
                decide_review(namespace, review_item(namespace, survivor, third).id, Verdict.DUPLICATE, by="tests")

        for number, name in enumerate(before):
            act(name, number)
        if merging:
            decide_review(namespace, review_item(namespace, survivor, absorbed).id, Verdict.DUPLICATE, by="tests")
        for number, name in enumerate(between, len(before)):
            act(name, number)
        if merging:
            split_memory(namespace, absorbed.id, by="tests")
        return [numbers(memory.id) for memory in (survivor, absorbed, third)]

    for with_merge, without in zip(world(True), world(False), strict=True):
        assert with_merge == without


def store_spec(namespace: Namespace, content: str, spec: dict[str, Any]) -> Memory:
    """A memory stated in some sessions, maybe confirmed and accessed."""
    for session, source in spec["said"]:
        memory = make_store(namespace)(
            content, spec["level"], session=session, source=source, model=spec["model"]
        ).memory
    if spec["confirmed"]:
        feedback.confirm_memory(namespace, memory.id, by="tests")
    Memory.objects.filter(id=memory.id).update(access_count=spec["accesses"])
    return memory


# Editing


def test_an_edit_changes_what_is_not_content_and_is_recorded(namespace: Namespace, store: Store) -> None:
    memory = store("Plays the cello", tags=("music", "old")).memory
    until = NOW + timedelta(days=3)
    changes = {"importance": 0.9, "valid_until": until, "tags": ["music", "new"], "metadata": {"a": 1}, "user": "maya"}
    edit_memory(namespace, memory.id, changes, by="maya")
    edited = reload_memory(memory.id)
    assert (edited.importance, edited.valid_until, edited.metadata, edited.user) == (0.9, until, {"a": 1}, "maya")
    assert edited.tag_names == ["music", "new"]
    event = ScoreEvent.objects.get(cause="edited")
    assert event.before == {"importance": 0.5, "valid_until": None}
    assert event.after == {"importance": 0.9, "valid_until": until.isoformat()}
    edit_memory(namespace, memory.id, {"tags": []}, by="maya")
    assert ScoreEvent.objects.filter(cause="edited").count() == 1


# Edges between memories


def test_an_order_of_memories_has_no_cycle(namespace: Namespace, store: Store) -> None:
    a, b, c = (store(content).memory.id for content in ("Plays the cello", "Runs on Sundays", "Reads at night"))
    link_memories(namespace, a, b, EdgeKind.EXTENDS, weight=1.0, by="tests")
    link_memories(namespace, b, c, EdgeKind.EXTENDS, weight=1.0, by="tests")
    with pytest.raises(RefusedError, match=f"cycle of extends: {c} → {a} → {b} → {c}"):
        link_memories(namespace, c, a, EdgeKind.EXTENDS, weight=1.0, by="tests")
    link_memories(namespace, c, a, EdgeKind.SUMMARY_OF, weight=1.0, by="tests")
    link_memories(namespace, c, a, EdgeKind.SIMILAR, weight=1.0, by="tests")
    link_memories(namespace, a, c, EdgeKind.SIMILAR, weight=1.0, by="tests")
    with pytest.raises(RefusedError, match="already"):
        link_memories(namespace, a, b, EdgeKind.EXTENDS, weight=1.0, by="tests")
    assert MemoryEdge.objects.count() == 5


# Status checks


@pytest.mark.parametrize(
    "act",
    [
        lambda namespace, id: feedback.confirm_memory(namespace, id, by="tests"),
        lambda namespace, id: feedback.record_feedback(namespace, id, useful=True, by="tests"),
        lambda namespace, id: feedback.contradict_memories(
            namespace, id, store_another(namespace), reason="", by="tests"
        ),
        lambda namespace, id: feedback.contradict_memories(
            namespace, store_another(namespace), id, reason="", by="tests"
        ),
        lambda namespace, id: correct_memory(namespace, id, {"content": "Something else"}, by="tests"),
    ],
    ids=["confirm", "feedback", "contradict", "contradict by", "correct"],
)
def test_an_operation_on_a_memory_that_is_not_active_is_refused_and_names_its_replacement(
    namespace: Namespace, store: Store, act: Callable[[Namespace, UUID], object]
) -> None:
    survivor = store(DATABASE[0], session="a").memory
    store(DATABASE[1], session="b")
    merged = Memory.objects.get(status=Status.MERGED)
    wrong = store("Maya keeps a kestrel in the shed").memory
    right = correct_memory(namespace, wrong.id, {"content": "Maya keeps a falcon"}, by="tests")[0].memory
    away = store("Reads at night").memory
    Memory.objects.filter(id=away.id).update(status=Status.ARCHIVED, reason="belief 1.5")
    last = ScoreEvent.objects.latest("id").id
    with pytest.raises(RefusedError, match=f"was merged into {survivor.id}"):
        act(namespace, merged.id)
    with pytest.raises(RefusedError, match=f"was superseded by {right.id}"):
        act(namespace, wrong.id)
    with pytest.raises(RefusedError, match=r"is archived \(belief 1.5\)"):
        act(namespace, away.id)
    with pytest.raises(NotFoundError):
        act(namespace, uuid4())
    assert not ScoreEvent.objects.filter(id__gt=last).exclude(cause="stored").exists()


def store_another(namespace: Namespace) -> UUID:
    return make_store(namespace)("The moon is full").memory.id
