"""The user's next words, for chunks that were stored before them."""

import pytest

from memories.models import MemoryVector, Namespace
from memories.models.choices import Route
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from tests.support.reflection import NOW, reflect

pytestmark = pytest.mark.django_db


def test_chunks_that_lack_the_vector_of_what_was_said_next_get_it() -> None:
    namespace = Namespace.objects.create(slug="desk", title="A desk", clock=NOW)
    texts = ("I moved to Lerum", "How is the flat?", "It has a balcony", "Nice", "The rent is fine")
    turns = [NewTurn(role="assistant" if place % 2 else "user", text=text) for place, text in enumerate(texts)]
    ingest(namespace, Conversation(session="a", turns=tuple(turns)), by="tests")
    known = MemoryVector.objects.filter(route=Route.NEXT_USER)
    vectors = {one.memory_id: list(one.vector) for one in known}
    assert vectors
    known.delete()
    assert reflect(namespace, "backfill")["filled"] == len(vectors)
    assert {one.memory_id: pytest.approx(list(one.vector), abs=1e-5) for one in known.all()} == vectors
    assert reflect(namespace, "backfill")["filled"] == 0
