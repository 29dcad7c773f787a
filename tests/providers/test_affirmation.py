"""What a turn of a dialogue affirms: by rule, in several domains, and what it does not affirm."""

from datetime import UTC, datetime

import pytest

from memories.models import Turn
from memories.providers.extractor import extractor
from memories.providers.rules_judge import grounding
from memories.text.extraction import ConversationContext, ExtractedMemory

SAID = datetime(2026, 3, 2, 12, tzinfo=UTC)
ROLES = {"U": "user", "A": "assistant"}


def dialogue(*lines: str) -> list[Turn]:
    """Turns of a user (U) and an assistant (A)."""
    return [Turn(role=ROLES[line[0]], text=line[3:], said_at=SAID) for line in lines]


def extract_at_once(turns: list[Turn]) -> list[ExtractedMemory]:
    return extractor("rules").extract(turns, ConversationContext(session="monday", user="Maya"))


def extract_one_by_one(turns: list[Turn]) -> list[ExtractedMemory]:
    """As if every turn came in a request of its own."""
    contexts = (ConversationContext(session="monday", user="Maya", before=turns[:at]) for at in range(len(turns)))
    return [
        memory
        for turn, context in zip(turns, contexts, strict=True)
        for memory in extractor("rules").extract([turn], context)
    ]


def memories_of(*lines: str) -> list[tuple[int, str, str]]:
    """The number of the turn, the level and the text of every memory of a dialogue."""
    turns = dialogue(*lines)
    memories = extract_at_once(turns)
    assert extract_one_by_one(turns) == memories
    for memory in memories:
        assert grounding(memory.content, memory.evidence) == "supported", memory
    numbers = {turn.id: number for number, turn in enumerate(turns, 1)}
    return [(numbers[memory.turn_id], str(memory.level), memory.content) for memory in memories]


HEDGED, CONFIRMED = "weak_inference", "confirmation"


@pytest.mark.parametrize(
    ("lines", "fact", "turns"),
    [
        (
            (
                "U: I think we usually use PostgreSQL.",
                "U: Well, for this project we definitely are.",
                "U: Yes, PostgreSQL is our team standard.",
            ),
            "Maya and others usually use PostgreSQL.",
            (1, 2, 3),
        ),
        (
            (
                "U: I think we usually use PostgreSQL.",
                "A: Usually, or for this project too?",
                "U: well, for this project we definitely are",
                "A: Got it.",
                "U: yes, PostgreSQL is our team standard",
            ),
            "Maya and others usually use PostgreSQL.",
            (1, 3, 5),
        ),
        (
            (
                "U: I think I usually take oat milk in my coffee.",
                "A: Noted. Always?",
                "U: At home I definitely do.",
                "U: Yes, oat milk is my usual.",
            ),
            "Maya usually takes oat milk in their coffee.",
            (1, 3, 4),
        ),
        (
            (
                "U: Maybe we deploy on Fridays with Jenkins.",
                "U: On this team we still do.",
                "U: Right, Jenkins is our deploy tool.",
            ),
            "Maya and others deploy on Fridays with Jenkins.",
            (1, 2, 3),
        ),
        (
            ("U: I think I'm allergic to penicillin.", "A: So you're allergic to penicillin?", "U: Yes, I am."),
            "Maya is allergic to penicillin.",
            (1, 3),
        ),
        (
            ("U: I guess we train at Vasa Arena.", "A: Do you train at Vasa Arena?", "U: Yeah, that's right!"),
            "Maya and others train at Vasa Arena.",
            (1, 3),
        ),
    ],
    ids=["appendix", "appendix with an assistant", "coffee", "deployment", "allergy", "sport"],
)
def test_a_hedge_a_clarification_and_a_confirmation_state_one_fact(
    lines: tuple[str, ...], fact: str, turns: tuple[int, ...]
) -> None:
    first, *later = turns
    assert memories_of(*lines) == [(first, HEDGED, fact), *((turn, CONFIRMED, fact) for turn in later)]


