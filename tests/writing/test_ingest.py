"""Ingesting conversations: turns, facts, chunks and their vectors."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import numpy as np
import pytest
from django.db import OperationalError, connection, transaction
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import (
    Memory,
    MemorySource,
    MemoryVector,
    Namespace,
    NamespaceStatistics,
    Posting,
    ScoreEvent,
    Session,
    TokenStates,
    Turn,
)
from memories.models.choices import ChunkLevel, Route, Status
from memories.providers.embedder import embedder
from memories.providers.judge import judge
from memories.writing.correct import correct_memory
from memories.writing.decide import JudgeVerdicts
from memories.writing.feedback import forget_memory
from memories.writing.turns.conversation import Conversation, NewTurn, PositionTakenError
from memories.writing.turns.exchanges import MAX_CHUNK_LENGTH
from memories.writing.turns.ingest import IngestResult, draft_conversation, ingest
from memories.writing.turns.vector_backfill import backfill_vectors

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
Ingest = Callable[..., IngestResult]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


@pytest.fixture
def ingest_turns(namespace: Namespace) -> Ingest:
    def ingest_conversation(
        *turns: NewTurn, session: str = "monday", extract: bool = True, **more: Any
    ) -> IngestResult:
        conversation = Conversation(session=session, turns=turns, user="maya", agent="Recall", **more)
        return ingest(namespace, conversation, by="tests", extract=extract)

    return ingest_conversation


def user(text: str, **more: Any) -> NewTurn:
    return NewTurn(role="user", text=text, speaker="Maya", **more)


def assistant(text: str, **more: Any) -> NewTurn:
    return NewTurn(role="assistant", text=text, **more)


def chunks(level: ChunkLevel = ChunkLevel.TURN) -> list[Memory]:
    return list(Memory.objects.filter(level=level).order_by("turn__position"))


def routes(memory: Memory) -> dict[str, Any]:
    return {row.route: np.asarray(row.vector) for row in MemoryVector.objects.filter(memory_id=memory.id)}


def embed(text: str) -> Any:
    return embedder("all-MiniLM-L6-v2").embed([text])[0]


def test_turns_are_stored_in_order_and_what_they_say_is_remembered(ingest_turns: Ingest) -> None:
    result = ingest_turns(user("Hi there! I moved to Berlin last week."), assistant("Welcome to Berlin!"))
    assert [(turn.position, turn.role, turn.said_at) for turn in Turn.objects.order_by("position")] == [
        (1, "user", NOW),
        (2, "assistant", NOW),
    ]
    ((turn, outcome),) = result.outcomes
    memory = outcome.memory
    assert turn == result.turns[0].id == memory.turn_id
    assert memory.content == "Maya moved to Berlin last week (23 February 2026 to 1 March 2026)."
    assert (memory.predicate, memory.object, memory.type) == ("lives_in", "Berlin", "Event")
    assert memory.event_at == datetime(2026, 2, 23, tzinfo=UTC)
    assert memory.session_id == Session.objects.get().id
    assert MemorySource.objects.get(memory_id=memory.id).turn_id == turn


def test_an_exchange_is_one_chunk_and_the_session_another(ingest_turns: Ingest) -> None:
    ingest_turns(user("I play the cello."), assistant("Since when?"), user("Since school."), assistant("Lovely."))
    first, second = chunks()
    assert first.content == "Maya: I play the cello.\nassistant: Since when?"
    assert second.content == "Maya: Since school.\nassistant: Lovely."
    (whole,) = chunks(ChunkLevel.SESSION)
    assert whole.content == f"{first.content}\n{second.content}"
    assert whole.turn_id is None
    assert {memory.session_id for memory in (first, second, whole)} == {Session.objects.get().id}


def test_two_people_who_are_both_users_have_a_chunk_for_each_turn(ingest_turns: Ingest) -> None:
    ingest_turns(user("I play the cello."), NewTurn(role="user", speaker="Sam", text="I play the oboe."))
    assert [memory.content for memory in chunks()] == ["Maya: I play the cello.", "Sam: I play the oboe."]


def test_instructions_and_tools_are_stored_but_are_no_part_of_a_chunk(ingest_turns: Ingest) -> None:
    ingest_turns(NewTurn(role="system", text="Be kind."), user("I play the cello."), NewTurn(role="tool", text="{}"))
    assert Turn.objects.count() == 3
    assert [memory.content for memory in chunks()] == ["Maya: I play the cello."]


def test_a_conversation_of_instructions_alone_has_no_chunk(ingest_turns: Ingest) -> None:
    assert ingest_turns(NewTurn(role="system", text="Be kind.")).chunks == []
    assert Turn.objects.count() == 1


def test_each_route_of_an_exchange_has_the_vector_of_its_own_text(ingest_turns: Ingest) -> None:
    ingest_turns(
        user("Good evening."), assistant("Hello."), user("I love the cello."), assistant("Why?"), user("Its sound.")
    )
    chunk = chunks()[1]
    expected = {
        Route.FULL: "I love the cello.\nWhy?",
        Route.USER: "I love the cello.",
        Route.ASSISTANT: "Why?",
        Route.NEXT_USER: "Its sound.",
        Route.CONTEXT: "Hello.\nI love the cello.\nWhy?",
        Route.PREFERENCES: "Maya loves the cello.",
    }
    found = routes(chunk)
    assert set(found) == set(expected)
    for route, text in expected.items():
        assert found[route] == pytest.approx(embed(text), abs=1e-4), route


def test_a_facet_without_text_has_no_vector(ingest_turns: Ingest) -> None:
    ingest_turns(user("I moved to Berlin yesterday."))
    assert {Route.EVENTS} == set(routes(chunks()[0])) & {Route.EVENTS, Route.PREFERENCES, Route.PERSONAL_INFO}


def test_what_the_user_says_next_is_filled_in_by_a_later_request(ingest_turns: Ingest) -> None:
    ingest_turns(user("I play the cello."), assistant("Since when?"))
    assert Route.NEXT_USER not in routes(chunks()[0])
    before = routes(chunks()[0])
    ingest_turns(user("Since school."))
    after = routes(chunks()[0])
    assert after.pop(Route.NEXT_USER) == pytest.approx(embed("Since school."), abs=1e-4)
    assert set(after) == set(before)
    assert [memory.content for memory in chunks()][1] == "Maya: Since school."


def test_an_answer_that_comes_later_joins_its_exchange(ingest_turns: Ingest) -> None:
    ingest_turns(user("I love the cello."))
    (before,) = chunks()
    ingest_turns(assistant("Since when?"))
    (after,) = chunks()
    assert (after.id, after.content) == (before.id, "Maya: I love the cello.\nassistant: Since when?")
    found = routes(after)
    assert found[Route.FULL] == pytest.approx(embed("I love the cello.\nSince when?"), abs=1e-4)
    assert set(found) == {Route.FULL, Route.USER, Route.ASSISTANT, Route.CONTEXT, Route.PREFERENCES}
    assert TokenStates.objects.filter(memory_id=after.id).count() == 1
    assert MemorySource.objects.filter(memory_id=after.id).count() == 2


def test_the_session_chunk_stays_one_and_is_updated(ingest_turns: Ingest, namespace: Namespace) -> None:
    ingest_turns(user("I love the cello."))
    (before,) = chunks(ChunkLevel.SESSION)
    ingest_turns(user("I moved to Berlin."))
    (after,) = chunks(ChunkLevel.SESSION)
    assert after.id == before.id
    assert after.content == "Maya: I love the cello.\nMaya: I moved to Berlin."
    middle = embed("I love the cello.") + embed("I moved to Berlin.")
    assert routes(after)[Route.FULL] == pytest.approx(middle / np.linalg.norm(middle), abs=1e-3)
    terms = set(Posting.objects.filter(memory_id=after.id).values_list("term", flat=True))
    assert {"cello", "berlin", "maya"} <= terms


def test_a_session_points_where_those_of_its_exchanges_do_that_can_be_found(
    ingest_turns: Ingest, namespace: Namespace
) -> None:
    ingest_turns(user("I love the cello."), user("I moved to Berlin."))
    forget_memory(namespace, chunks()[0].id, by="tests")
    ingest_turns(user("My sister plays the oboe."))
    middle = embed("I moved to Berlin.") + embed("My sister plays the oboe.")
    found = routes(chunks(ChunkLevel.SESSION)[0])
    assert found[Route.FULL] == pytest.approx(middle / np.linalg.norm(middle), abs=1e-3)


def test_words_and_statistics_stay_in_step_with_changing_chunks(ingest_turns: Ingest, namespace: Namespace) -> None:
    for text in ("I love the cello.", "I moved to Berlin.", "The oboe is what my sister plays."):
        ingest_turns(user(text), assistant("I see."))
    active = Memory.objects.filter(status=Status.ACTIVE)
    statistics = NamespaceStatistics.objects.get(namespace=namespace)
    assert statistics.documents == active.count()
    assert statistics.total_length == sum(active.values_list("length", flat=True))
    assert statistics.total_length == sum(Posting.objects.values_list("frequency", flat=True))


def test_a_chunk_is_trusted_as_what_somebody_says_and_its_history_begins(ingest_turns: Ingest) -> None:
    ingest_turns(user("Good evening."))
    (chunk,) = chunks()
    assert chunk.confidence == pytest.approx(0.45 * 0.95 + 0.25 * 0.65 + 0.10 * 0.75)
    assert (chunk.type, chunk.type_uncertain, chunk.repetitions) == ("Fact", True, 0)
    assert ScoreEvent.objects.get(memory_id=chunk.id).cause == "stored"


def test_the_same_words_in_two_places_are_two_chunks_and_one_fact(ingest_turns: Ingest) -> None:
    for session in ("monday", "tuesday"):
        ingest_turns(user("I play the cello."), user("I play the cello."), session=session)
    assert len(chunks()) == 4
    assert {memory.repetitions for memory in chunks()} == {0}
    fact = Memory.objects.get(level=ChunkLevel.FACT)
    assert fact.repetitions == 3


def test_chunks_are_no_neighbours_of_facts(ingest_turns: Ingest) -> None:
    ingest_turns(user("I play the cello."), extract=False)
    assert not Memory.objects.filter(level=ChunkLevel.FACT).exists()
    result = ingest_turns(user("I play the cello."), session="tuesday")
    assert [outcome.outcome for _, outcome in result.outcomes] == ["stored"]


def test_a_new_fact_also_has_a_vector_with_the_turn_before_it(ingest_turns: Ingest) -> None:
    ingest_turns(assistant("What do you play?"), user("I play the cello."))
    fact = Memory.objects.get(level=ChunkLevel.FACT)
    found = routes(fact)
    assert set(found) == {Route.FULL, Route.CONTEXT}
    assert found[Route.CONTEXT] == pytest.approx(embed("What do you play?\nMaya plays the cello."), abs=1e-4)


def test_without_extraction_nothing_is_remembered_but_facets_are_found(ingest_turns: Ingest) -> None:
    result = ingest_turns(user("I love the cello."), extract=False)
    assert result.outcomes == []
    assert Route.PREFERENCES in routes(chunks()[0])


def test_a_turn_at_a_known_position_is_not_stored_twice(ingest_turns: Ingest) -> None:
    first = ingest_turns(user("I love the cello.", position=1))
    again = ingest_turns(user("I love the cello.", position=1))
    assert again.turns[0].id == first.turns[0].id
    assert (again.fresh, again.outcomes, again.chunks) == (frozenset(), [], [])
    assert Turn.objects.count() == 1


@pytest.mark.parametrize(
    ("position", "message"), [(5, "must not be taken by a turn of another text; got 5"), (4, "at least 7; got 4")]
)
def test_a_turn_that_wants_another_s_place_is_refused_and_nothing_is_stored(
    ingest_turns: Ingest, position: int, message: str
) -> None:
    ingest_turns(user("I love the cello.", position=5))
    with pytest.raises(PositionTakenError, match=message) as error:
        ingest_turns(user("Good evening."), user("I love the oboe.", position=position))
    assert error.value.index == 1
    assert Turn.objects.count() == 1


def test_two_users_may_both_have_a_session_of_the_same_name(ingest_turns: Ingest, namespace: Namespace) -> None:
    ingest_turns(user("I love the cello."))
    conversation = Conversation(session="monday", user="sam", turns=[NewTurn(role="user", text="I love the cello.")])
    ingest(namespace, conversation, by="tests")
    assert Session.objects.count() == 2
    assert {turn.position for turn in Turn.objects.all()} == {1}


def test_a_forgotten_chunk_does_not_come_back(ingest_turns: Ingest, namespace: Namespace) -> None:
    ingest_turns(user("I love the cello."))
    (chunk,), (whole,) = chunks(), chunks(ChunkLevel.SESSION)
    for memory in (chunk, whole):
        forget_memory(namespace, memory.id, by="tests")
    ingest_turns(assistant("Since when?"))
    assert {memory.status for memory in (*chunks(), *chunks(ChunkLevel.SESSION))} == {Status.FORGOTTEN}
    assert chunks()[0].content == "Maya: I love the cello."


def test_stragglers_are_filled_in_piece_by_piece(ingest_turns: Ingest, namespace: Namespace) -> None:
    ingest_turns(user("One cello."), assistant("Two."), user("Three oboes."), user("Four drums."))
    expected = {memory.id: routes(memory).get(Route.NEXT_USER) for memory in chunks()}
    MemoryVector.objects.filter(route=Route.NEXT_USER).delete()
    assert [backfill_vectors(namespace, limit=1) for _ in range(3)] == [1, 1, 0]
    for memory in chunks():
        found = routes(memory).get(Route.NEXT_USER)
        assert (found is None) == (expected[memory.id] is None)
        if found is not None:
            assert found == pytest.approx(expected[memory.id], abs=1e-4)


def test_the_queries_do_not_grow_with_the_turns(
    ingest_turns: Ingest, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for session, size in (("a", 2), ("b", 16)):
        turns = [
            user(f"I bought {place} red boats in harbour {place}{session}.") if place % 2 else assistant("I see.")
            for place in range(size)
        ]
        for part in (turns[: size // 2], turns[size // 2 :]):
            with django_assert_max_num_queries(50):  # the registry is not cached inside a transaction
                ingest_turns(*part, session=session)


def test_secrets_are_redacted_before_anything_is_derived_from_a_turn(
    ingest_turns: Ingest, namespace: Namespace
) -> None:
    namespace.redacts = True
    new_turn = user("I write to maya@example.org every day.", metadata={"from": "maya@example.org"})
    result = ingest_turns(new_turn, title="Mail to maya@example.org")
    assert result.session.title == "Mail to [e-mail]"
    assert result.turns[0].text == "I write to [e-mail] every day."
    assert result.turns[0].metadata == {"from": "[e-mail]"}
    assert not Memory.objects.filter(content__contains="example.org").exists()
    assert not Memory.objects.filter(evidence__contains="example.org").exists()
    assert ingest_turns(replace(new_turn, position=1)).fresh == frozenset()


def test_all_of_a_conversation_is_stored_or_nothing(ingest_turns: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("memories.writing.turns.chunks.search_index.index_postings", fail)
    with pytest.raises(OSError, match="full"):
        ingest_turns(user("Good evening."))
    assert not Turn.objects.exists()
    assert not Session.objects.exists()
    assert not Memory.objects.exists()


def test_a_draft_is_made_anew_when_turns_of_its_session_were_erased_meanwhile(
    ingest_turns: Ingest, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_turns(user("My first dog was called Bosse."), user("Good morning."), user("How are you?"))
    drafts = 0

    def draft_and_erase(*args: Any, **more: Any) -> Any:
        nonlocal drafts
        drafts += 1
        draft = draft_conversation(*args, **more)
        Turn.objects.within(namespace).filter(text__contains="Bosse").update(text="[erased]")
        return draft

    monkeypatch.setattr("memories.writing.turns.ingest.draft_conversation", draft_and_erase)
    ingest_turns(user("Good night."))
    (whole,) = chunks(ChunkLevel.SESSION)
    assert drafts == 2
    assert "Bosse" not in whole.content


@pytest.mark.django_db(transaction=True)
def test_the_lock_is_free_while_a_judge_is_called(
    ingest_turns: Ingest, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = ingest_turns(user("I live in Oslo."), user("I work at the harbour."))
    free: list[bool] = []

    def collect_verdicts(*args: Any) -> JudgeVerdicts:
        thread = Thread(target=lambda: free.append(can_write(namespace)))
        thread.start()
        thread.join()
        return JudgeVerdicts(judge("rules"))

    monkeypatch.setattr(JudgeVerdicts, "collect", collect_verdicts)
    ingest_turns(user("My sister lives in Bergen."), session="tuesday")
    correct_memory(namespace, stored.outcomes[0][1].memory.id, {"content": "Lives in Bergen"}, by="tests")
    assert free == [True, True]


def can_write(namespace: Namespace) -> bool:
    """Whether the namespace lock is free."""
    try:
        with transaction.atomic():
            NamespaceStatistics.objects.select_for_update(nowait=True).get(namespace=namespace)
        return True
    except OperationalError:
        return False
    finally:
        connection.close()


def test_answers_too_long_for_one_chunk_make_several_and_nothing_is_left_out(
    namespace: Namespace, ingest_turns: Ingest
) -> None:
    namespace.embedder = "wordllama-256"
    namespace.save()
    answers = [f"Chapter {number} begins. " + "And so the story went on. " * 700 for number in range(8)]
    ingest_turns(user("Tell me the whole story"), *map(assistant, answers), user("Thank you"), extract=False)
    parts = chunks()
    said = "\n".join(chunk.content for chunk in parts)
    assert all(f"Chapter {number} begins" in said for number in range(8))
    assert len(parts) == 3
    assert max(len(chunk.content) for chunk in parts) <= MAX_CHUNK_LENGTH
    following = MemoryVector.objects.filter(route=Route.NEXT_USER).values_list("memory_id", flat=True)
    assert set(following) >= {chunk.id for chunk in parts[:2]}
    (session,) = chunks(ChunkLevel.SESSION)
    assert session.content.startswith("[4 earlier turns]\n")
