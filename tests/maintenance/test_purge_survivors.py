"""What an erasure leaves, and how: numbers with a history that still explains them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from memories.api.entity_registry import create_entity
from memories.contracts.new_memory import NewMemory, Utterance
from memories.maintenance.erase import Erasure
from memories.models import (
    Cluster,
    Entity,
    JudgedQuery,
    Judgement,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryVector,
    Mention,
    Namespace,
    NamespaceStatistics,
    Posting,
    ScoreEvent,
    Session,
    TermStatistic,
    Turn,
)
from memories.models.choices import ChunkLevel, Route, Status
from memories.models.evidence import EVIDENCE_COLUMNS
from memories.writing.correct import correct_memory
from memories.writing.decide import Outcome
from memories.writing.link import relate_entities
from memories.writing.remember import remember
from memories.writing.vector_cache import cache_vectors, cached_vectors
from tests.support.rows import row

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
Tell = Callable[..., Outcome]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def store(namespace: Namespace) -> Tell:
    def store_content(content: str, *said: Utterance, **more: Any) -> Outcome:
        (outcome,) = remember(namespace, [NewMemory(content=content, type="Fact", utterances=said, **more)], by="tests")
        return outcome

    return store_content


def fold_memory(memory: Memory) -> dict[str, Any]:
    """What a memory's events, one after the other, lead to; each begins where the one before ended."""
    columns: dict[str, Any] = {}
    for event in ScoreEvent.objects.within(memory.namespace).filter(memory_id=memory.id).order_by("at", "id"):
        assert event.before.items() <= columns.items()
        columns |= event.after
    return {name: columns[name] for name in EVIDENCE_COLUMNS}


def stands(memory: Memory) -> dict[str, Any]:
    stored = Memory.objects.within(memory.namespace).get(id=memory.id)
    return {name: getattr(stored, name) for name in EVIDENCE_COLUMNS}


def test_a_survivor_keeps_its_numbers_and_a_history_that_leads_to_them(namespace: Namespace, store: Tell) -> None:
    kept = store("The ledger runs on PostgreSQL 14", session="a").memory
    gone = store("The ledger runs on PostgreSQL 15", session="b").memory
    before = stands(kept)
    assert (before["belief"], before["contradictions"]) == (3.5, 1)
    ids = set(ScoreEvent.objects.filter(memory_id=kept.id).values_list("id", "at", "cause"))
    Erasure(namespace).erase([gone.id])
    assert stands(kept) == before == fold_memory(kept)
    assert set(ScoreEvent.objects.filter(memory_id=kept.id).values_list("id", "at", "cause")) == ids
    assert not ScoreEvent.objects.filter(other_id__isnull=False).exists()
    assert not MemoryEdge.objects.exists()


def test_words_are_counted_as_if_the_erased_had_never_been(namespace: Namespace, store: Tell) -> None:
    def index_counts() -> tuple[Any, ...]:
        statistics = NamespaceStatistics.objects.get(namespace=namespace)
        terms = sorted(TermStatistic.objects.values_list("term", "documents"))
        return statistics.documents, statistics.total_length, terms, sorted(Posting.objects.values_list("term"))

    store("Tea in the morning")
    before = index_counts()
    Erasure(namespace).erase([store("Coffee in the morning, coffee at night").memory.id])
    assert index_counts() == before


def test_what_the_erased_replaced_is_archived_with_a_reason(namespace: Namespace, store: Tell) -> None:
    old = store("Plays the cello").memory
    outcome, _ = correct_memory(namespace, old.id, {"content": "Plays the oboe"}, by="tests")
    erasure = Erasure(namespace)
    erasure.erase([outcome.memory.id])
    kept = Memory.objects.get()
    assert (kept.id, kept.status, kept.superseded_by_id) == (old.id, Status.ARCHIVED, None)
    assert kept.reason == "what replaced it was erased"
    assert stands(kept) == fold_memory(kept)
    assert (erasure.erased["memories archived"], erasure.erased["events redacted"]) == (1, 1)


def test_a_summary_does_not_outlive_what_it_was_made_of(namespace: Namespace, store: Tell) -> None:
    member, whole, above = (store(text).memory for text in ("Plays the cello", "Much music", "All about arts"))
    for source, target in ((whole, member), (above, whole)):
        MemoryEdge.objects.create(namespace=namespace, source=source, target=target, kind="summary_of")
    Erasure(namespace).erase([member.id])
    assert not Memory.objects.exists()


