"""What single formulas promise beyond their printed figures."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from evaluator import evaluate
from hypothesis import given
from hypothesis import strategies as st

from scoring import belief, calibration, dedup, faithfulness
from scoring.bm25 import saturation
from scoring.confidence import SOURCE_LEVELS, extractor_class, extractor_confidence, repetition
from scoring.contradiction import Statement, conflicts
from scoring.evidence import Evidence, confirmed, merged
from scoring.freshness import access_boost, effective_freshness, proximity, window_distance
from scoring.params import ParamsError
from scoring.policy import WritePolicy
from scoring.signals import KINDS, TYPES, Edges, Signals
from scoring.specificity import Plan, plan_for, planned
from scoring.systems import SYSTEMS
from scoring.systems.memorysync import EMPHASES, MemorysyncParams, weights
from scoring.systems.recall import RecallParams, confidence, rejection
from scoring.systems.system import System, rank

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
        ("Alice reports to Bob", "Bob now reports to Alice", "swapped roles"),
        ("The party is on the 3rd of March", "The party is on the 5th of March", "another number"),
        ("Wakes at 8am", "Wakes at 9am", "another number"),
        ("Runs pg14 in production", "Runs pg15 in production", "another number"),
        ("The limit is 50k rows", "The limit is 60k rows", "another number"),
        ("Deploys on Mondays", "Deploys on Tuesdays", "another date"),
        ("Has two children", "Has three children", "another number"),
        ("Likes C++", "Does not like C++", "negation"),
        ("Travels with a laptop", "Travels without a laptop", "with or without"),
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
        ("Joined Arrive, in Berlin", "Joined Arrive in Berlin"),
        ("Born on 3 Mar", "Born on 3 March"),
        ("Pays 1,000 crowns", "Pays 1000 crowns"),
        ("Lives at No. 5", "Lives at number 5"),
        ("May be late today", "Will be late today"),
        ("Drinks her coffee black", "Takes her coffee black, without sugar"),
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
def test_a_models_name_finds_its_row_of_the_table(model: str, row: str) -> None:
    assert extractor_class(model) == row
    assert f"extractor_{row}" in WritePolicy.declared()


def conf(evidence: Evidence) -> float:
    return float(confidence(evidence, WritePolicy()).value)


DIRECT = Evidence(frozenset({"direct"}), type="Fact", model="haiku")


def test_token_probabilities_replace_the_table() -> None:
    assert conf(DIRECT) - conf(replace(DIRECT, logprob=math.log(0.61))) == pytest.approx(0.25 * 0.19)


@pytest.mark.parametrize("logprobs", [[0.1], [math.nan], [-0.2, math.inf]])
def test_token_probabilities_above_one_are_refused(logprobs: list[float]) -> None:
    with pytest.raises(ValueError, match="logprobs must be numbers from −∞ to 0"):
        extractor_confidence(logprobs)


def test_several_turns_count_as_the_strongest_and_none_as_a_strong_inference() -> None:
    several = confidence(Evidence(frozenset({"weak_inference", "confirmation"}), type="Fact"), WritePolicy())
    assert several.find("source_confirmation") is not None
    assert confidence(Evidence(type="Fact"), WritePolicy()).find("source_strong_inference") is not None


def test_an_unknown_type_takes_the_unknown_prior() -> None:
    assert confidence(replace(DIRECT, type="Habit"), WritePolicy()).find("prior_unknown") is not None


def test_a_confirmation_lifts_the_source_counts_once_clears_doubt_and_is_capped() -> None:
    guess = Evidence(frozenset({"speculation"}), type="Entity", model="opus", grounding="partial")
    sure = confirmed(guess)
    assert (sure.repetitions, sure.grounding) == (1, "supported")
    assert conf(sure) == pytest.approx(0.45 * 0.80 + 0.20 * float(repetition(np.array(1.0))) + 0.25 * 0.9 + 0.1 * 0.9)
    perfect = WritePolicy(source_direct=1.0, extractor_haiku=1.0, prior_fact=1.0, weight_repetition=0.0)
    assert float(confidence(confirmed(DIRECT), perfect).value) == 0.99


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
def test_a_merged_memory_is_never_less_sure_than_either(one: Evidence, other: Evidence) -> None:
    together = merged(one, other, WritePolicy())
    assert together.repetitions == one.repetitions + other.repetitions + 1
    assert conf(together) >= max(conf(one), conf(other)) - 1e-12


@given(EVIDENCE)
def test_every_confidence_is_explained_and_lies_within_bounds(evidence: Evidence) -> None:
    whole = confidence(evidence, WritePolicy())
    assert 0 <= float(whole.value) <= 1
    assert evaluate(whole.tree()) == pytest.approx(float(whole.value), abs=1e-9)


@pytest.mark.parametrize("name", [name for name, one in WritePolicy.declared().items() if one.kind == "number"])
def test_a_confidence_stays_explained_wherever_a_write_parameter_stands(name: str) -> None:
    declaration = WritePolicy.declared()[name]
    for value in (declaration.low, declaration.high):
        try:
            policy = WritePolicy.of({name: value})
        except ParamsError:
            continue
        for evidence in (DIRECT, confirmed(DIRECT), replace(DIRECT, grounding="partial", repetitions=10**9)):
            whole = confidence(evidence, policy)
            assert evaluate(whole.tree()) == pytest.approx(float(whole.value), abs=1e-9)


def test_what_is_too_thinly_grounded_is_rejected_with_the_reason() -> None:
    thin = Evidence(frozenset({"speculation"}), type="Fact", model="haiku", grounding="partial")
    assert re.fullmatch(
        r"only partly grounded, so it keeps 0.2\d, and the floor is 0.30", rejection(thin, WritePolicy())
    )
    assert rejection(replace(DIRECT, grounding="unsupported"), WritePolicy()) == "its source does not support it"
    assert rejection(replace(DIRECT, grounding="partial"), WritePolicy()) == ""


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
    fit = calibration.fit_weights(signals, signals @ planted, np.array([0.45, 0.20, 0.25, 0.10]), steps=2000, rate=0.5)
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
    for depth, expected in ((1, [0.0, 0.08, 0.0]), (2, [0.0, 0.08, 0.07])):
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


def test_affinity_and_session_add_what_the_source_says() -> None:
    signals = Signals(
        ids=np.array(list("abc")), affinity=np.array([0.0, 0.5, 1.0]), returned=np.array([True, False, False])
    )
    score = SYSTEMS["memorysync"].score(signals, MemorysyncParams())
    assert score.value.tolist() == pytest.approx([0.03, 0.05, 0.10])


def test_the_composite_score_is_the_weighted_sum_of_its_dimensions() -> None:
    signals = Signals(
        ids=np.array(["a"]), cosine=np.array([0.8]), confidence=np.array([0.9]), valid_hours=np.array([10.0]),
        useful=np.array([3.0]), provenance_depth=np.array([1.0]), hours_left=np.array([48.0]),
    )  # fmt: skip
    trust = 0.9 * 0.9 * (1 - math.exp(-0.02 * 48))
    expected = 0.4 * 0.8 + 0.3 * trust + 0.2 * math.exp(-0.05 * 10) + 0.1 * (4 / 5)
    system = SYSTEMS["contextdb"]
    assert float(system.score(signals, system.params()).value[0]) == pytest.approx(expected)


def test_a_query_rate_overrides_the_kinds_own() -> None:
    signals = Signals(ids=np.array(["a"]), kind=np.array([KINDS.index("working")]), valid_hours=np.array([10.0]))
    system = SYSTEMS["contextdb"]
    own, asked = (system.score(signals, system.params(alpha_by=by)).find("recency") for by in ("kind", "query"))
    assert own is not None
    assert asked is not None
    assert float(own.value[0]) == pytest.approx(0.0)
    assert float(asked.value[0]) == pytest.approx(math.exp(-0.5))


def test_blend_fuses_reranks_and_weighs_as_it_says() -> None:
    signals = Signals(
        ids=np.array(list("abc")), confidence=np.array([1.0, 0.5, 0.5]), maxsim=np.array([0.9, np.inf, 0.2]),
        entity_match=np.array([0.0, 1.0, 0.0]),
        scores={"semantic": np.array([0.8, 0.6, 0.4]), "bm25": np.array([np.inf, 10.0, 5.0])},
    )  # fmt: skip
    system = SYSTEMS["blend"]
    fused = [0.5 * 1.0, 0.5 * 0.5 + 0.5 * 1.0 + 0.1, 0.0]
    relevance = [0.3 * fused[0] + 0.7 * 0.9, fused[1], 0.7 * 0.2]
    trust = [1 + 0.1 * 0.5, 1.0, 1.0]
    expected = [relevance[i] * trust[i] * (1 + 0.1 * 0.5) for i in range(3)]
    assert system.score(signals, system.params()).value.tolist() == pytest.approx(expected)


def test_an_answer_is_withheld_when_its_best_hit_is_unlikely_to_be_relevant() -> None:
    signals = Signals(ids=np.array(["a"]), maxsim=np.array([0.2]), scores={"semantic": np.array([0.4])})
    system = SYSTEMS["blend"]
    params = system.params(abstain_below=0.5, abstain_intercept=-4.0, abstain_maxsim=10.0)
    doubtful = rank(system, signals, params, top_k=3)
    assert doubtful.chance == pytest.approx(1 / (1 + math.exp(2.0)))
    assert doubtful.abstained
    assert not rank(system, replace(signals, maxsim=np.array([0.9])), params, top_k=3).abstained


def test_an_expired_session_chunk_does_not_push_the_others_aside() -> None:
    signals = Signals(
        ids=np.array(["session", "fact"]), level=np.array([0, 2]), session=np.zeros(2, np.intp),
        hours_left=np.array([-1.0, np.inf]), ranks={"vec_full": np.array([1.0, 2.0])},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    assert rank(system, signals, system.params(), top_k=3).order.rows.tolist() == [1]


def test_the_papers_raw_relevance_of_mmr_is_the_fused_score() -> None:
    signals = Signals(
        ids=np.array(["a", "b"]), access_count=np.array([50.0, 0.0]), vectors=np.eye(2),
        ranks={"semantic": np.array([2.0, 1.0])},
    )  # fmt: skip
    picks = rank(SYSTEMS["recall"], signals, RecallParams(mmr="on", mmr_relevance="raw"), top_k=2).order.picks
    assert [pick.relevance for pick in picks] == pytest.approx([1 / 61, 1 / 62])


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_everything_a_system_says_it_outputs_is_in_its_score(system: System) -> None:
    sessions = Signals(
        ids=np.array(["a"]), level=np.array([0]), session=np.zeros(1, np.intp), position=np.zeros(1, np.intp)
    )
    score = system.score(sessions, system.params())
    found = {name: score.find(term) for name, term in system.outputs.items()}
    assert [name for name, term in found.items() if term is None or term.value.shape != (1,)] == []


def test_memsense_tells_the_routes_and_the_turns_behind_a_session() -> None:
    signals = Signals(
        ids=np.array(["session", "one", "two"]), level=np.array([0, 1, 1]), session=np.zeros(3, np.intp),
        ranks={"vec_full": np.array([2.0, 3.0, np.inf]), "lexical": np.array([1.0, 1.0, 9.0])},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    told = system.details(signals, system.params(), 0)
    assert told["routes"] == ["lexical", "vec_full"]
    assert (told["supporting_turn_count"], told["best_turn_routes"]) == (2, ["lexical", "vec_full"])


@pytest.mark.parametrize("k1", [0.0, 3.0])
@pytest.mark.parametrize("b", [0.0, 1.0])
@pytest.mark.parametrize(("length", "average"), [(0.0, 10.0), (10.0, 10.0), (0.0, 0.0)])
def test_words_are_scored_finitely_at_the_edges_of_their_parameters(
    k1: float, b: float, length: float, average: float
) -> None:
    score = saturation(np.array([0.0, 1.0, 1e9]), length, average, k1, b)
    assert np.isfinite(score).all()
    assert score[0] == 0.0


@pytest.mark.parametrize("sigma", [0.1, 5.0])
def test_time_is_scored_finitely_at_the_edges_of_its_bandwidth(sigma: float) -> None:
    far = window_distance(np.array([-1e12, 0.0, 1e12]), 5.0, 5.0)
    assert np.isfinite(proximity(far, sigma)).all()


def test_what_the_caller_gives_wins_over_the_plan() -> None:
    plan = Plan("entity-centric", params={"weight_entity": 2.0})
    assert planned(RecallParams, plan, {}).weight_entity == 2.0
    assert planned(RecallParams, plan, {"weight_entity": 0.5}).weight_entity == 0.5


def test_a_whole_number_may_come_as_a_float_and_counts_as_one() -> None:
    params = RecallParams(cut=50.0)  # type: ignore[arg-type]
    assert (params.cut, type(params.cut)) == (50, int)
    with pytest.raises(ParamsError, match="rrf_k must be a number from 10 to 200"):
        RecallParams(rrf_k=10**400)


def test_belief_cannot_begin_where_it_would_be_protected_without_evidence() -> None:
    with pytest.raises(ParamsError, match="belief_start must not exceed belief_protected"):
        WritePolicy(belief_start=9.0)


@pytest.mark.parametrize(
    "vectors", [np.eye(3), np.array([[np.nan, 0.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.0]])]
)
def test_vectors_of_another_number_or_length_are_refused(vectors: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match="vectors must"):
        Signals(ids=np.array(["a", "b"]), vectors=vectors)


def test_an_edge_to_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="edges must join candidates 0 to 0"):
        Signals(ids=np.array(["a"]), edges=Edges(np.array([0]), np.array([4]), np.array([0]), np.ones(1)))


def test_a_group_is_consolidated_around_its_middle() -> None:
    near = np.array([[1.0, 0.0], [0.9, math.sqrt(0.19)], [0.0, 1.0], [0.1, math.sqrt(0.99)]])
    assert dedup.consolidated(near, 0.75) == [[0, 1], [2, 3]]
