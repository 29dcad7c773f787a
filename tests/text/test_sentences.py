"""Sentence splitting, and which sentences are statements."""

import time

import pytest

from memories.text.pleasantries import LEAD_IN
from memories.text.sentences import split_sentences
from memories.text.statements import is_statement, strip_pleasantries
from memories.text.third_person import to_third_person
from memories.text.verbs import third_person_verb


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Met Dr. Berg and Mrs. Lind.", ["Met Dr. Berg and Mrs. Lind."]),
        ("It costs 3.50 at arrive.io today.", ["It costs 3.50 at arrive.io today."]),
        ("Well... maybe. Yes", ["Well... maybe.", "Yes"]),
        ("He said “no.” Then he left.", ["He said “no.”", "Then he left."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("So do I. You too.", ["So do I.", "You too."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_text_is_cut_where_a_sentence_ends(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@pytest.mark.parametrize("odd", [".", " ", "a.", "!) ", "\n", "yes ", "haha", "I you "])
def test_odd_texts_are_fast(odd: str) -> None:
    began = time.perf_counter()
    for sentence in split_sentences(odd * (20_000 // len(odd))):
        is_statement(strip_pleasantries(sentence))
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "sentence",
    [
        "I moved to Berlin.",
        "My sister plays the oboe.",
        "We went camping with the kids.",
        "You told me that you work at the library.",
        "The kids had such a blast.",
        "Just finished the screenplay.",
        "He is adopted and so full of energy.",
    ],
)
def test_a_statement_is_recognised(sentence: str) -> None:
    assert is_statement(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "How have you been?",
        "Good to see you!",
        "That's so cool!",
        "Thanks a lot!",
        "Keep up the good work!",
        "We all make mistakes.",
        "Networking really pays off.",
        "You're so talented!",
        "I totally agree.",
        "See you later!",
        "word " * 200,
    ],
)
def test_questions_pleasantries_reactions_and_common_wisdom_are_not(sentence: str) -> None:
    assert not is_statement(sentence)


@pytest.mark.parametrize(
    ("sentence", "rewritten"),
    [
        ("I'm swamped with work.", "Maya is swamped with work."),
        ("I don't like it, but I've tried.", "Maya doesn't like it, but they have tried."),
        ("I always try my best.", "Maya always tries their best."),
        ("My kids love when we go camping.", "Maya's kids love when they go camping."),
        ("We went camping.", "Maya and others went camping."),
        ("It was a gift for me.", "It was a gift for Maya."),
        ("You gave me your old bike.", "Sam gave Maya their old bike."),
        ("I will show you the boat.", "Maya will show Sam the boat."),
        ("The US is large.", "The US is large."),
        ("I need some me-time.", "Maya needs some me-time."),
        ("I’ve moved.", "Maya has moved."),
    ],
)
def test_a_sentence_is_rewritten_with_the_name_first_and_then_a_pronoun(sentence: str, rewritten: str) -> None:
    assert to_third_person(sentence, "Maya", "Sam") == rewritten


@pytest.mark.parametrize(
    ("verb", "expected"), [("go", "goes"), ("fly", "flies"), ("play", "plays"), ("need", "needs"), ("built", "built")]
)
def test_a_verb_is_put_into_the_third_person(verb: str, expected: str) -> None:
    assert third_person_verb(verb) == expected


def test_what_a_message_begins_with_is_taken_off_but_no_more() -> None:
    assert LEAD_IN.sub("", "Hey Mel! So, I moved.") == "I moved."
    assert LEAD_IN.sub("", "So much happened.") == "So much happened."
    assert LEAD_IN.sub("", "Nobody came.") == "Nobody came."
