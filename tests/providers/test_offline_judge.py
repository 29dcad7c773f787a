"""The offline judge: what it decides, and what it leaves to a person."""

import pytest

from memories.providers.judge import judge
from memories.providers.rules_judge import grounding, judge_contradiction, same


@pytest.mark.parametrize(
    ("content", "evidence", "verdict"),
    [
        ("Plays the cello", "", "supported"),
        ("Plays the cello", " \n", "supported"),
        ("Maya moved to Berlin in March", "I moved to Berlin last March, and I love it", "supported"),
        ("Maya keeps bees", "I'm not sure about dinner, but I keep bees on the roof.", "supported"),
        ("Maya does not eat meat", "Maya eats meat", "unsupported"),
        ("Maya eats meat", "Maya does not eat meat", "unsupported"),
        ("The ledger runs on PostgreSQL 15", "The ledger runs on PostgreSQL 14", "unsupported"),
        ("The dentist is on Monday", "The dentist is on Friday", "unsupported"),
        ("Maya has three dogs", "Maya has dogs, and they bark", "partial"),
        ("Maya sails to Norway in summer", "Maya likes Norway and painting.", "partial"),
        ("Owns three horses and a farm in Skåne", "We talked about the quarterly budget only.", "unsupported"),
    ],
)
def test_evidence_bears_out_what_it_says_and_not_what_it_denies(content: str, evidence: str, verdict: str) -> None:
    assert grounding(content, evidence) == verdict


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("Maya likes the green tea", "Maya really likes green teas", True),
        ("Alice reports to Bob", "Bob reports to Alice", None),
        ("The flight to Berlin is late", "The flight from Berlin is late", None),
        ("Maya is a nurse", "Maya was a nurse", None),
        ("He likes tea", "She likes tea", None),
        ("Maya lives in Berlin", "Maya lives in Munich", None),
        ("Maya drinks her coffee black", "Maya takes her coffee black, without sugar", None),
        ("The internal review is done", "The international review is done", None),
        ("Maya plays the cello", "The ledger runs on Postgres", False),
    ],
)
def test_two_memories_are_the_same_in_the_same_words_and_order_alone(
    one: str, other: str, verdict: bool | None
) -> None:
    assert same(one, other) is verdict
    assert same(other, one) is verdict


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("The ledger runs on PostgreSQL 14", "The ledger runs on PostgreSQL 15", True),
        ("Maya eats meat", "Maya never eats meat", True),
        ("Maya has 2 dogs and a garden", "The office on the hill has 5 rooms", None),
        ("Maya likes tea", "Maya likes coffee", False),
    ],
)
def test_a_contradiction_needs_a_reason_and_the_same_subject(one: str, other: str, verdict: bool | None) -> None:
    assert judge_contradiction(one, other) is verdict


def test_the_judge_of_rules_is_made_once_and_judges_many_pairs_in_their_order() -> None:
    rules = judge("rules")
    assert rules is judge("rules")
    assert (rules.name, rules.remote) == ("rules", False)
    pairs = [("Plays the cello", "Plays the cello"), ("Plays the cello", "The ledger runs on Postgres")]
    assert rules.grounding(pairs) == ["supported", "unsupported"]
    assert rules.same(pairs) == [True, False]
    assert rules.contradicts(pairs) == [False, False]
    assert rules.same([]) == []


@pytest.mark.parametrize("name", ["", "openai/", "oracle", "openai"])
def test_a_judge_nobody_knows_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(ValueError, match=f"judge must be rules or openai/MODEL; got '{name}'"):
        judge(name)
