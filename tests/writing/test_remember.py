"""Outcomes of storing a memory."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import (
    Entity,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    NamespaceStatistics,
    Posting,
    Publication,
    ReviewItem,
    ScoreEvent,
    Session,
    TermStatistic,
    Turn,
    WritePolicy,
    WritePolicyVersion,
)
from memories.models.choices import Status
from memories.writing import prepare
from memories.writing import remember as remembering
from memories.writing.decide import Outcome
from memories.writing.lock import lock_namespace
from memories.writing.remember import remember
from tests.support.explanations import evaluate
from tests.support.rows import add_alias, store_entity

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
Store = Callable[..., Outcome]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def store(namespace: Namespace) -> Store:
    def store_one(content: str, level: str = "direct", **more: Any) -> Outcome:
        new = NewMemory(
            **{"content": content, "type": "Fact", "utterances": (Utterance(level),), "model": "haiku", **more}
        )
        (outcome,) = remember(namespace, [new], by="tests")
        return outcome

    return store_one


def reload_memory(outcome: Outcome) -> Memory:
    return Memory.objects.get(namespace=outcome.memory.namespace, id=outcome.memory.id)


def test_a_new_memory_is_stored_with_its_explained_confidence(store: Store) -> None:
    outcome = store("Keeps the boat keys in the blue jar", type="Preference", tags=("home", "boat", "home"))
    memory = reload_memory(outcome)
    assert (outcome.outcome, memory.status) == ("stored", Status.ACTIVE)
    assert memory.confidence == pytest.approx(0.45 * 0.95 + 0.25 * 0.80 + 0.10 * 0.75)
    assert evaluate(outcome.explanation) == pytest.approx(memory.confidence, abs=1e-9)
    assert sorted(tag.tag for tag in MemoryTag.objects.all()) == ["boat", "home"]
    event = ScoreEvent.objects.get()
    assert (event.cause, event.by, event.before) == ("stored", "tests", {})
    assert evaluate(event.parts) == pytest.approx(memory.confidence, abs=1e-9)
    assert MemoryVector.objects.get().memory_id == memory.id


def test_a_type_nobody_knows_is_stored_as_an_uncertain_fact(store: Store) -> None:
    memory = reload_memory(store("Hums while parking", type="Habit"))
    assert (memory.type, memory.type_uncertain, memory.type_prior) == ("Fact", True, 0.75)


def test_several_turns_count_as_the_strongest(store: Store) -> None:
    memory = reload_memory(
        store("Plays the cello", utterances=(Utterance("weak_inference"), Utterance("confirmation")))
    )
    assert memory.source_strength == 0.80


def test_token_probabilities_are_the_extractors_confidence(store: Store) -> None:
    assert reload_memory(store("Plays the cello", logprobs=(-0.1, -0.3))).extractor_confidence == pytest.approx(
        math.exp(-0.2)
    )


def test_the_same_words_from_another_session_are_one_memory_observed_twice(store: Store) -> None:
    first = store("Plays the cello", session="monday", user="maya")
    again = store("plays the  cello.", session="tuesday", user="maya")
    assert (again.outcome, again.reason) == ("merged", "exact duplicate")
    assert again.memory.id == first.memory.id
    memory = reload_memory(first)
    assert (memory.repetitions, memory.belief) == (1, 5.0)
    assert memory.confidence > first.memory.confidence - 1e-9
    assert Memory.objects.count() == 1
    assert MemorySource.objects.count() == 2
    assert [event.cause for event in ScoreEvent.objects.order_by("id")] == ["stored", "observed"]


def test_the_same_words_in_the_same_session_count_once(store: Store) -> None:
    store("Plays the cello", session="monday")
    again = store("Plays the cello", session="monday")
    assert again.reason == "exact duplicate from the same session"
    assert reload_memory(again).repetitions == 0


def test_the_same_words_said_again_bring_what_they_know_and_take_nothing_away(
    namespace: Namespace, store: Store
) -> None:
    first = store("Plays the cello", session="a", tags=("music",), metadata={"a": 1}, importance=0.2, quality=0.7)
    later = NOW + timedelta(days=9)
    more = {"event_at": NOW, "event_until": later, "valid_until": later, "evidence": "Maya plays the cello"}
    again = store(
        "Plays the cello",
        tags=("art",),
        metadata={"a": 2, "b": 3},
        entities=("Maya",),
        quality=0.6,
        session="b",
        **more,
    )
    memory = reload_memory(first)
    assert memory.tag_names == again.memory.tag_names == ["art", "music"]
    assert (memory.metadata, memory.importance, memory.quality) == ({"a": 1, "b": 3}, 0.2, 0.7)
    assert {name: getattr(memory, name) for name in more} == more
    assert Mention.objects.get().memory_id == memory.id
    event = ScoreEvent.objects.get(cause="observed")
    assert (event.before["event_at"], event.after["event_at"]) == (None, NOW.isoformat())
    store("Plays the cello", session="b", importance=0.9, event_at=later)
    assert (reload_memory(first).importance, reload_memory(first).event_at) == (0.9, NOW)


def test_what_is_said_again_within_a_batch_brings_what_it_knows(namespace: Namespace) -> None:
    extras: list[dict[str, Any]] = [{"tags": ("music",)}, {"tags": ("art", "music"), "metadata": {"b": 3}}]
    new_memories = [NewMemory(content="Plays the cello", type="Fact", entities=("Maya",), **more) for more in extras]
    _, again = remember(namespace, new_memories, by="tests")
    assert (again.memory.tag_names, reload_memory(again).tag_names) == (["art", "music"], ["art", "music"])
    assert (reload_memory(again).metadata, Mention.objects.count()) == ({"b": 3}, 1)


def test_a_source_with_two_levels_is_stored_with_the_stronger(store: Store) -> None:
    store("Plays the cello", utterances=(Utterance("direct"), Utterance("speculation")))
    assert (MemorySource.objects.get().level, MemorySource.objects.get().strength) == ("direct", 0.95)


def test_a_session_that_says_it_again_more_directly_raises_it_without_a_repetition(store: Store) -> None:
    first = store("Plays the cello", "speculation", session="monday")
    again = store("Plays the cello", "direct", session="monday", model="opus")
    memory, source = reload_memory(first), MemorySource.objects.get()
    assert (memory.source_strength, memory.extractor_confidence, source.level) == (0.95, 0.90, "direct")
    assert (memory.repetitions, memory.corroborations, memory.belief) == (0, 0, 5.0)
    assert again.memory.confidence == memory.confidence
    store("Plays the cello", "weak_inference", session="monday")
    assert (reload_memory(first).source_strength, MemorySource.objects.get().level) == (0.95, "direct")


def test_a_survivor_is_never_below_a_paraphrase_of_its_own_session(store: Store) -> None:
    first = store("The invoicing service uses PostgreSQL as its database", "speculation", session="a")
    store("The invoicing service uses PostgreSQL as the database", session="a", model="opus")
    absorbed, memory = Memory.objects.get(status=Status.MERGED), reload_memory(first)
    assert (memory.confidence, memory.repetitions, memory.belief) == (absorbed.confidence, 0, 5.0)


def test_a_paraphrase_that_is_nearly_the_same_is_absorbed_and_stays(store: Store) -> None:
    first = store("The invoicing service uses PostgreSQL as its database", session="a")
    again = store("The invoicing service uses PostgreSQL as the database", session="b")
    assert again.outcome == "merged"
    absorbed = Memory.objects.get(status=Status.MERGED)
    assert absorbed.merged_into_id == first.memory.id
    assert reload_memory(first).repetitions == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The ledger runs on PostgreSQL 14", "The ledger runs on PostgreSQL 15"),
        ("Maya prefers tea in the morning", "Maya does not prefer tea in the morning"),
        ("The dentist is on 3 March at nine", "The dentist is on 5 March at nine"),
        ("Alice reports to Bob", "Bob reports to Alice"),
    ],
)
def test_a_contradiction_in_disguise_is_never_merged(store: Store, one: str, other: str) -> None:
    first, second = store(one, session="a"), store(other, session="b")
    assert second.outcome == "stored"
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2
    edge = MemoryEdge.objects.get()
    assert (edge.kind, edge.source_id, edge.target_id) == ("contradiction", second.memory.id, first.memory.id)
    assert (reload_memory(first).belief, reload_memory(second).belief) == (3.5, 3.5)


def publish(namespace: Namespace, **params: float) -> None:
    """Publish other write parameters."""
    policy = WritePolicy.objects.create(namespace=namespace, name="tests")
    version = WritePolicyVersion.objects.create(namespace=namespace, policy=policy, number=1, params=params)
    Publication.objects.create(namespace=namespace, policy_version=version)


GRAFANA = "Arrive uses Grafana for its dashboards", "Grafana is what Arrive uses to show metrics on dashboards"  # .743


def test_a_close_memory_of_the_same_entity_corroborates(namespace: Namespace, store: Store) -> None:
    publish(namespace, corroboration_cosine=0.7)
    store_entity(namespace, "Arrive", "organisation")
    first, second = store(GRAFANA[0], source="the runbook"), store(GRAFANA[1], source="Priya")
    assert second.outcome == "stored"
    assert MemoryEdge.objects.get().kind == "supports"
    assert (reload_memory(first).belief, reload_memory(second).belief) == (5.5, 5.0)
    assert ScoreEvent.objects.filter(cause="corroborated").get().other_id == second.memory.id


def test_a_close_memory_does_not_corroborate_without_a_shared_entity_or_from_the_same_source(
    namespace: Namespace, store: Store
) -> None:
    publish(namespace, corroboration_cosine=0.7)
    first = store(GRAFANA[0], source="the runbook")
    store(GRAFANA[1], source="Priya")
    assert reload_memory(first).belief == 5.0
    store_entity(namespace, "Priya", "person")
    reviews = store("Priya reviews every schema change", session="c", user="maya")
    store("All schema changes pass under the eyes of Priya", session="d", user="maya")
    assert reload_memory(reviews).belief == 5.0


def test_a_source_corroborates_a_memory_once_in_whatever_words(namespace: Namespace, store: Store) -> None:
    publish(namespace, corroboration_cosine=0.7, dedup_duplicate=0.98, dedup_escalate=0.92)
    store_entity(namespace, "Arrive", "organisation")
    first = store(GRAFANA[0], session="a", source="the runbook")
    for words in (GRAFANA[1], "The dashboards of Arrive are made with Grafana", "Arrive draws dashboards in Grafana"):
        store(words, session="b", source="Priya")
    assert (reload_memory(first).belief, reload_memory(first).corroborations) == (5.5, 1)
    again = store(GRAFANA[0], session="b", source="Priya")
    assert (again.reason, reload_memory(first).repetitions) == ("exact duplicate", 1)
    assert (reload_memory(first).belief, reload_memory(first).corroborations) == (5.5, 1)
    store("Arrive shows its dashboards by Grafana", session="b", source="the wiki")
    assert (reload_memory(first).belief, reload_memory(first).corroborations) == (6.0, 2)


def turn(namespace: Namespace, session: str, text: str = "I play the cello") -> Turn:
    """Add a turn to a session."""
    session_row, _ = Session.objects.get_or_create(namespace=namespace, key=session, defaults={"started_at": NOW})
    position = Turn.objects.filter(session_id=session_row.id).count() + 1
    return Turn.objects.create(
        namespace=namespace, session=session_row, position=position, role="user", text=text, said_at=NOW
    )


def test_every_turn_that_states_a_memory_is_an_observation(namespace: Namespace, store: Store) -> None:
    first, other, again = (turn(namespace, session) for session in "xyx")
    memory = store("Plays the cello", utterances=(Utterance("direct", first.id),))
    assert reload_memory(memory).session_id == first.session_id
    assert store("Plays the cello", utterances=(Utterance("direct", other.id),)).reason == "exact duplicate"
    assert store("Plays the cello", utterances=(Utterance("direct", again.id),)).reason == "exact duplicate"
    assert (
        store("Plays the cello", utterances=(Utterance("direct", again.id),)).reason
        == "exact duplicate from the same session"
    )
    assert (reload_memory(memory).repetitions, reload_memory(memory).belief) == (2, 5.0)


def test_turns_count_as_much_when_they_come_together(namespace: Namespace, store: Store) -> None:
    turns = [turn(namespace, session) for session in "xyx"]
    memory = reload_memory(store("Plays the cello", utterances=tuple(Utterance("direct", one.id) for one in turns)))
    assert (memory.repetitions, memory.belief, memory.corroborations) == (2, 5.0, 0)
    assert [event.cause for event in ScoreEvent.objects.order_by("id")] == ["stored", "observed"]
    assert MemorySource.objects.count() == 3


def test_a_session_and_its_turns_are_not_counted_twice(namespace: Namespace, store: Store) -> None:
    memory = store("Plays the cello", session="x")
    first, again = (turn(namespace, "x") for _ in range(2))
    assert store("Plays the cello", utterances=(Utterance("direct", first.id),)).reason.endswith("same session")
    assert store("Plays the cello", utterances=(Utterance("direct", again.id),)).reason == "exact duplicate"
    assert store("Plays the cello", session="x").reason.endswith("same session")
    assert reload_memory(memory).repetitions == 1


def test_speculation_repeats_nothing_within_its_session(namespace: Namespace, store: Store) -> None:
    memory = store("Plays the cello", session="x")
    for session in "xxy":
        guess = Utterance("speculation", turn(namespace, session).id)
        store("Plays the cello", utterances=(guess,))
    assert (reload_memory(memory).repetitions, reload_memory(memory).source_strength) == (1, 0.95)
    # The same turn, now as a statement.
    store("Plays the cello", utterances=(Utterance("direct", guess.turn),))
    assert reload_memory(memory).repetitions == 1


def test_a_turn_counts_for_one_source_however_often_it_is_attributed_anew(namespace: Namespace, store: Store) -> None:
    said = Utterance("direct", turn(namespace, "x").id)
    memory = store("Plays the cello", utterances=(said,), source="Elias")
    for source in ("Priya", "a postcard", "Priya"):
        store("Plays the cello", utterances=(said,), source=source)
    assert (reload_memory(memory).repetitions, reload_memory(memory).belief) == (0, 5.0)


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ({"source": "the handbook", "user": "maya", "agent": "planner", "session": "x"}, "the handbook"),
        ({"user": "maya", "agent": "planner", "session": "x"}, "maya"),
        ({"user": "maya"}, "maya"),
        ({"agent": "planner", "session": "x"}, "planner"),
        ({"session": "x"}, ""),
        ({}, ""),
    ],
)
def test_who_said_it_is_the_first_that_is_known(store: Store, said: dict[str, str], source: str) -> None:
    store("Plays the cello", **said)
    assert MemorySource.objects.get().source == source


@pytest.mark.parametrize(
    ("user", "speaker", "role", "source"),
    [
        ("maya", "Maya Lindqvist", "user", "maya"),
        ("maya", "", "assistant", "maya"),
        ("", "Maya", "user", "Maya"),
        ("", "", "user", "planner"),
    ],
)
def test_a_turn_is_said_by_its_sessions_user_else_by_its_speaker(
    namespace: Namespace, store: Store, user: str, speaker: str, role: str, source: str
) -> None:
    said = turn(namespace, "x")
    Session.objects.filter(id=said.session_id).update(user=user, agent="planner")
    Turn.objects.filter(id=said.id).update(role=role, speaker=speaker)
    store("Plays the cello", utterances=(Utterance("direct", said.id),))
    assert MemorySource.objects.get().source == source


def test_an_uncertain_type_becomes_certain_when_the_same_words_give_it(store: Store) -> None:
    memory = store("Hums while parking", type="Habit", session="a")
    store("Hums while parking", type="Fact", session="a")
    assert (reload_memory(memory).type_uncertain, reload_memory(memory).type_prior) == (False, 0.80)
    store("Hums while parking", type="Habit", session="a")
    assert not reload_memory(memory).type_uncertain


def test_a_survivor_is_never_below_a_paraphrase_of_another_type(store: Store) -> None:
    words = "The invoicing service uses PostgreSQL as {} database"
    survivor = store(words.format("its"), type="Relation", session="a")
    store(words.format("the"), type="Entity", session="a")
    gone = Memory.objects.get(status=Status.MERGED)
    assert (reload_memory(survivor).type, reload_memory(survivor).type_prior) == ("Relation", 0.90)
    assert reload_memory(survivor).confidence >= gone.confidence
    again = store(words.format("its"), type="Relation", session="a")
    assert reload_memory(again).confidence >= gone.confidence


def test_the_published_policy_decides_what_confidence_is(namespace: Namespace, store: Store) -> None:
    publish(namespace, weight_source=1.0, weight_repetition=0.0, weight_extractor=0.0, weight_prior=0.0)
    assert reload_memory(store("Plays the cello")).confidence == pytest.approx(0.95)


def test_evidence_that_does_not_bear_a_memory_out_is_a_reason_to_reject_it(store: Store) -> None:
    outcome = store("Owns three horses and a farm in Skåne", evidence="We talked about the quarterly budget only.")
    assert (outcome.outcome, outcome.reason) == ("rejected", "its source does not support it")
    assert reload_memory(outcome).status == Status.REJECTED
    assert not Posting.objects.exists()


def test_a_speculation_that_is_only_partly_grounded_is_stored_as_rejected(store: Store) -> None:
    outcome = store("Maya perhaps sails to Norway in summer", "speculation", evidence="Maya likes Norway and painting.")
    assert outcome.outcome == "rejected"
    assert "floor" in outcome.reason


def test_an_unknown_subject_gets_a_stable_stand_in(store: Store) -> None:
    one = reload_memory(store("Barks at night", subject="The neighbour's dog"))
    other = reload_memory(store("Chews on bicycles", subject=" the neighbour's DOG "))
    assert one.subject_id is None
    assert one.subject_fallback == other.subject_fallback is not None


def test_a_known_subject_is_resolved_by_its_alias(namespace: Namespace, store: Store) -> None:
    maya = store_entity(namespace, "Maya Lindqvist", "person")
    add_alias(maya, "Mayan")
    assert reload_memory(store("Plays the cello", subject="Mayan")).subject_id == maya.id


def test_entities_the_caller_names_are_made_once(store: Store) -> None:
    store("Grind talks to Slottet", entities=("Grind", "Slottet"))
    store("Grind was rewritten in Go", entities=("Grind",))
    assert sorted(entity.name for entity in Entity.objects.all()) == ["Grind", "Slottet"]
    assert Mention.objects.count() >= 3


@pytest.mark.parametrize(("kinds", "chosen"), [(["planet", ""], ""), (["planet", "element"], "planet")])
def test_of_two_entities_of_one_name_the_caller_means_the_one_without_a_kind_or_the_oldest(
    namespace: Namespace, store: Store, kinds: list[str], chosen: str
) -> None:
    for kind in kinds:
        store_entity(namespace, "Mercury", kind)
    store("It is hot there", entities=("Mercury",))
    assert Mention.objects.get().entity.kind == chosen
    assert Entity.objects.count() == 2


def test_what_cannot_be_a_name_is_no_entity(store: Store) -> None:
    store("It is hot there", entities=("…", "ﷺ" * 100))
    assert not Entity.objects.exists()


def test_words_are_counted_as_bm25_needs_them(namespace: Namespace, store: Store) -> None:
    store("Coffee in the morning, coffee at night")
    store("Tea in the morning")
    statistics = NamespaceStatistics.objects.get(namespace=namespace)
    assert (statistics.documents, statistics.total_length) == (2, 6)
    assert TermStatistic.objects.get(term="morn").documents == 2
    assert Posting.objects.get(term="coffe").frequency == 2
    assert sorted(Memory.objects.values_list("length", flat=True)) == [2, 4]


def test_a_batch_is_written_as_if_one_after_the_other(namespace: Namespace) -> None:
    texts = ["Plays the cello", "Runs on Sundays", "plays the cello", "Runs on Sundays."]
    new_memories = [NewMemory(content=text, type="Fact", session=f"s{place}") for place, text in enumerate(texts)]
    outcomes = remember(namespace, new_memories, by="tests")
    assert [outcome.outcome for outcome in outcomes] == ["stored", "stored", "merged", "merged"]
    assert Memory.objects.count() == 2
    assert Session.objects.count() == 4
    assert {memory.repetitions for memory in Memory.objects.all()} == {1}
    assert ScoreEvent.objects.count() == 4


def test_the_number_of_queries_does_not_grow_with_the_batch(
    namespace: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    remember(namespace, [NewMemory(content="Warm up", session="x")], by="tests")
    for size in (1, 40):
        new_memories = [
            NewMemory(content=f"Fact {size} about thing {place * 7919}", session="y") for place in range(size)
        ]
        with django_assert_max_num_queries(30):
            remember(namespace, new_memories, by="tests")


def test_within_a_callers_transaction_everything_is_embedded_before_the_lock_is_taken(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def recording(step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any) -> Any:
            calls.append(step)
            return call(*args)

        return record

    monkeypatch.setattr(remembering, "BATCH_SIZE", 2)
    monkeypatch.setattr(remembering, "lock_namespace", recording("lock", remembering.lock_namespace))
    monkeypatch.setattr(prepare, "embed_texts", recording("embed", prepare.embed_texts))
    with transaction.atomic():
        remember(namespace, [NewMemory(content=f"Parcel {number * 7919} waits") for number in range(5)], by="tests")
    assert calls == ["embed"] * 3 + ["lock"] * 3


def test_a_name_registered_while_a_memory_is_embedded_is_found_in_it(
    store: Store, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store("Warm up")
    embed_texts = prepare.embed_texts

    def embed_while_another_writes(name: str, texts: Sequence[str]) -> Any:
        lock_namespace(namespace)
        store_entity(namespace, "Quillon")
        return embed_texts(name, texts)

    monkeypatch.setattr(prepare, "embed_texts", embed_while_another_writes)
    memory = store("Quillon repairs clocks", subject="Quillon").memory
    assert memory.subject_id == Entity.objects.get().id
    assert [mention.memory_id for mention in Mention.objects.all()] == [memory.id]


def test_one_batch_is_prepared_without_a_thread(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(prepare, "ThreadPoolExecutor")
    assert store("Plays the cello").outcome == "stored"


def test_two_namespaces_do_not_know_of_each_other(store: Store) -> None:
    store("Plays the cello", session="a")
    other = Namespace.objects.create(slug="other", title="Other", clock=NOW)
    (outcome,) = remember(other, [NewMemory(content="Plays the cello", session="b")], by="tests")
    assert outcome.outcome == "stored"


def test_times_and_origin_are_stored(store: Store) -> None:
    later = NOW + timedelta(days=9)
    memory = reload_memory(
        store("The lease ends", valid_until=later, event_at=later, provenance_depth=2, metadata={"a": 1})
    )
    assert (memory.valid_until, memory.event_at, memory.provenance_depth) == (later, later, 2)
    assert (memory.created_at, memory.metadata) == (NOW, {"a": 1})


def test_a_pair_too_close_to_call_is_stored_and_waits_for_a_person(store: Store) -> None:
    first = store("Maya drinks her coffee black", session="a")
    second = store("Maya takes her coffee black, without sugar", session="b")  # cosine .901, and a third of the words
    assert second.outcome == "escalated"
    assert reload_memory(second).status == Status.ACTIVE
    item = ReviewItem.objects.get()
    assert (item.first_id, item.second_id, item.state) == (first.memory.id, second.memory.id, "pending")
    assert item.cosine == pytest.approx(0.901, abs=0.002)


def test_a_pair_in_the_doubtful_band_that_shares_its_words_is_merged_by_the_judge(store: Store) -> None:
    store("Tomas collects stamps", session="a")
    second = store("Tomas actually also collects the stamp", session="b")  # cosine .891
    assert second.outcome == "merged"
    assert "judged the same" in second.reason


def test_a_memory_below_the_minimum_confidence_says_so(store: Store) -> None:
    assert "below the minimum 0.50 of retrieval" in store("Perhaps owns a kestrel", "speculation").reason
    assert store("Owns a boat in Lund").reason == ""