DATABASE = (
    "The invoicing service uses PostgreSQL as its database",
    "The invoicing service uses PostgreSQL as the database",
)


@pytest.mark.parametrize("words", DATABASE, ids=["in the same words", "in other words"])
def test_what_another_user_said_too_stays_as_theirs(namespace: Namespace, store: Tell, words: str) -> None:
    about: dict[str, Any] = {"subject": "the invoicing service"}
    first = store(DATABASE[0], Utterance("direct"), session="a", user="maya", evidence=DATABASE[0], **about).memory
    assert store(words, Utterance("weak_inference"), session="b", user="bob", **about).outcome == "merged"
    erasure = Erasure(namespace, user="maya")
    erasure.erase_user()
    kept = Memory.objects.get(status=Status.ACTIVE)
    assert (kept.id, kept.user, kept.evidence, kept.source_strength) == (first.id, "bob", "", 0.50)
    assert [source.session.user for source in MemorySource.objects.filter(memory_id=kept.id) if source.session] == [
        "bob"
    ]
    assert kept.session
    assert kept.session.user == Session.objects.get().user == "bob"
    assert erasure.erased["memories handed over"] == 1
    assert stands(kept) == fold_memory(kept)


def test_what_two_users_say_of_themselves_goes_with_each_of_them(namespace: Namespace, store: Tell) -> None:
    _, theirs = (store("Is allergic to nuts", session="s", user=user) for user in ("maya", "bob"))
    assert theirs.outcome == "stored"
    Erasure(namespace, user="maya").erase_user()
    assert Memory.objects.get().id == theirs.memory.id


def test_a_survivor_does_not_rest_on_what_it_absorbed_once_that_is_erased(namespace: Namespace, store: Tell) -> None:
    kept = store("The invoicing service uses PostgreSQL as its database", Utterance("speculation"), session="a").memory
    more: dict[str, Any] = {"tags": ("sql",), "entities": ("Postgres",), "metadata": {"b": 3}, "importance": 0.9}
    store("The invoicing service uses PostgreSQL as the database", Utterance("direct"), session="a", **more)
    assert stands(kept)["source_strength"] == 0.95
    assert Memory.objects.get(id=kept.id).tag_names == ["sql"]
    Erasure(namespace).erase([Memory.objects.get(status=Status.MERGED).id])
    assert stands(kept)["source_strength"] == 0.30
    assert stands(kept) == fold_memory(kept)
    left = Memory.objects.get()
    assert (left.tag_names, left.metadata, left.importance, Mention.objects.count()) == ([], {}, 0.5, 0)


def test_a_memory_that_loses_a_source_is_weighed_by_the_others(namespace: Namespace, store: Tell) -> None:
    mine, theirs = (row(Turn, namespace, session=row(Session, namespace, user=user)) for user in ("bob", "maya"))
    kept = store(
        "Sails on Sundays", Utterance("weak_inference", mine.id), Utterance("direct", theirs.id), user="bob"
    ).memory
    assert kept.source_strength == 0.95
    Erasure(namespace, user="maya").erase_user()
    assert stands(kept)["source_strength"] < 0.95
    assert stands(kept) == fold_memory(kept)
    assert list(Turn.objects.all()) == [mine]
    assert ScoreEvent.objects.get(cause="source erased").by == "purge"


def test_turns_that_something_else_rests_on_stay(namespace: Namespace, store: Tell) -> None:
    session = row(Session, namespace)
    alone, shared = (row(Turn, namespace, session=session, position=place) for place in (1, 2))
    gone = store("Sails on Sundays", Utterance("direct", alone.id), Utterance("direct", shared.id)).memory
    store("Owns a red bicycle", Utterance("direct", shared.id))
    chunks = [
        row(Memory, namespace, level=level, session_id=session.id, turn_id=turn)
        for level, turn in {ChunkLevel.TURN: alone.id, ChunkLevel.SESSION: None}.items()
    ]
    other = row(Memory, namespace, level=ChunkLevel.TURN, session_id=session.id, turn_id=shared.id)
    row(MemoryVector, namespace, memory=other, route=Route.NEXT_USER, active=False)
    full = row(MemoryVector, namespace, memory=other, route=Route.FULL, active=False)
    Memory.objects.filter(level__in=[ChunkLevel.TURN, ChunkLevel.SESSION]).update(status=Status.ARCHIVED)
    Erasure(namespace, with_turns=True).erase([gone.id])
    assert Turn.objects.get().id == shared.id
    assert not Memory.objects.filter(id__in=[chunk.id for chunk in chunks]).exists()
    # What came after a turn was embedded with it; that vector tells of it too.
    assert MemoryVector.objects.filter(memory_id=other.id).get() == full


