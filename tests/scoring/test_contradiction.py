"""What may hide a memory, what only keeps two apart, and what may be merged, on labelled pairs and as laws."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memories.writing.comparison import are_restatements, conflict_reasons, contradiction_reason
from scoring.contradiction import FactStatement, conflicts, contradicts, restates
from scoring.wording import parse_wording
from tests.support.contradiction_pairs import labelled_pairs

MIN_PRECISION, MIN_RECALL = 0.95, 0.85
THINGS = ["Server", "Invoice", "Ticket", "Room", "Order", "Sensor", "Bus", "Series", "Case", "Gate", "Device", "Class"]
STATEMENTS = [
    "runs Debian",
    "is paid",
    "has 3 windows",
    "costs 20 euros",
    "leaves at 8:10",
    "is in rack 4",
    "is closed",
]


@pytest.mark.parametrize("split", ["tune", "holdout"])
def test_of_what_is_called_a_contradiction_95_percent_are_and_most_are_found(split: str) -> None:
    pairs = list(labelled_pairs(split))
    called = [pair for pair in pairs if contradiction_reason(pair.first, pair.second)]
    false = [str(pair) for pair in called if pair.label != "contradicts"]
    labelled = [pair for pair in pairs if pair.label == "contradicts"]
    assert len(false) <= (1 - MIN_PRECISION) * len(called), false
    missed = [str(pair) for pair in labelled if pair not in called]
    assert len(missed) <= (1 - MIN_RECALL) * len(labelled), missed


def test_the_pairs_are_many_and_of_every_label_and_kind() -> None:
    pairs = list(labelled_pairs())
    labels = [pair.label for pair in pairs]
    assert len(pairs) >= 200
    assert min(labels.count(label) for label in ("contradicts", "compatible")) >= 0.35 * len(pairs)
    assert len({pair.kind for pair in pairs}) >= 15


def test_what_contradicts_is_never_merged_and_no_pair_that_differs_is() -> None:
    for pair in labelled_pairs():
        reason = contradiction_reason(pair.first, pair.second)
        assert reason == contradiction_reason(pair.second, pair.first), pair
        if reason:
            assert conflict_reasons(pair.first, pair.second), pair
        if pair.label != "same" and pair.kind not in ("user", "validity"):
            assert not are_restatements(pair.first, pair.second) or conflict_reasons(pair.first, pair.second), pair


@given(st.sampled_from(THINGS), st.integers(1, 9999), st.integers(1, 9999), st.sampled_from(STATEMENTS))
def test_a_number_that_names_the_subject_never_contradicts(thing: str, one: int, other: int, says: str) -> None:
    assume(one != other)
    pair = [FactStatement(f"{thing} {number} {says}") for number in (one, other)]
    assert contradicts(*pair) == ""
    assert conflicts(*pair)
    assert not restates(*pair)


@given(st.from_regex(r"[A-Z]{2,5}-[1-9][0-9]{0,4}", fullmatch=True), st.integers(1, 9999), st.sampled_from(STATEMENTS))
def test_neither_does_a_code(code: str, number: int, says: str) -> None:
    other = f"{code.partition('-')[0]}-{number}"
    assume(other != code)
    assert contradicts(FactStatement(f"{code} {says}"), FactStatement(f"{other} {says}")) == ""
    assert conflicts(FactStatement(f"{code} {says}"), FactStatement(f"{other} {says}"))


@given(st.sampled_from(THINGS), st.integers(1, 9999), st.sampled_from(STATEMENTS))
def test_the_denial_of_a_statement_contradicts_it(thing: str, number: int, says: str) -> None:
    verb, rest = says.split(" ", 1)
    denied = f"is not {rest}" if verb == "is" else f"does not {verb[:-1] if verb != 'has' else 'have'} {rest}"
    subject = f"{thing} {number}"
    assert contradicts(FactStatement(f"{subject} {says}"), FactStatement(f"{subject} {denied}")) == "negation"


@pytest.mark.parametrize(
    "subject", ["He", "She", "It", "Her sister", "A colleague", "Another server", "One of the ports"]
)
@pytest.mark.parametrize(
    ("one", "other"),
    [("is open", "is not open"), ("lives in Oslo", "lives in Bergen"), ("is 31 years old", "is 32 years old")],
)
def test_a_subject_that_is_not_named_may_be_another_each_time(subject: str, one: str, other: str) -> None:
    unnamed = [FactStatement(f"{subject} {says}") for says in (one, other)]
    named = [FactStatement(f"{subject} {says}", subject="Maya") for says in (one, other)]
    assert contradicts(*unnamed) == ""
    assert contradicts(*named)


@given(st.text(max_size=80))
def test_any_text_has_a_wording_and_restates_itself(text: str) -> None:
    assert parse_wording(text).keys == parse_wording(text).keys
    statement = FactStatement(text)
    assert restates(statement, statement)
    assert contradicts(statement, statement) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dmitri is learning chess with care", "Dmitri is learning chess since last year"),
        ("The flight to Berlin is late", "The flight from Berlin is late"),
        ("Maya was a nurse", "Maya will be a nurse"),
        ("Likes tea", "Likes green tea"),
        ("Gave Anna the keys of Ben", "Gave Ben the keys of Anna"),
        ("Lives in Oslo", "Does not live in Oslo"),
    ],
)
def test_what_differs_in_a_word_of_weight_or_in_their_order_is_not_the_same_for_certain(one: str, other: str) -> None:
    assert not restates(FactStatement(one), FactStatement(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses PostgreSQL as its database", "Uses PostgreSQL as the database"),
        ("Has two cats", "Has 2 cats"),
        ("The meeting is at 3 pm", "The meeting is at 15:00"),
        ("The run is 5 km", "The run is 5,000 m long".replace(" m long", " metres")),
    ],
)
def test_the_same_words_and_values_are_the_same(one: str, other: str) -> None:
    assert restates(FactStatement(one), FactStatement(other))


def test_the_same_triple_is_the_same_in_other_words() -> None:
    triple = {"subject": "Tomas", "predicate": "owns", "object": "the warehouse"}
    one = FactStatement("Tomas owns the data warehouse", **triple)
    assert restates(one, FactStatement("The warehouse belongs to Tomas", **triple | {"predicate": "OWNS"}))
    assert not restates(one, FactStatement("The warehouse belongs to Tomas", **triple | {"object": "the shop"}))
