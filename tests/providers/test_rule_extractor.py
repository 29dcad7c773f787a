"""The rule-based extractor."""

from datetime import UTC, datetime

import pytest

from memories.contracts.new_memory import Utterance
from memories.models import Turn
from memories.providers.extractor import extractor
from memories.providers.rules_judge import grounding
from memories.text.extraction import ConversationContext, ExtractedMemory
from memories.writing.turns.extracted_facts import to_new_memory

SAID = datetime(2026, 3, 2, 12, tzinfo=UTC)


def turn(text: str, speaker: str = "Maya", role: str = "user") -> Turn:
    return Turn(role=role, speaker=speaker, text=text, said_at=SAID)


def extract(*turns: Turn | str, user: str = "", before: tuple[Turn, ...] = ()) -> list[ExtractedMemory]:
    rows = [turn(one) if isinstance(one, str) else one for one in turns]
    return extractor("rules").extract(rows, ConversationContext(session="monday", user=user, before=before))


def test_a_statement_becomes_a_memory_that_stands_alone() -> None:
    said = turn("Hey Sam! I moved to Berlin last week. How are you?")
    context = ConversationContext(session="monday", user="maya", agent="Recall")
    (memory,) = extractor("rules").extract([said], context)
    assert memory.content == "Maya moved to Berlin last week (23 February 2026 to 1 March 2026)."
    assert (memory.type, memory.subject, memory.predicate, memory.object) == ("Event", "Maya", "lives_in", "Berlin")
    assert (memory.event_at, memory.event_until) == (
        datetime(2026, 2, 23, tzinfo=UTC),
        datetime(2026, 3, 2, tzinfo=UTC),
    )
    assert (memory.level, memory.turn_id) == ("direct", said.id)
    assert memory.evidence == "Maya: I moved to Berlin last week (23 February 2026 to 1 March 2026)."
    assert {"Maya", "Berlin"} <= set(memory.entities)
    assert (memory.model, memory.happened_at) == ("rules", SAID)
    new = to_new_memory(memory, context)
    assert (new.user, new.agent, new.session, new.happened_at) == ("maya", "Recall", "monday", SAID)
    assert new.utterances == (Utterance("direct", said.id),)


@pytest.mark.parametrize(
    ("text", "type", "predicate", "object"),
    [
        ("I live in Oslo.", "Fact", "lives_in", "Oslo"),
        ("I work at Arrive.", "Fact", "works_at", "Arrive"),
        ("I'm working as a nurse now.", "Fact", "occupation", "nurse"),
        ("I'm allergic to nuts.", "Fact", "allergic_to", "nuts"),
        ("We have a dog named Toby.", "Entity", "has_pet", "Toby"),
        ("My sister Anna plays the oboe.", "Relation", "has_sister", "Anna"),
        ("My favourite colour is green.", "Preference", "favourite_colour", "green"),
        ("I really love hiking.", "Preference", "likes", ""),
        ("I can't stand the rain, and I hate snow.", "Preference", "dislikes", ""),
        ("I visited the museum.", "Event", "", ""),
        ("I'm planning to learn Spanish.", "Fact", "plans", ""),
        ("I was born in Lund.", "Fact", "born", "Lund"),
    ],
)
def test_type_predicate_and_object_are_read_where_the_words_give_them(
    text: str, type: str, predicate: str, object: str
) -> None:
    (memory,) = extract(text)
    assert (memory.type, memory.predicate, memory.object) == (type, predicate, object)


@pytest.mark.parametrize(
    ("said", "level"),
    [
        (turn("I play the cello."), "direct"),
        (turn("I think I lost my keys."), "weak_inference"),
        (turn("The kids had such a blast."), "strong_inference"),
        (turn("You told me that you work at the library."), "direct"),
        (turn("You've started a new job at the library.", speaker="", role="assistant"), "speculation"),
    ],
)
def test_the_source_level_follows_how_directly_it_is_stated(said: Turn, level: str) -> None:
    (memory,) = extract(said)
    assert memory.level == level


def test_who_is_spoken_to_is_the_other_speaker() -> None:
    (memory,) = extract(turn("You've bought a boat, I hear.", speaker="Sam"), before=(turn("Hello!"),))
    assert memory.content.startswith("Maya has bought a boat")


def test_a_machine_counts_only_where_it_speaks_about_the_user() -> None:
    def machine(text: str) -> Turn:
        return turn(text, speaker="", role="assistant")

    assert extract(machine("I can help with that. Paris was founded by the Parisii.")) == []
    (memory,) = extract(machine("You've started a new job at the library."), user="Maya")
    assert (memory.subject, memory.content) == ("Maya", "Maya has started a new job at the library.")


def test_instructions_and_tools_are_ignored() -> None:
    assert extract(turn("I play the cello.", role="system"), turn("I play the cello.", role="tool")) == []


def test_a_memory_says_nothing_that_its_evidence_does_not() -> None:
    text = "I love tea. I hate my boss. I don't own a car. My dog Rex is sick. We moved 3 years ago. You've met my mum."
    memories = extract(turn("Hi!", speaker="Sam"), turn(text))
    assert len(memories) == 6
    for memory in memories:
        assert grounding(memory.content, memory.evidence) == "supported", memory.content


def test_a_sentence_said_twice_in_a_turn_is_one_memory() -> None:
    assert len(extract("I play the cello. I play the cello.")) == 1


def test_an_unknown_extractor_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="extractor must be one of rules"):
        extractor("oracle")
