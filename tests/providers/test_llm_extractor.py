"""The LLM extractor: what it cannot quote is dropped."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from memories.models import Turn
from memories.models.choices import TurnRole
from memories.providers import endpoint
from memories.providers.extractor import ExtractorError, extractor, is_known_extractor
from memories.providers.llm_extractor import LanguageModelExtractor
from memories.text.extraction import ConversationContext
from tests.support.chat_server import ChatServer, chat_server
from tests.support.prompts import HOSTILE, material_of

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
CONTEXT = ConversationContext(session="monday", user="maya", agent="helper")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A server, and pauses too short to wait for."""
    monkeypatch.setattr(endpoint, "BACKOFF", 0.001)
    with chat_server() as made:
        yield made


def turn(text: str, place: int = 1) -> Turn:
    """Something a user said."""
    return Turn(id=uuid4(), role=TurnRole.USER, speaker="Maya", text=text, said_at=NOW + timedelta(minutes=place))


def item(**given: Any) -> dict[str, Any]:
    """One memory as the schema wants it."""
    whole = {"turn": 1, "quote": "I moved to Berlin", "content": "Maya moved to Berlin", "type": "Event"}
    return whole | {"level": "direct", "subject": "Maya", "predicate": "lives_in", "object": "Berlin"} | given


def telling(server: ChatServer, *items: Any) -> LanguageModelExtractor:
    """An extractor whose model tells these."""
    server.reply = lambda material: json.dumps({"memories": list(items)})
    return LanguageModelExtractor("openai/oracle", server.model())


def test_a_memory_comes_with_the_turn_and_the_words_that_say_it(server: ChatServer) -> None:
    said = turn("Big news: I moved to  Berlin!")
    (new,) = telling(server, item()).extract([said], CONTEXT)
    assert (new.content, new.type, new.evidence) == ("Maya moved to Berlin", "Event", "I moved to Berlin")
    assert (new.level, new.turn_id) == ("direct", said.id)
    assert (new.subject, new.predicate, new.object) == ("Maya", "lives_in", "Berlin")
    assert (new.model, new.happened_at) == ("oracle", said.said_at)
    assert new.logprobs == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "I own seven horses"},
        {"quote": " "},
        {"turn": 2},
        {"turn": 0},
        {"turn": "1"},
        {"turn": True},
        {"type": "Secret"},
        {"level": "certain"},
        {"content": ""},
        {"content": "a\0b"},
        {"content": "a\ud800"},
        {"subject": "x" * 301},
        {"object": None},
        {"note": "more"},
    ],
)
def test_what_is_not_said_or_outside_the_schema_is_dropped_and_the_rest_kept(
    server: ChatServer, wrong: dict[str, Any]
) -> None:
    found = telling(server, item(**wrong), item()).extract([turn("I moved to Berlin")], CONTEXT)
    assert [new.content for new in found] == ["Maya moved to Berlin"]


@pytest.mark.parametrize("answer", ["Sure!", "[]", '{"memories": 7}', '{"memories": ["x"]}', '{"other": []}', "7"])
def test_an_answer_in_free_words_makes_no_memory(server: ChatServer, answer: str) -> None:
    server.reply = lambda material: answer
    assert LanguageModelExtractor("openai/oracle", server.model()).extract([turn("Hello")], CONTEXT) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_what_people_say_reaches_the_model_as_data(server: ChatServer, text: str) -> None:
    telling(server).extract([turn(text)], CONTEXT)
    material = material_of(server.asked[0]["messages"])
    assert [one["text"] for one in material["turns"]] == [text]


def test_memories_come_in_the_order_of_their_turns(server: ChatServer) -> None:
    turns = [turn("I keep bees", 1), turn("I moved to Berlin", 2)]
    bees = item(quote="keep bees", content="Maya keeps bees", type="Fact")
    found = telling(server, item(turn=2), bees).extract(turns, CONTEXT)
    assert [new.content for new in found] == ["Maya keeps bees", "Maya moved to Berlin"]


def test_a_long_conversation_goes_in_parts_that_know_what_was_said_before(server: ChatServer) -> None:
    turns = [turn(f"Turn number {place}", place) for place in range(1, 46)]
    telling(server).extract(turns, CONTEXT)
    materials = [material_of(request["messages"]) for request in server.asked]
    assert [len(material["turns"]) for material in materials] == [20, 20, 5]
    assert [one["text"] for one in materials[1]["before"]] == [f"Turn number {place}" for place in range(17, 21)]


def test_the_tokens_that_wrote_a_memory_tell_how_sure_the_model_was(server: ChatServer) -> None:
    whole = json.dumps({"memories": [item()]})
    start = whole.index("Maya moved to Berlin")
    parts = [whole[:start], "Maya moved", " to Berlin", whole[start + 20 :]]
    logprobs = [-0.9, -0.1, -0.3, -0.9]
    server.logprobs = {"content": [{"token": t, "logprob": p} for t, p in zip(parts, logprobs, strict=True)]}
    (new,) = telling(server, item()).extract([turn("I moved to Berlin")], CONTEXT)
    assert new.logprobs == (-0.1, -0.3)


def test_a_server_that_is_away_is_reported_so_that_the_work_can_be_tried_again(server: ChatServer) -> None:
    server.failures = [503] * 9
    with pytest.raises(ExtractorError, match="The extractor openai/oracle gave no answer: 503"):
        telling(server).extract([turn("I moved to Berlin")], CONTEXT)


def test_the_registry_knows_models_by_their_family() -> None:
    assert is_known_extractor("openai/gpt-4o-mini")
    made = extractor("openai/gpt-4o-mini")
    assert isinstance(made, LanguageModelExtractor)
    assert made.name == "openai/gpt-4o-mini"
