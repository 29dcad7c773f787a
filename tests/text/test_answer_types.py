"""Expected answer types of queries."""

import pytest

from memories.text.answer_types import contains_answer_type, expected_answer_type, relative_clause_start


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
def test_a_question_has_an_expected_answer_type(question: str, kind: str) -> None:
    assert expected_answer_type(question) == kind


@pytest.mark.parametrize(
    ("kind", "matching", "other"),
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
def test_a_text_contains_an_answer_type_or_not(kind: str, matching: str, other: str) -> None:
    assert contains_answer_type(kind, matching)  # type: ignore[arg-type]
    assert not contains_answer_type(kind, other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada teaches at Lindholmen", True),
        ("Tallkotten is where she works", True),
        ("Ada's pupils like Grace's music", False),
        ("Ada Lovelace: a teacher since May 2024", False),
        ("A teacher, on Mondays", False),
    ],
)
def test_a_name_counts_if_it_is_not_in_the_question_and_no_possessive(text: str, expected: bool) -> None:
    assert contains_answer_type("name", text, "What is the name of the school where Ada teaches?") is expected


def test_without_an_answer_type_any_text_matches() -> None:
    assert contains_answer_type("", "")


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
def test_a_relative_clause_describes_somebody(question: str, described: str) -> None:
    place = relative_clause_start(question)
    assert (described == "") == (place is None)
    assert place is None or question[place + 2 :].startswith(described)