def test_a_cluster_becomes_the_middle_of_the_rest(namespace: Namespace, store: Tell) -> None:
    gone, *rest = (store(text).memory for text in ("Plays the cello", "Owns a red bicycle", "Drinks green tea"))
    held = row(Cluster, namespace, embedder=namespace.embedder, centroid=[0.1] * 384, size=3, label="cello")
    lonely = row(Cluster, namespace, embedder=namespace.embedder, centroid=[0.1] * 384, size=1)
    Memory.objects.update(cluster_id=held.id)
    last = store("Sleeps long").memory
    Memory.objects.filter(id=last.id).update(cluster_id=lonely.id)
    Erasure(namespace).erase([gone.id, last.id])
    cluster = Cluster.objects.get()
    vectors = [one.vector for one in MemoryVector.objects.filter(memory_id__in=[one.id for one in rest])]
    middle = np.sum(vectors, axis=0)
    assert (cluster.size, cluster.label) == (2, "")
    assert np.allclose(cluster.centroid, middle / np.linalg.norm(middle), atol=1e-5)


def test_a_judged_query_that_has_other_answers_stays(namespace: Namespace, store: Tell) -> None:
    gone, kept = (store(text).memory for text in ("Plays the cello", "Owns a red bicycle"))
    both, only = row(JudgedQuery, namespace), row(JudgedQuery, namespace)
    for query, memory, grade in ((both, gone, 3), (both, kept, 1), (only, gone, 3), (only, kept, 0)):
        row(Judgement, namespace, query=query, memory=memory, grade=grade)
    erasure = Erasure(namespace)
    erasure.erase([gone.id])
    assert list(JudgedQuery.objects.all()) == [both]
    assert erasure.erased["judged queries"] == 1


def test_a_forgotten_users_names_go_where_nothing_else_names_them(namespace: Namespace, store: Tell) -> None:
    store("Doctor Quist treats Maya", entities=("Doctor Quist", "Maya"), user="maya")
    store("Bob works with Maya", entities=("Bob", "Maya"), user="bob")
    Erasure(namespace, user="maya").erase_user()
    assert sorted(entity.name for entity in Entity.objects.all()) == ["Bob", "Maya"]


def test_a_name_goes_with_the_last_memory_that_brought_it_unless_somebody_registered_it(
    namespace: Namespace, store: Tell
) -> None:
    create_entity(namespace, name="Sankt Göran", kind="", aliases=["the clinic"])
    gone = store("Doctor Quist treats Maya at Sankt Göran", entities=("Doctor Quist", "Maya", "Sankt Göran")).memory
    kept = store("Bob works with Maya", entities=("Bob", "Maya")).memory
    erasure = Erasure(namespace)
    erasure.erase([gone.id])
    assert sorted(entity.name for entity in Entity.objects.all()) == ["Bob", "Maya", "Sankt Göran"]
    assert erasure.erased["entities"] == 1
    relate_entities(namespace, Entity.objects.get(name="Bob"), "visits", Entity.objects.get(name="Sankt Göran"), 1.0)
    Erasure(namespace).erase([kept.id])
    assert sorted(entity.name for entity in Entity.objects.all()) == ["Bob", "Sankt Göran"]


def test_a_process_lets_go_of_what_it_held_of_the_erased(namespace: Namespace, store: Tell) -> None:
    create_entity(namespace, name="Maya", kind="", aliases=[])
    gone = store("Doctor Quist treats Maya").memory
    before = NamespaceStatistics.objects.get(namespace=namespace).epoch
    vectors = cached_vectors(namespace, before, namespace.writing, 384)
    cache_vectors(namespace, vectors)  # as a commit does
    Erasure(namespace).erase([gone.id])
    after = NamespaceStatistics.objects.get(namespace=namespace).epoch
    assert (vectors.length, cached_vectors(namespace, before, namespace.writing, 384).length) == (1, 1)
    assert cached_vectors(namespace, after, namespace.writing, 384).length == 0
    assert after > before
