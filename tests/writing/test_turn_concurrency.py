"""Concurrent writers of one session: every turn once, in order, and one session chunk."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memories.models import Memory, MemoryVector, Namespace, NamespaceStatistics, Session, Turn
from memories.models.choices import ChunkLevel, Route, Status
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS = 8


def test_writers_of_one_session_do_not_take_each_other_s_places() -> None:
    namespace = Namespace.objects.create(slug="desk", title="A desk", embedder="wordllama-256")

    def write(number: int) -> None:
        try:
            turns = [
                NewTurn(role="user", text=f"I play instrument {number}."),
                NewTurn(role="assistant", text="I see."),
            ]
            ingest(namespace, Conversation(session="monday", turns=turns), by="tests")
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS), timeout=60))
    assert Session.objects.count() == 1
    turns = list(Turn.objects.order_by("position"))
    assert [turn.position for turn in turns] == list(range(1, 2 * WRITERS + 1))
    assert [turn.role for turn in turns] == ["user", "assistant"] * WRITERS
    assert Memory.objects.filter(level=ChunkLevel.TURN).count() == WRITERS
    whole = Memory.objects.get(level=ChunkLevel.SESSION)
    assert whole.content.count("I see.") == WRITERS
    assert MemoryVector.objects.filter(route=Route.NEXT_USER).count() == WRITERS - 1
    assert NamespaceStatistics.objects.get().documents == Memory.objects.filter(status=Status.ACTIVE).count()