@pytest.mark.parametrize(
    ("question", "answer", "fact"),
    [
        ("Do you work at Arrive?", "Yes, that's right.", "Maya works at Arrive."),
        ("So you live in Oslo, right?", "Exactly.", "Maya lives in Oslo."),
        ("Are you still learning Danish?", "I still am.", "Maya is still learning Danish."),
        ("Is Rex your dog?", "Yep!", "Rex is Maya's dog."),
        ("You don't eat meat, right?", "Right, I don't.", "Maya doesn't eat meat."),
        ("Nice to hear. Have you bought a boat?", "Yes, we have.", "Maya has bought a boat."),
        ("Is your dog called Rex?", "Yes, that's right.", "Maya's dog is called Rex."),
        ("Is your sister a vet?", "Yes.", "Maya's sister is a vet."),
        ("Does your team use Rust?", "It does, yes. Right.", "Maya's team uses Rust."),
        ("Do your kids play chess?", "Yes!", "Maya's kids play chess."),
        ("Is Atlas running on PostgreSQL?", "Yes, that's right.", "Maya: Atlas is running on PostgreSQL."),
        ("Am I right that you live in Oslo?", "Right.", "Maya lives in Oslo."),
    ],
)
def test_a_yes_to_a_question_confirms_what_was_asked(question: str, answer: str, fact: str) -> None:
    assert memories_of(f"A: {question}", f"U: {answer}") == [(2, CONFIRMED, fact)]


def test_what_only_the_assistant_infers_is_speculation_until_the_user_confirms_it() -> None:
    fact = "Maya has started a new job at the library."
    assert memories_of("A: You've started a new job at the library.", "U: Yes, that's right.") == [
        (1, "speculation", fact),
        (2, CONFIRMED, fact),
    ]


@pytest.mark.parametrize(
    ("inference", "fact"),
    [
        ("You're vegetarian.", "Maya is vegetarian."),
        ("You probably live in Oslo.", "Maya probably lives in Oslo."),
        ("It sounds like you prefer tea over coffee.", "Maya prefers tea over coffee."),
        ("Since you mentioned fjords, I assume you live in Norway.", "Maya lives in Norway."),
        ("You seem to like hiking.", "Maya likes hiking."),
        ("I gather you work at Siemens.", "Maya works at Siemens."),
        ("You must be a nurse.", "Maya is a nurse."),
        ("That means you're vegan, then.", "Maya is vegan."),
        ("It looks like you live in Oslo.", "Maya lives in Oslo."),
    ],
)
def test_an_inference_is_stored_as_what_is_inferred(inference: str, fact: str) -> None:
    assert memories_of(f"A: {inference}", "U: Yes, that's right.") == [(1, "speculation", fact), (2, CONFIRMED, fact)]
    assert memories_of(f"A: {inference}", "U: Certainly not.") == [(1, "speculation", fact)]


@pytest.mark.parametrize(
    "line",
    [
        "You're right.",
        "You're welcome.",
        "You're amazing!",
        "You are so kind.",
        "You can use either one.",
        "You might want to restart it.",
        "You should live a little.",
        "You live in Oslo, right?",
        "I like that you asked.",
    ],
)
def test_courtesies_and_advice_of_an_assistant_are_no_inference(line: str) -> None:
    assert memories_of(f"A: {line}") == []


@pytest.mark.parametrize("question", ["Are you allergic to penicillin?", "So you like jazz, right?", "Do you smoke?"])
@pytest.mark.parametrize(
    "denial",
    [
        *("Certainly not.", "Absolutely not!", "Of course not.", "Definitely not!", "Yes and no.", "Yeah, no."),
        *("Exactly the opposite.", "True once, not now.", "Right, never.", "Sure, not at all."),
    ],
)
def test_a_denial_that_begins_like_a_yes_confirms_nothing(question: str, denial: str) -> None:
    assert memories_of(f"A: {question}", f"U: {denial}") == []


def test_what_follows_a_denial_is_stored_without_it() -> None:
    assert memories_of("A: Do you eat meat?", "U: Of course not, I'm vegetarian.") == [
        (2, "direct", "Maya is vegetarian.")
    ]


