"""Backfill of missing context vectors."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.core.management import call_command

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Memory, MemoryVector, Namespace, Turn
from memories.models.choices import ChunkLevel, Route
from memories.providers.embedder import embedder
from memories.writing.prepare import EmbeddedTexts, embed_distinct
from memories.writing.remember import remember
from memories.writing.turns import vector_backfill as filling
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from memories.writing.turns.vector_backfill import backfill_vectors
from tests.support.reflection import NOW, reflect

pytestmark = pytest.mark.django_db
NAME, OTHER = "wordllama-256", "all-MiniLM-L6-v2"
SAID = [
    ("user", "I love the cello."),
    ("assistant", "Since when?"),
    ("user", "I moved to Berlin yesterday."),
    ("assistant", "How is it there?"),
    ("user", "My sister lives in Oslo."),
]


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW, embedder=NAME)


def ingest_turns(namespace: Namespace, *said: tuple[str, str]) -> None:
    turns = [NewTurn(role=role, text=text, speaker="Maya" if role == "user" else "") for role, text in said]
    ingest(namespace, Conversation(session="monday", turns=turns, user="maya"), by="tests")


def routes(memory: UUID) -> dict[str, Any]:
    return {row.route: np.asarray(row.vector) for row in MemoryVector.objects.filter(memory_id=memory)}


def embed(text: str) -> Any:
    return pytest.approx(embedder(NAME).embed([text])[0], abs=1e-4)


def test_after_a_purge_with_turns_reflection_gives_the_rest_what_is_said_around_it_now(namespace: Namespace) -> None:
    ingest_turns(namespace, *SAID)
    gone = Memory.objects.get(level=ChunkLevel.FACT, content__contains="Berlin")
    call_command("purge", "desk", "--memory", str(gone.id), "--with-turns", verbosity=0)
    assert not Turn.objects.filter(text__contains="Berlin").exists()
    assert not MemoryVector.objects.filter(route__in=(Route.CONTEXT, Route.NEXT_USER)).exists()
    assert not Memory.objects.filter(level=ChunkLevel.SESSION).exists()

    first, last = Memory.objects.filter(level=ChunkLevel.TURN).order_by("turn__position")
    loves, lives = Memory.objects.filter(level=ChunkLevel.FACT).order_by("turn__position")
    # Two chunks and two facts with their previous turn, and one chunk with the next user turn.
    assert reflect(namespace, "backfill") == {"filled": 5}
    assert reflect(namespace, "backfill") == {"filled": 0}
    assert routes(first.id)[Route.NEXT_USER] == embed("My sister lives in Oslo.")
    assert routes(first.id)[Route.CONTEXT] == embed("I love the cello.\nSince when?")
    assert routes(last.id)[Route.CONTEXT] == embed("How is it there?\nMy sister lives in Oslo.")
    assert Route.NEXT_USER not in routes(last.id)
    assert routes(loves.id)[Route.CONTEXT] == embed(loves.content)
    assert routes(lives.id)[Route.CONTEXT] == embed(f"How is it there?\n{lives.content}")


def test_after_a_purge_with_turns_the_session_has_its_chunk_again_once_somebody_speaks(namespace: Namespace) -> None:
    ingest_turns(namespace, *SAID)
    gone = Memory.objects.get(level=ChunkLevel.FACT, content__contains="Berlin")
    call_command("purge", "desk", "--memory", str(gone.id), "--with-turns", verbosity=0)
    ingest_turns(namespace, ("user", "Good night."))
    whole = Memory.objects.get(level=ChunkLevel.SESSION)
    spoken = [SAID[0], SAID[1], SAID[3], SAID[4], ("user", "Good night.")]
    assert whole.content.splitlines() == [f"{'Maya' if role == 'user' else role}: {text}" for role, text in spoken]
    parts = MemoryVector.objects.filter(level=ChunkLevel.TURN, route=Route.FULL)
    middle = np.sum([np.asarray(row.vector) for row in parts], axis=0)
    assert len(parts) == 3
    assert routes(whole.id)[Route.FULL] == pytest.approx(middle / np.linalg.norm(middle), abs=1e-4)
    assert not set(routes(whole.id)) & {Route.CONTEXT, Route.NEXT_USER}


def test_a_fact_that_a_caller_read_out_of_a_turn_gets_the_turn_before_it_too(namespace: Namespace) -> None:
    ingest_turns(namespace, ("assistant", "Which instrument?"), ("user", "Guess."))
    turn = Turn.objects.get(position=2)
    new = NewMemory(content="Maya likes riddles", utterances=(Utterance("weak_inference", turn.id),))
    fact = remember(namespace, [new], by="tests")[0].memory
    assert backfill_vectors(namespace) == 1
    assert routes(fact.id)[Route.CONTEXT] == embed("Which instrument?\nMaya likes riddles")


def test_silence_is_not_what_the_user_says_next(namespace: Namespace) -> None:
    ingest_turns(namespace, ("user", "I love the cello."), ("user", " \n"), ("user", "Since school."))
    backfill_vectors(namespace)
    chunk = Memory.objects.filter(level=ChunkLevel.TURN).order_by("turn__position")[0]
    assert routes(chunk.id)[Route.NEXT_USER] == embed("Since school.")


def test_what_was_embedded_before_the_embedder_changed_is_embedded_again(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_turns(namespace, *SAID[:3])
    MemoryVector.objects.all().delete()
    names = []

    def embed_and_switch(name: str, texts: Any) -> EmbeddedTexts:
        names.append(name)
        embedded_texts = embed_distinct(name, texts)
        Namespace.objects.filter(id=namespace.id).update(embedder=OTHER)
        return embedded_texts

    monkeypatch.setattr(filling, "embed_distinct", embed_and_switch)
    assert backfill_vectors(namespace) > 0
    assert names == [NAME, OTHER]
    assert set(MemoryVector.objects.values_list("embedder", flat=True)) == {OTHER}
