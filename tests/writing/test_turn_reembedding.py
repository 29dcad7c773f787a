"""Changing the embedder of conversations: every route is re-embedded, chunks that change meanwhile included."""

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.contracts.work import Work, WorkerStoppedError
from memories.maintenance.erase import Erasure
from memories.models import Job, Memory, MemoryVector, Namespace, TokenStates
from memories.models.choices import ChunkLevel, JobKind, Route, Status
from memories.providers.embedder import embedder
from memories.writing import rebuild
from memories.writing.feedback import forget_memory
from memories.writing.lock import lock_memories
from memories.writing.merge import merge_memories
from memories.writing.rebuild import reembed_vectors
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import IngestResult, ingest
from memories.writing.turns.route_texts import load_route_texts
from tests.support.examples import examples
from tests.support.reflection import NOW, add_entity, reflect

pytestmark = pytest.mark.django_db
OLD, NEW = "wordllama-256", "all-MiniLM-L6-v2"
LINES = [
    "I moved to Berlin last week.",
    "I love the cello.",
    "My sister lives in Oslo.",
    "How was your day?",
    "I sold my red boat yesterday.",
    "I hate the noise of drills.",
]
numbers = count()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that end within a memory."""
    monkeypatch.setattr(rebuild, "BATCH_SIZE", 5)


def make_namespace(name: str = OLD) -> Namespace:
    return Namespace.objects.create(slug=f"desk-{next(numbers)}", title="A desk", clock=NOW, embedder=name)


def ingest_turns(
    namespace: Namespace, *said: tuple[str, str], session: str = "monday", extract: bool = True
) -> IngestResult:
    turns = [NewTurn(role=role, text=text, speaker="Maya" if role == "user" else "") for role, text in said]
    return ingest(namespace, Conversation(session=session, turns=turns, user="maya"), by="tests", extract=extract)


def work_of(namespace: Namespace) -> Work:
    job = Job.objects.create(namespace=namespace, kind=JobKind.REEMBED, params={"embedder": NEW}, by="tests")
    return Work(namespace, job)


def reembed(namespace: Namespace) -> dict[str, Any]:
    """Embed and switch; the old vectors stay for comparison."""
    work = work_of(namespace)
    for step in ("embed", "switch"):
        work.begin_step(step)
        rebuild.REEMBED_STEPS[step](work)
    return dict(work.job.result)


def shape(namespace: Namespace, name: str) -> set[tuple[Any, ...]]:
    rows = MemoryVector.objects.within(namespace).filter(embedder=name)
    return set(rows.values_list("memory_id", "route", "level", "active"))


def vectors(namespace: Namespace, name: str = NEW) -> dict[tuple[Any, ...], Any]:
    rows = MemoryVector.objects.within(namespace).filter(embedder=name).select_related("memory")
    return {(row.level, row.memory.content, row.route): np.asarray(row.vector) for row in rows}


def assert_close(found: dict[Any, Any], expected: dict[Any, Any]) -> None:
    assert set(found) == set(expected)
    for key, vector in expected.items():
        assert found[key] == pytest.approx(vector, abs=2e-3), key


turns = st.tuples(st.sampled_from(["user", "assistant", "system"]), st.sampled_from(LINES))
requests = st.tuples(st.lists(turns, min_size=1, max_size=4), st.sampled_from(["monday", "tuesday"]), st.booleans())


@settings(max_examples=examples(4, fuzz=8), derandomize=True, phases=[Phase.generate])
@given(submitted=st.lists(requests, min_size=1, max_size=4), data=st.data())
def test_the_new_embedder_has_what_the_old_one_has_and_as_visible(submitted: list[Any], data: st.DataObject) -> None:
    namespace = make_namespace()
    for said, session, extract in submitted:
        ingest_turns(namespace, *said, session=session, extract=extract)
    remember(namespace, [NewMemory(content=f"Book {n} is about {t}") for n, t in enumerate(("tea", "ships"))], by="x")
    memories = list(Memory.objects.within(namespace).filter(status=Status.ACTIVE).order_by("id"))
    facts = [memory for memory in memories if memory.level == ChunkLevel.FACT]
    Memory.objects.within(namespace).filter(id=facts[-1].id).update(level=ChunkLevel.SUMMARY)
    MemoryVector.objects.within(namespace).filter(memory_id=facts[-1].id).update(level=ChunkLevel.SUMMARY)
    for memory in data.draw(st.lists(st.sampled_from(memories), unique=True, max_size=4)):
        forget_memory(namespace, memory.id, by="tests")
    gone = list(Memory.objects.within(namespace).filter(status=Status.FORGOTTEN))
    for memory in data.draw(st.lists(st.sampled_from(gone), unique=True, max_size=2)) if gone else []:
        Erasure(namespace).erase([memory.id])
    before = shape(namespace, OLD)
    result = reembed(namespace)
    assert result["switch"] == {"embedded": result["switch"]["embedded"], "without_text": 0}
    assert result.get("embed", {}).get("embedded", 0) + result["switch"]["embedded"] == len(before)
    assert shape(namespace, NEW) == shape(namespace, OLD) == before
    states = set(TokenStates.objects.within(namespace).values_list("memory_id", flat=True))
    assert states == {id for id, route, level, _ in before if route == Route.FULL and level != ChunkLevel.SESSION}


def test_a_namespace_that_changed_its_embedder_has_the_vectors_of_one_that_always_had_it() -> None:
    changed, always = make_namespace(OLD), make_namespace(NEW)
    for namespace in (changed, always):
        ingest_turns(namespace, ("user", "Good evening."), ("assistant", "Hello, Maya."), ("user", LINES[0]))
        ingest_turns(namespace, ("assistant", "How is it there?"), ("user", LINES[1]), ("tool", "{}"))
        ingest_turns(namespace, ("assistant", "Since when do you play?"), ("system", "Be kind."))
        ingest_turns(namespace, ("user", LINES[4]), ("assistant", LINES[3]), session="tuesday", extract=False)
    reembed(changed)
    assert {route for _, _, route in vectors(changed)} == set(Route) - {Route.PERSONAL_INFO}
    assert_close(vectors(changed), vectors(always))


def test_summaries_and_absorbed_memories_are_embedded_too() -> None:
    namespace = make_namespace()
    add_entity(namespace, "Maya", "person")
    meals = ("breakfast", "lunch", "supper")
    texts = [f"Maya drinks black coffee with oat milk at {meal} every day" for meal in meals]
    one, other, _ = (
        remember(namespace, [NewMemory(content=text, subject="Maya", session=text)], by="tests")[0].memory
        for text in texts
    )
    reflect(namespace, "consolidation")
    with lock_memories(namespace, one.id, other.id, by="tests") as locked:
        merge_memories(locked, locked.known[one.id], locked.known[other.id], "the same")
    reembed(namespace)
    assert {ChunkLevel.FACT, ChunkLevel.SUMMARY} == {level for _, _, level, _ in shape(namespace, NEW)}
    assert (other.id, Route.FULL, ChunkLevel.FACT, False) in shape(namespace, NEW)
    assert shape(namespace, NEW) == shape(namespace, OLD)


def test_a_facet_is_built_from_the_stored_facts_of_its_turns() -> None:
    namespace = make_namespace()
    (turn,) = ingest_turns(namespace, ("user", "Mm, the usual."), extract=False).turns
    fact = NewMemory(
        content="Maya takes her tea with milk", type="Preference", utterances=(Utterance("direct", turn.id),)
    )
    remember(namespace, [fact], by="tests")
    chunk = ingest_turns(namespace, ("assistant", "Coming!"), extract=False).chunks[0].memory
    key = (chunk.id, Route.PREFERENCES)
    assert load_route_texts(namespace, [key]) == {key: fact.content}
    reembed(namespace)
    found = MemoryVector.objects.get(memory_id=chunk.id, route=Route.PREFERENCES, embedder=NEW)
    assert found.vector == pytest.approx(embedder(NEW).embed([fact.content])[0], abs=1e-3)


def test_a_facet_whose_fact_was_erased_is_read_out_of_its_turn_again() -> None:
    namespace = make_namespace()
    ingest_turns(namespace, ("user", f"{LINES[1]} {LINES[0]}"))
    Erasure(namespace).erase([Memory.objects.within(namespace).get(level=ChunkLevel.FACT, type="Preference").id])
    reembed(namespace)
    assert shape(namespace, NEW) == shape(namespace, OLD)
    found = MemoryVector.objects.get(route=Route.PREFERENCES, embedder=NEW, level=ChunkLevel.TURN)
    assert found.vector == pytest.approx(embedder(NEW).embed(["Maya loves the cello."])[0], abs=1e-3)


def test_a_session_that_outlives_its_exchanges_is_embedded_whole() -> None:
    namespace = make_namespace()
    *exchanges, whole = ingest_turns(namespace, ("user", LINES[1]), ("assistant", "Why?"), ("user", LINES[4])).chunks
    Erasure(namespace).erase([chunk.memory.id for chunk in exchanges])
    reembed(namespace)
    assert shape(namespace, NEW) == shape(namespace, OLD)
    found = MemoryVector.objects.get(memory_id=whole.memory.id, route=Route.USER, embedder=NEW)
    assert found.vector == pytest.approx(embedder(NEW).embed([f"{LINES[1]}\n{LINES[4]}"])[0], abs=1e-3)


def test_chunks_that_change_while_they_are_embedded_or_later_are_embedded_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed, always = make_namespace(OLD), make_namespace(NEW)
    # Turns arriving while a batch is embedded, before and after it is stored.
    coming = [("assistant", "Since when?"), ("user", LINES[0]), ("assistant", "Lovely."), ("user", LINES[4])]
    for namespace in (changed, always):
        ingest_turns(namespace, ("user", LINES[1]))
    late = iter([None, *coming])

    def meanwhile(namespace: Namespace, name: str, old: Any) -> Any:
        made = reembed_vectors(namespace, name, old)
        if said := next(late, None):
            ingest_turns(Namespace.objects.get(id=namespace.id), said)
        return made

    monkeypatch.setattr(rebuild, "reembed_vectors", meanwhile)
    work = work_of(changed)
    work.begin_step("embed")
    rebuild.embed_missing_vectors(work)
    monkeypatch.undo()
    for said in [*late, ("assistant", "Really?")]:
        ingest_turns(changed, said)
    work.begin_step("switch")
    rebuild.switch_embedder(work)
    assert work.step_result["embedded"] > 0
    for said in [*coming, ("assistant", "Really?")]:
        ingest_turns(always, said)
    assert shape(changed, NEW) == shape(changed, OLD)
    assert_close(vectors(changed), vectors(always))


def test_a_session_waits_for_an_exchange_that_changes_while_it_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, always = make_namespace(OLD), make_namespace(NEW)
    first, late = [("user", LINES[1]), ("user", LINES[4])], [("assistant", "Where did it go?")]
    ingest_turns(changed, *first)
    for said in (first, late):
        ingest_turns(always, *said)

    def meanwhile(namespace: Namespace, name: str, old: Any) -> Any:
        made = reembed_vectors(namespace, name, old)
        if late:
            ingest_turns(Namespace.objects.get(id=namespace.id), late.pop())
        return made

    monkeypatch.setattr(rebuild, "BATCH_SIZE", 100)
    monkeypatch.setattr(rebuild, "reembed_vectors", meanwhile)
    result = reembed(changed)
    assert result["switch"]["embedded"] == 0
    assert_close(vectors(changed), vectors(always))


def test_a_turn_that_comes_takes_the_vectors_of_every_embedder_with_it() -> None:
    namespace = make_namespace()
    ingest_turns(namespace, ("user", LINES[1]))
    work = work_of(namespace)
    work.begin_step("embed")
    rebuild.embed_missing_vectors(work)
    assert shape(namespace, NEW) == shape(namespace, OLD)
    ingest_turns(namespace, ("assistant", "Since when?"))
    chunks = Memory.objects.within(namespace).exclude(level=ChunkLevel.FACT)
    stale = MemoryVector.objects.filter(embedder=NEW, memory_id__in=chunks.values("id"))
    assert not stale.exclude(route=Route.PREFERENCES, level=ChunkLevel.TURN).exists()
    assert not TokenStates.objects.filter(embedder=NEW, memory_id__in=chunks.values("id")).exists()


def test_a_job_that_stops_at_any_piece_goes_on_without_embedding_a_route_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    namespace = make_namespace()
    ingest_turns(namespace, *(("user", line) for line in LINES))
    embedded: list[Any] = []
    calls = count()

    def stopping(namespace: Namespace, name: str, old: Any) -> Any:
        if next(calls) % 2:
            raise WorkerStoppedError
        embedded.extend((row.memory_id, row.route) for row in old)
        return reembed_vectors(namespace, name, old)

    monkeypatch.setattr(rebuild, "reembed_vectors", stopping)
    work = work_of(namespace)
    work.begin_step("embed")
    stops = 0
    while True:
        try:
            rebuild.embed_missing_vectors(work)
        except WorkerStoppedError:
            stops += 1
        else:
            break
    assert stops > 3
    whole = MemoryVector.objects.within(namespace).filter(embedder=OLD, level=ChunkLevel.SESSION).count()
    assert len(embedded) == len(set(embedded)) == len(shape(namespace, OLD)) - whole
    assert shape(namespace, NEW) == shape(namespace, OLD)


def test_the_texts_of_many_memories_take_no_more_queries_than_those_of_few(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    namespace = make_namespace()
    for session in ("monday", "tuesday", "friday"):
        ingest_turns(namespace, *(("user", f"{line} ({session})") for line in LINES), session=session)
    wanted = list(MemoryVector.objects.within(namespace).values_list("memory_id", "route"))
    for some in (wanted[:10], wanted):
        with django_assert_max_num_queries(4):
            load_route_texts(namespace, some)