def test_a_doubt_before_a_hedge_is_part_of_it() -> None:
    fact = "Maya's blood type is AB negative."
    assert memories_of(
        "U: I'm not sure, but I think my blood type is AB negative.", "U: Yes, my blood type is AB negative."
    ) == [(1, HEDGED, fact), (2, CONFIRMED, fact)]


def test_a_yes_that_goes_on_with_something_else_states_both() -> None:
    assert memories_of("A: Do you use PostgreSQL?", "U: Yes, and we also run Redis for caching.") == [
        (2, CONFIRMED, "Maya uses PostgreSQL."),
        (2, "direct", "Maya and others also run Redis for caching."),
    ]
    assert memories_of("A: Do you use PostgreSQL?", "U: Yes, we use PostgreSQL for all new projects.") == [
        (2, "direct", "Maya and others use PostgreSQL for all new projects.")
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("A: Should I set up Kafka as well?", "U: Yes."),
        ("A: Do you want me to write that down?", "U: Yes please."),
        ("A: What's the weather like?", "U: Yes, it is sunny."),
        ("A: PostgreSQL or MySQL?", "U: Yes."),
        ("A: MySQL?", "U: We definitely do."),
        ("A: Shall we move on?", "U: We definitely should."),
        ("A: So you use PostgreSQL?", "U: No, not really."),
        ("A: So you use PostgreSQL?", "U: Definitely not."),
        ("A: Does Monday work for you?", "U: Yes."),
        ("U: Well, for this project we definitely aren't.",),
        ("U: No, actually we don't.",),
        ("U: Ben definitely does.",),
        ("U: Yes.",),
    ],
)
def test_a_yes_to_something_else_and_a_denial_confirm_nothing(lines: tuple[str, ...]) -> None:
    fact = "Maya and others usually use PostgreSQL."
    assert memories_of("U: I think we usually use PostgreSQL.", *lines) == [(1, HEDGED, fact)]


def test_another_value_or_another_subject_is_no_confirmation() -> None:
    hedge = "U: I think we usually use PostgreSQL."
    for line, other in (
        ("U: Yes, MySQL is our team standard.", "MySQL is Maya's team standard."),
        ("U: No, actually we use MySQL.", "Actually Maya and others use MySQL."),
        ("U: Yes, but we don't use PostgreSQL at home.", "Maya and others don't use PostgreSQL at home."),
    ):
        assert [(level, text) for _, level, text in memories_of(hedge, line)][1:] == [("direct", other)]
    assert len(memories_of("U: I think Ben usually uses MySQL.", "U: I definitely do.")) == 1


def test_an_affirmation_means_the_latest_fact_of_its_speaker() -> None:
    memories = memories_of("U: I use emacs.", "U: I love tea.", "A: Cool.", "U: I really do.")
    assert memories[-1] == (4, CONFIRMED, "Maya loves tea.")
    # Too long ago.
    chatter = [f"A: Number {number} is odd." for number in range(8)]
    assert len(memories_of("U: I think we usually use PostgreSQL.", *chatter, "U: We definitely do.")) == 1


def test_a_speaker_affirms_only_facts_about_themselves() -> None:
    turns = [
        Turn(role="user", speaker="Sam", text="I think we usually use MySQL.", said_at=SAID),
        Turn(role="user", speaker="Priya", text="We definitely do.", said_at=SAID),
    ]
    assert [memory.subject for memory in extract_at_once(turns)] == ["Sam"]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I work at Acme Corp.", "direct"),
        ("My commute to Acme HQ is 40 minutes.", "strong_inference"),
        ("I think I mentioned this last week.", "weak_inference"),
    ],
)
def test_the_examples_of_the_papers_table_have_its_levels(text: str, level: str) -> None:
    assert [found for _, found, _ in memories_of(f"U: {text}")] == [level]


def test_where_one_works_or_lives_is_inferred_from_what_is_said_of_it() -> None:
    (commute,) = extract_at_once(dialogue("U: My commute to Acme HQ is 40 minutes."))
    (flat,) = extract_at_once(dialogue("U: Our flat in Lund has a balcony."))
    assert (commute.predicate, commute.object) == ("works_at", "Acme HQ")
    assert (flat.predicate, flat.object, flat.level) == ("lives_in", "Lund", "strong_inference")
