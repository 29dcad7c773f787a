"""Evidence, belief, deduplication and calibration beyond their printed values."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import belief, calibration, dedup, faithfulness
from scoring.confidence import SOURCE_LEVELS, extractor_class, extractor_confidence, repetition
from scoring.contradiction import FactStatement, conflicts
from scoring.evidence import Evidence, confirm_evidence, merge_evidence
from scoring.freshness import access_boost
from scoring.params import ParamsError
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES
from scoring.systems.recall import memory_confidence, rejection_reason
from tests.support.explanations import evaluate

BELIEF = {"start": 5.0, "boost": 0.5, "penalty": 1.5, "protected": 8.0, "needed": 3}


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_observations_and_more_accesses_never_count_less(one: float, other: float) -> None:
    few, many = np.array(min(one, other)), np.array(max(one, other))
    assert repetition(few) <= repetition(many) < 1
    assert access_boost(few) <= access_boost(many)


@given(st.lists(st.sampled_from(["corroboration", "contradiction"]), max_size=40))
def test_belief_stays_on_its_scale_and_is_protected_only_with_enough_evidence(
    evidence: list[belief.EvidenceKind],
) -> None:
    reached = belief.belief_from_history(evidence, **BELIEF)
    assert 0 <= reached.value <= 10
    assert reached.corroborations + reached.contradictions == len(evidence)
    assert reached.value <= 8 or reached.corroborations >= 3


def test_the_order_of_the_evidence_matters_because_belief_is_clamped_at_each_step() -> None:
    low_first = belief.belief_from_history(["contradiction"] * 5 + ["corroboration"] * 2, **BELIEF)
    high_first = belief.belief_from_history(["corroboration"] * 2 + ["contradiction"] * 5, **BELIEF)
    assert (low_first.value, high_first.value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Runs PostgreSQL 14 in production", "Runs PostgreSQL 15 in production", "another number"),
        ("Prefers tabs", "Does not prefer tabs", "negation"),
        ("Uses Redis for sessions", "Doesn't use Redis for sessions", "negation"),
        ("The review is on 3 March", "The review is on 5 March", "another number"),
        ("The offsite is in May", "The offsite is in June", "another date"),
        ("Pinned to Django 5.2.1", "Pinned to Django 5.2.6", "another version"),
        ("Alice reports to Bob", "Bob reports to Alice", "swapped roles"),
        ("Alice reports to Bob", "Bob now reports to Alice", "swapped roles"),
        ("The party is on the 3rd of March", "The party is on the 5th of March", "another number"),
        ("Wakes at 8am", "Wakes at 9am", "another number"),
        ("Runs pg14 in production", "Runs pg15 in production", "another number"),
        ("The limit is 50k rows", "The limit is 60k rows", "another number"),
        ("Deploys on Mondays", "Deploys on Tuesdays", "another date"),
        ("Has two children", "Has three children", "another number"),
        ("Likes C++", "Does not like C++", "negation"),
        ("Travels with a laptop", "Travels without a laptop", "with or without"),
        ("-5 degrees in Oslo", "5 degrees in Oslo", "another number"),
        ("It was minus five in Oslo", "It was five in Oslo", "another number"),
        ("The discount is 5", "The discount is 5%", "another number"),
        ("It is 5 km to the shop", "It is 5 miles to the shop", "another unit"),
        ("Waits five hours", "Waits 5 minutes", "another unit"),
        ("Maya writes in C", "Maya writes in C#", "another sign"),
        ("Maya writes in C#", "Maya writes in C++", "another sign"),
        ("👍", "👎", "another sign"),
        ("!!!", "???", "another sign"),
    ],
)
def test_a_hidden_contradiction_is_detected(one: str, other: str, reason: str) -> None:
    assert reason in conflicts(FactStatement(one), FactStatement(other))
    assert conflicts(FactStatement(other), FactStatement(one)) == conflicts(FactStatement(one), FactStatement(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses PostgreSQL for new projects", "New projects use PostgreSQL as their database"),
        ("Lives in Gothenburg since 2021", "Has lived in Gothenburg since 2021"),
        ("Enjoys hiking", "Enjoys hiking."),
        ("Joined Arrive, in Berlin", "Joined Arrive in Berlin"),
        ("Born on 3 Mar", "Born on 3 March"),
        ("Pays 1,000 crowns", "Pays 1000 crowns"),
        ("Lives at No. 5", "Lives at number 5"),
        ("May be late today", "Will be late today"),
        ("It is 5 km to the shop", "The shop is five kilometres away"),
        ("The discount is 5%", "A discount of 5 per cent"),
        ("Weighs 5 kg", "The weight is 5"),
        ("Writes in C and C++", "Writes in C++"),
        ("Works from 9-17", "Works from 9 to 17"),
        ("Since 2021-03-02", "Since 2021-03-02, in Oslo"),
        ("Drinks her coffee black", "Takes her coffee black, without sugar"),
    ],
)
def test_a_paraphrase_does_not_contradict(one: str, other: str) -> None:
    assert conflicts(FactStatement(one), FactStatement(other)) == ()


def test_the_same_subject_and_predicate_with_another_value_conflict() -> None:
    berlin = FactStatement("Lives in Berlin", "Maya", "lives_in", "Berlin")
    assert conflicts(berlin, FactStatement("Lives in Munich", "maya", "lives_in", "Munich")) == ("another value",)
    assert conflicts(berlin, FactStatement("Lives in Munich", "Priya", "lives_in", "Munich")) == ()


def test_the_hash_sees_through_form_but_not_through_content() -> None:
    one = dedup.content_hash("Fact", "Maya", "works_at", "Works at Arrive")
    assert one == dedup.content_hash("fact", " MAYA ", "works_at", "works at  Arrive!")
    assert one != dedup.content_hash("Fact", "Maya", "works_at", "Works at Arrival")
    assert dedup.content_hash("Fact", "", "", "!!!") != dedup.content_hash("Fact", "", "", "???")
    assert dedup.content_hash("Fact", "", "", "Likes C++") != dedup.content_hash("Fact", "", "", "Likes C#")
    assert dedup.fallback_subject("C++") != dedup.fallback_subject("C#")


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("claude-3-5-haiku-20241022", "haiku"),
        ("Claude Opus 4", "sonnet_opus"),
        ("gpt-4o-mini", "gpt4"),
        ("GPT-3.5-turbo", "gpt35"),
        ("llama-3-8b", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_model_name_maps_to_its_row_of_the_table(model: str, row: str) -> None:
    assert extractor_class(model) == row
    assert f"extractor_{row}" in WritePolicyParams.declarations()


def conf(evidence: Evidence) -> float:
    return float(memory_confidence(evidence, WritePolicyParams()).value)


DIRECT = Evidence(frozenset({"direct"}), type="Fact", model="haiku")


def test_token_probabilities_replace_the_table() -> None:
    assert conf(DIRECT) - conf(replace(DIRECT, logprob=math.log(0.61))) == pytest.approx(0.25 * 0.19)


@pytest.mark.parametrize("logprobs", [[0.1], [math.nan], [-0.2, math.inf]])
def test_token_probabilities_above_one_are_rejected(logprobs: list[float]) -> None:
    with pytest.raises(ValueError, match="logprobs must be numbers from −∞ to 0"):
        extractor_confidence(logprobs)


def test_several_turns_count_as_the_strongest_and_none_as_a_strong_inference() -> None:
    strongest = memory_confidence(
        Evidence(frozenset({"weak_inference", "confirmation"}), type="Fact"), WritePolicyParams()
    )
    assert strongest.find("source_confirmation") is not None
    assert memory_confidence(Evidence(type="Fact"), WritePolicyParams()).find("source_strong_inference") is not None


def test_an_unknown_type_takes_the_unknown_prior() -> None:
    assert memory_confidence(replace(DIRECT, type="Habit"), WritePolicyParams()).find("prior_unknown") is not None


def test_a_confirmation_raises_the_source_counts_once_restores_grounding_and_is_capped() -> None:
    guess = Evidence(frozenset({"speculation"}), type="Entity", model="opus", grounding="partial")
    confirmed_guess = confirm_evidence(guess)
    assert (confirmed_guess.repetitions, confirmed_guess.grounding) == (1, "supported")
    assert conf(confirmed_guess) == pytest.approx(
        0.45 * 0.80 + 0.20 * float(repetition(np.array(1.0))) + 0.25 * 0.9 + 0.1 * 0.9
    )
    perfect = WritePolicyParams(source_direct=1.0, extractor_haiku=1.0, prior_fact=1.0, weight_repetition=0.0)
    assert float(memory_confidence(confirm_evidence(DIRECT), perfect).value) == 0.99


EVIDENCE = st.builds(
    Evidence,
    levels=st.frozensets(st.sampled_from(SOURCE_LEVELS)),
    repetitions=st.integers(0, 50),
    type=st.sampled_from([*TYPES, "Habit"]),
    model=st.sampled_from(["haiku", "opus", "gpt-3.5", ""]),
    logprob=st.none() | st.floats(-3, 0),
    grounding=st.sampled_from(["supported", "partial"]),
)


@given(EVIDENCE, EVIDENCE)
def test_a_merged_memory_is_never_less_confident_than_either(one: Evidence, other: Evidence) -> None:
    together = merge_evidence(one, other, WritePolicyParams())
    assert together.repetitions == one.repetitions + other.repetitions + 1
    assert conf(together) >= max(conf(one), conf(other)) - 1e-12


@given(EVIDENCE)
def test_every_confidence_is_explained_and_lies_within_bounds(evidence: Evidence) -> None:
    term = memory_confidence(evidence, WritePolicyParams())
    assert 0 <= float(term.value) <= 1
    assert evaluate(term.tree()) == pytest.approx(float(term.value), abs=1e-9)


@pytest.mark.parametrize(
    "name", [name for name, one in WritePolicyParams.declarations().items() if one.kind == "number"]
)
def test_a_confidence_is_explained_for_every_write_parameter_value(name: str) -> None:
    declaration = WritePolicyParams.declarations()[name]
    for value in (declaration.low, declaration.high):
        try:
            policy = WritePolicyParams.of({name: value})
        except ParamsError:
            continue
        for evidence in (DIRECT, confirm_evidence(DIRECT), replace(DIRECT, grounding="partial", repetitions=10**9)):
            term = memory_confidence(evidence, policy)
            assert evaluate(term.tree()) == pytest.approx(float(term.value), abs=1e-9)


def test_a_weakly_grounded_memory_is_rejected_with_the_reason() -> None:
    thin = Evidence(frozenset({"speculation"}), type="Fact", model="haiku", grounding="partial")
    assert re.fullmatch(
        r"only partly grounded, so it keeps 0.2\d, and the floor is 0.30", rejection_reason(thin, WritePolicyParams())
    )
    assert (
        rejection_reason(replace(DIRECT, grounding="unsupported"), WritePolicyParams())
        == "its source does not support it"
    )
    assert rejection_reason(replace(DIRECT, grounding="partial"), WritePolicyParams()) == ""


def test_an_answer_without_claims_is_faithful_and_free_of_risk() -> None:
    assert faithfulness.faithfulness(0, 0) == 1.0
    assert faithfulness.risk(0, 0) == "none"


def test_three_unsupported_claims_are_a_high_risk_even_if_none_is_critical() -> None:
    assert faithfulness.risk(3, 0) == "high"
    assert faithfulness.risk(2, 2) == "medium"
    assert faithfulness.risk(2, 0) == "low"


def test_gradient_descent_recovers_planted_weights_and_lowers_the_error() -> None:
    rng = np.random.default_rng(1)
    signals, planted = rng.random((500, 4)), np.array([0.5, 0.1, 0.3, 0.1])
    fit = calibration.fit_weights(signals, signals @ planted, np.array([0.45, 0.20, 0.25, 0.10]), steps=2000, rate=0.5)
    np.testing.assert_allclose(fit.weights, planted, atol=0.01)
    assert fit.after < fit.before
    assert fit.weights.sum() == pytest.approx(1.0)


def test_recalibration_puts_the_preference_prior_first() -> None:
    policy = WritePolicyParams()
    findings = calibration.recalibration(
        0.95, 0.65,
        direct_limit=policy.direct_share, kappa_limit=policy.kappa_preference,
        source_weight=policy.formal_source, extractor_weight=policy.formal_extractor,
    )  # fmt: skip
    assert [finding.what for finding in findings] == ["recalibrate the Preference prior first", "weigh the source less"]
    assert WritePolicyParams.of(findings[1].change)


def test_initial_belief_cannot_exceed_the_protected_level() -> None:
    with pytest.raises(ParamsError, match="belief_start must not exceed belief_protected"):
        WritePolicyParams(belief_start=9.0)


def test_a_group_is_consolidated_around_its_middle() -> None:
    near = np.array([[1.0, 0.0], [0.9, math.sqrt(0.19)], [0.0, 1.0], [0.1, math.sqrt(0.99)]])
    assert dedup.consolidation_groups(near, 0.75) == [[0, 1], [2, 3]]
