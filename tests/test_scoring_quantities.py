"""What single formulas promise beyond their printed figures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import belief, calibration, dedup, faithfulness
from scoring.confidence import extractor_class, repetition
from scoring.contradiction import Statement, conflicts
from scoring.freshness import access_boost, effective_freshness
from scoring.policy import WritePolicy
from scoring.signals import TYPES, Edges, Signals
from scoring.specificity import plan_for
from scoring.systems import SYSTEMS
from scoring.systems.memorysync import EMPHASES, MemorysyncParams, weights
from scoring.systems.recall import RecallParams, confidence
from scoring.systems.system import rank

BELIEF = {"start": 5.0, "boost": 0.5, "penalty": 1.5, "protected": 8.0, "needed": 3}


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_observations_and_more_accesses_never_count_less(one: float, other: float) -> None:
    few, many = np.array(min(one, other)), np.array(max(one, other))
    assert repetition(few) <= repetition(many) < 1
    assert access_boost(few) <= access_boost(many)


@given(st.floats(-1e6, 1e6), st.floats(1, 1460), st.floats(0, 0.3))
def test_freshness_lies_between_its_floor_and_one(age: float, half_life: float, floor: float) -> None:
    assert floor <= float(effective_freshness(np.array(age), half_life, floor)) <= 1


@given(st.lists(st.sampled_from(["corroboration", "contradiction"]), max_size=40))
def test_belief_stays_on_its_scale_and_is_protected_only_with_enough_evidence(evidence: list[belief.Evidence]) -> None:
    reached = belief.folded(evidence, **BELIEF)
    assert 0 <= reached.value <= 10
    assert reached.corroborations + reached.contradictions == len(evidence)
    assert reached.value <= 8 or reached.corroborations >= 3


def test_the_order_of_the_evidence_matters_because_belief_is_clamped_at_each_step() -> None:
    low_first = belief.folded(["contradiction"] * 5 + ["corroboration"] * 2, **BELIEF)
    high_first = belief.folded(["corroboration"] * 2 + ["contradiction"] * 5, **BELIEF)
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
    ],
)
def test_a_contradiction_in_disguise_is_seen(one: str, other: str, reason: str) -> None:
    assert reason in conflicts(Statement(one), Statement(other))
    assert conflicts(Statement(other), Statement(one)) == conflicts(Statement(one), Statement(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Uses PostgreSQL for new projects", "New projects use PostgreSQL as their database"),
        ("Lives in Gothenburg since 2021", "Has lived in Gothenburg since 2021"),
        ("Enjoys hiking", "Enjoys hiking."),
    ],
)
def test_a_paraphrase_does_not_contradict(one: str, other: str) -> None:
    assert conflicts(Statement(one), Statement(other)) == ()


def test_the_same_subject_and_predicate_with_another_value_conflict() -> None:
    berlin = Statement("Lives in Berlin", "Maya", "lives_in", "Berlin")
    assert conflicts(berlin, Statement("Lives in Munich", "maya", "lives_in", "Munich")) == ("another value",)
    assert conflicts(berlin, Statement("Lives in Munich", "Priya", "lives_in", "Munich")) == ()


def test_the_hash_sees_through_form_but_not_through_content() -> None:
    one = dedup.content_hash("Fact", "Maya", "works_at", "Works at Arrive")
    assert one == dedup.content_hash("fact", " MAYA ", "works_at", "works at  Arrive!")
    assert one != dedup.content_hash("Fact", "Maya", "works_at", "Works at Arrival")


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
def test_a_models_name_finds_its_row_of_the_table(model: str, row: str) -> None:
    assert extractor_class(model) == row
    assert f"extractor_{row}" in WritePolicy.declared()


def test_token_probabilities_replace_the_table() -> None:
    given_logprobs = confidence(
        WritePolicy(), sources=["direct"], observations=0, model="haiku", type="Fact", logprobs=[math.log(0.61)] * 3
    )
    table = confidence(WritePolicy(), sources=["direct"], observations=0, model="haiku", type="Fact")
    assert float(table.value - given_logprobs.value) == pytest.approx(0.25 * 0.19)


def test_several_turns_count_as_the_strongest_and_none_as_a_strong_inference() -> None:
    policy = WritePolicy()
    several = confidence(policy, sources=["weak_inference", "confirmation"], observations=0, type="Fact")
    none = confidence(policy, sources=[], observations=0, type="Fact")
    assert several.find("source_confirmation") is not None
    assert none.find("source_strong_inference") is not None


def test_an_unknown_type_takes_the_unknown_prior() -> None:
    assert confidence(WritePolicy(), sources=["direct"], observations=0, type="Habit").find("prior_unknown") is not None


@pytest.mark.parametrize(
    ("specificity", "entity", "window", "plan"),
    [
        (0.80, 1.0, 1.0, "precise"),
        (0.79, 0.86, 1.0, "entity-centric"),
        (0.79, 0.85, 0.7, "temporal"),
        (0.39, 0.0, 0.3, "exploratory"),
        (0.40, 0.0, 0.3, "hybrid"),
    ],
)
def test_plans_are_tried_in_the_papers_order(specificity: float, entity: float, window: float, plan: str) -> None:
    p = RecallParams()
    chosen = plan_for(
        specificity, entity, window,
        precise=p.precise_from, exploratory=p.exploratory_below, entity_threshold=p.entity_above,
        window_threshold=p.window_from, precise_top_k=p.precise_top_k,
        entity_weight=p.entity_plan_weight, temporal_weight=p.temporal_plan_weight,
    )  # fmt: skip
    assert chosen.name == plan
    assert (chosen.rerank, chosen.diversify) == ((True, True) if plan == "exploratory" else (False, False))


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
    fit = calibration.fit_weights(signals, signals @ planted, np.array([0.45, 0.20, 0.25, 0.10]))
    np.testing.assert_allclose(fit.weights, planted, atol=0.01)
    assert fit.after < fit.before
    assert fit.weights.sum() == pytest.approx(1.0)


def test_recalibration_puts_the_preference_prior_first() -> None:
    policy = WritePolicy()
    findings = calibration.recalibration(
        0.95, 0.65,
        direct_limit=policy.direct_share, kappa_limit=policy.kappa_preference,
        source_weight=policy.formal_source, extractor_weight=policy.formal_extractor,
    )  # fmt: skip
    assert [finding.what for finding in findings] == ["recalibrate the Preference prior first", "weigh the source less"]
    assert WritePolicy.of(findings[1].change)


def test_a_memory_below_the_confidence_floor_is_held_back_unless_the_gate_is_off() -> None:
    signals = Signals(ids=np.array(["a", "b"]), confidence=np.array([0.49, 0.50]))
    recall = SYSTEMS["recall"]
    assert rank(recall, signals, RecallParams(), top_k=5).order.rows.tolist() == [1]
    assert rank(recall, signals, RecallParams(confidence_gate=False), top_k=5).order.rows.tolist() == [0, 1]


def test_a_protected_memory_of_adaptive_does_not_fade() -> None:
    signals = Signals(
        ids=np.array(["a", "b"]), belief=np.array([8.1, 8.0]), age_days=np.array([900.0, 900.0]),
        type=np.full(2, TYPES.index("Event")), ranks={"semantic": np.array([1.0, 2.0])},
    )  # fmt: skip
    freshness = SYSTEMS["adaptive"].score(signals, SYSTEMS["adaptive"].params()).find("freshness")
    assert freshness is not None
    assert freshness.value.tolist() == [1.0, 0.1]


def test_a_flat_batch_of_memorysync_falls_back_to_its_chain_and_says_so() -> None:
    signals = Signals(ids=np.array(["a", "b", "c"]), importance=np.array([0.5, 0.5, 0.5]))
    order = rank(SYSTEMS["memorysync"], signals, MemorysyncParams(), top_k=3).order
    assert order.tiebreak_applied
    assert signals.ids[order.rows].tolist() == ["c", "b", "a"]


def test_the_largest_edge_boost_reaches_a_memory_once_and_only_as_deep_as_allowed() -> None:
    edges = Edges(np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([0, 5, 1]), np.ones(3))
    signals = Signals(ids=np.array(list("abc")), cosine=np.array([0.9, 0.2, 0.1]), edges=edges)
    for depth, expected in ((1, [0.0, 0.08, 0.0]), (2, [0.08, 0.08, 0.07])):
        params = MemorysyncParams(anchors=1, traversal_depth=depth)
        boost = SYSTEMS["memorysync"].score(signals, params).find("edge boost")
        assert boost is not None
        assert boost.value.tolist() == expected


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_an_emphasis_lifts_its_factor_and_the_weights_still_add_up_to_one(emphasis: str) -> None:
    plain, lifted = weights(MemorysyncParams()), weights(MemorysyncParams(emphasis=emphasis))
    assert lifted[EMPHASES[emphasis]].value > plain[EMPHASES[emphasis]].value
    assert sum(float(weight.value) for weight in lifted.values()) == pytest.approx(1.0)


def test_a_session_of_memsense_is_carried_by_its_best_turn_up_to_the_cap() -> None:
    signals = Signals(
        ids=np.array(["session", "good turn", "poor turn"]), level=np.array([0, 1, 1]), session=np.zeros(3, np.intp),
        confidence=np.zeros(3),
        ranks={"vec_full": np.array([2.0, 1.0, 40.0]), "lexical": np.array([np.inf, 1.0, np.inf])},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    ranking = rank(system, signals, system.params(), top_k=5)
    support = ranking.score.find("turn_support")
    assert support is not None
    assert support.value[0] == pytest.approx(0.6 * (1 / 16 + 1 / 16))
    assert rank(system, signals, system.params(turn_cap=0.01), top_k=5).score.value[0] == pytest.approx(1 / 17 + 0.01)
    assert ranking.order.rows.tolist() == [0]


def test_a_chunk_no_route_found_gets_half_of_its_better_neighbours_score() -> None:
    signals = Signals(
        ids=np.array(list("abc")), session=np.zeros(3, np.intp), position=np.array([4, 5, 6]), confidence=np.zeros(3),
        ranks={"vec_full": np.array([1.0, np.inf, 3.0])},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    assert system.score(signals, system.params()).value.tolist() == pytest.approx([1 / 16, 0.5 / 16, 1 / 18])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("cosine", math.nan),
        ("age_days", math.inf),
        ("hours_left", math.nan),
        ("hours_left", -math.inf),
        ("memory_score", math.inf),
    ],
)
def test_a_signal_that_is_no_number_is_refused_with_its_candidate(column: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{column} must be a finite number.*; got .* for candidate b"):
        Signals(ids=np.array(["a", "b"]), **{column: np.array([0.5, value])})


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="cosine must have one value for each of 2 candidates"):
        Signals(ids=np.array(["a", "b"]), cosine=np.array([0.5]))


def test_a_rank_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="semantic rank must be a finite number, or inf where it is absent"):
        Signals(ids=np.array(["a"]), ranks={"semantic": np.array([math.nan])})
