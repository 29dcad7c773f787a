"""What the form of a question tells of its answer."""

import pytest

from memories.language.questions import asked_kind, describes, holds


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much does the flat cost?", "money"),
        ("What rent do they pay?", "money"),
        ("How much memory does the server have?", "number"),
        ("How old is the boat?", "number"),
        ("What is her phone number?", "number"),
        ("Which version of the compiler is in use?", ""),
        ("Which compiler version is in use?", "version"),
        ("What colour is the door?", "colour"),
        ("What is the color of the door?", "colour"),
        ("What is the name of the school where Ada teaches?", "name"),
        ("What's the boat called?", "name"),
        ("What name did they choose?", "name"),
        ("Who called on Monday?", ""),
        ("Why does it cost so much?", ""),
        ("How does she like her colours?", ""),
        ("How many dogs does Ada have?", ""),
        ("Where does Ada live?", ""),
        ("Ada", ""),
    ],
)
def test_a_question_asks_for_a_kind_of_thing(question: str, kind: str) -> None:
    assert asked_kind(question) == kind


@pytest.mark.parametrize(
    ("kind", "held", "lacking"),
    [
        ("money", "Rent is 900 euros", "Rent is due on 3 May"),
        ("money", "They paid $12.50", "They paid late, all 12 of them"),
        ("money", "The loan is 2.5 million kronor", "The loan is fixed at 2.5 percent"),
        ("number", "It has 64 gigabytes", "Bought on 3 May 2024, delivered at 14:30"),
        ("number", "It has two of them", "It has them"),
        ("version", "Runs on Python 3", "Runs on 3 machines"),
        ("version", "Updated to 2.7.1", "Updated on 3 May 2024"),
        ("colour", "A green door", "A greenhouse door"),
    ],
)
def test_a_text_holds_a_kind_of_thing_or_lacks_it(kind: str, held: str, lacking: str) -> None:
    assert holds(kind, held)  # type: ignore[arg-type]
    assert not holds(kind, lacking)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Ada teaches at Lindholmen", True),
        ("Tallkotten is where she works", True),
        ("Ada's pupils like Grace's music", False),
        ("Ada Lovelace: a teacher since May 2024", False),
        ("A teacher, on Mondays", False),
    ],
)
def test_a_name_is_one_that_the_question_does_not_say_and_no_owner(text: str, held: bool) -> None:
    assert holds("name", text, "What is the name of the school where Ada teaches?") is held


def test_where_nothing_is_expected_anything_holds_it() -> None:
    assert holds("", "")


@pytest.mark.parametrize(
    ("question", "described"),
    [
        ("Who leads the team that owns the ledger?", "that owns"),
        ("Where did the person go who taught Ada?", "who taught"),
        ("Who wrote the gateway whose certificate expired?", "whose certificate"),
        ("What was the reading that Ada attended about?", ""),
        ("Who taught Ada?", ""),
    ],
)
def test_a_question_may_describe_somebody_by_what_they_do(question: str, described: str) -> None:
    place = describes(question)
    assert (described == "") == (place is None)
    assert place is None or question[place + 2 :].startswith(described)
