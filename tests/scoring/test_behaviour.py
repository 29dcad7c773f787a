"""How the systems rank, gate and explain."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.bm25 import saturation
from scoring.freshness import effective_freshness, proximity, window_distance
from scoring.params import ParamsError
from scoring.signals import EMPHASES, KINDS, NO_EMPHASIS, TYPES, Edges, Signals
from scoring.specificity import Plan, params_for_plan, plan_for
from scoring.systems import SYSTEMS
from scoring.systems.blend import BlendParams
from scoring.systems.memorysync import EMPHASISED_FACTOR, FACTORS, MemorysyncParams, factor_weights
from scoring.systems.recall import RecallParams
from scoring.systems.system import System, rank
from tests.support.explanations import evaluate
from tests.support.scoring_inputs import batch, ids, random_params, with_sessions, without_retrievers

# Columns that blend uses besides ranked lists and MaxSim.
NEAR_DUPLICATES = (
    *("type", "age_days", "confidence", "entity_match"),
    *("belief", "useful", "not_useful", "access_count"),
)


@given(st.floats(-1e6, 1e6), st.floats(1, 1460), st.floats(0, 0.3))
def test_freshness_lies_between_its_floor_and_one(age: float, half_life: float, floor: float) -> None:
    assert floor <= float(effective_freshness(np.array(age), half_life, floor)) <= 1


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


def test_a_memory_below_the_minimum_confidence_is_filtered_unless_the_gate_is_off() -> None:
    signals = Signals(ids=np.array(["a", "b"]), confidence=np.array([0.49, 0.50]))
    recall = SYSTEMS["recall"]
    assert rank(recall, signals, RecallParams(), top_k=5).order.rows.tolist() == [1]
    assert rank(recall, signals, RecallParams(confidence_gate=False), top_k=5).order.rows.tolist() == [0, 1]


def test_a_protected_memory_of_adaptive_does_not_fade() -> None:
    signals = Signals(
        ids=np.array(["a", "b"]), protected=np.array([True, False]), age_days=np.array([900.0, 900.0]),
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
    signals = Signals(
        ids=np.array(list("abc")), cosine=np.array([0.9, 0.2, 0.1]), edges=edges,
        ranks={"semantic": np.array([1.0, np.inf, np.inf])},
    )  # fmt: skip
    for depth, expected in ((1, [0.0, 0.08, 0.0]), (2, [0.0, 0.08, 0.07])):
        params = MemorysyncParams(anchors=1, traversal_depth=depth)
        boost = SYSTEMS["memorysync"].score(signals, params).find("edge boost")
        assert boost is not None
        assert boost.value.tolist() == expected


@pytest.mark.parametrize("emphasis", EMPHASES)
def test_an_emphasis_lifts_its_factor_and_the_weights_still_add_up_to_one(emphasis: str) -> None:
    params, raised = MemorysyncParams(), EMPHASISED_FACTOR[emphasis]
    plain, bumped = factor_weights(params, NO_EMPHASIS), factor_weights(params, emphasis)
    assert bumped[raised].value > plain[raised].value
    assert sum(float(weight.value) for weight in bumped.values()) == pytest.approx(1.0)
    # Before normalisation no weight is below the default profile's: all others fall in the same proportion.
    ratios = [float(bumped[factor].value / plain[factor].value) for factor in ("cluster", "importance", "usage")]
    assert ratios == pytest.approx([1 / (1 + params.emphasis_bump)] * 3)
    assert all(bumped[factor].parts[0].value >= plain[factor].parts[0].value for factor in FACTORS)


@given(st.sampled_from(EMPHASES), st.sampled_from([f"weight_{factor}" for factor in FACTORS]), st.floats(0.01, 1))
def test_a_named_weight_switches_the_emphasis_of_the_query_off(emphasis: str, weight: str, value: float) -> None:
    system, signals = SYSTEMS["memorysync"], replace(batch(20), emphasis=emphasis)
    plan = Plan("all")
    named = params_for_plan(system.params, plan, {weight: value})
    assert system.weighting(signals, named).emphasis == NO_EMPHASIS
    chosen = params_for_plan(system.params, plan, {weight: value, "emphasis": emphasis})
    assert system.weighting(signals, chosen).emphasis == emphasis
    assert system.weighting(signals, params_for_plan(system.params, plan, {})).emphasis == emphasis


def test_a_session_of_memsense_is_supported_by_its_best_turn_up_to_the_cap() -> None:
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


def conversation() -> Signals:
    """Seven chunks of one session, of which a retriever found the first, third, fourth and last."""
    ranks = np.array([3.0, np.inf, 1.0, 4.0, np.inf, np.inf, 2.0])
    position, session = np.arange(7) + 4, np.zeros(7, np.intp)
    return Signals(
        ids=np.array(list("abcdefg")), session=session, position=position, confidence=np.full(7, 0.5),
        ranks={"vec_full": ranks},
    )  # fmt: skip


def test_selected_chunks_bring_the_ones_beside_them_after_the_selection() -> None:
    system, signals = SYSTEMS["memsense"], conversation()
    ranking = rank(system, signals, system.params(), top_k=2)
    assert signals.ids[ranking.order.rows].tolist() == ["c", "g", "b", "d", "f"]
    assert signals.ids[ranking.order.ranked].tolist() == ["c", "g"]
    final = {name: 1 / (15 + place) + 0.05 for name, place in (("c", 1), ("g", 2), ("d", 4))}
    expected = {**final, "b": final["c"] / 2, "f": final["g"] / 2}
    scores = dict(zip(signals.ids.tolist(), ranking.score.value.tolist(), strict=True))
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    for row in ranking.order.rows.tolist():
        assert evaluate(ranking.score.tree(row)) == pytest.approx(ranking.score.value[row])


def test_a_neighbour_does_not_compete_with_what_a_retriever_found() -> None:
    system, signals = SYSTEMS["memsense"], conversation()
    ranking = rank(system, signals, system.params(neighbour_share=1.0), top_k=4)
    assert signals.ids[ranking.order.rows].tolist() == ["c", "g", "a", "d", "b", "f", "e"]


def test_an_expired_neighbour_does_not_come_along() -> None:
    system, signals = SYSTEMS["memsense"], conversation()
    expired = replace(signals, hours_left=np.where(signals.ids == "b", -1.0, np.inf))
    ranking = rank(system, expired, system.params(), top_k=1)
    assert signals.ids[ranking.order.rows].tolist() == ["c", "d"]


def test_the_candidate_limit_takes_the_best_fused_and_leaves_no_room_to_neighbours() -> None:
    n = 40
    signals = Signals(
        ids=ids(n), confidence=np.linspace(0, 1, n), session=np.zeros(n, np.intp), position=2 * np.arange(n),
        ranks={"vec_full": np.arange(n) + 1.0},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    params = system.params(memory_weight=1.0)
    # 32 = max(4 · 1, 32): the 32nd by rank has the highest confidence of those within the limit.
    assert rank(system, signals, params, top_k=1).order.rows.tolist() == [31]


def test_each_score_of_memsense_is_the_sum_that_its_explain_gives() -> None:
    system = SYSTEMS["memsense"]
    for signals in (conversation(), with_sessions(60), without_retrievers(60)):
        ranking = rank(system, signals, system.params(), top_k=5)
        for row in ranking.order.rows.tolist():
            explain = system.details(signals, system.params(), ranking.order, row)["explain"]
            own = explain["rrf_score"] + explain.get("turn_support", 0.0) + explain["memory_share"]
            score = own if explain["anchor_share"] is None else explain["anchor_share"]
            assert ranking.score.value[row] == pytest.approx(score)
            anchor = ranking.order.anchors.get(row)
            assert explain["neighbour_of"] == (None if anchor is None else str(signals.ids[anchor]))


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
    by_kind, by_query = (system.score(signals, system.params(alpha_by=by)).find("recency") for by in ("kind", "query"))
    assert by_kind is not None
    assert by_query is not None
    assert float(by_kind.value[0]) == pytest.approx(0.0)
    assert float(by_query.value[0]) == pytest.approx(math.exp(-0.5))


def test_blend_fuses_reranks_and_weighs_as_it_says() -> None:
    signals = Signals(
        ids=np.array(list("abc")), confidence=np.array([1.0, 0.5, 0.5]), maxsim=np.array([0.9, np.inf, 0.2]),
        entity_match=np.array([0.0, 1.0, 0.0]),
        scores={"semantic": np.array([0.8, 0.6, 0.4]), "bm25": np.array([np.inf, 10.0, 5.0])},
    )  # fmt: skip
    system = SYSTEMS["blend"]
    fused = [0.6 * 1.0, 0.6 * 0.5 + 0.4 * 1.0 + 1.0, 0.0]
    relevance = [0.25 * fused[0] + 0.75 * 0.9, 0.25 * fused[1] + 0.75 * 0.9, 0.75 * 0.2]
    trust = [1 + 0.1 * 0.5, 1.0, 1.0]
    expected = [relevance[i] * trust[i] * (1 + 0.2 * 0.5) for i in range(3)]
    assert system.score(signals, system.params()).value.tolist() == pytest.approx(expected)


@given(seed=st.integers(0, 2**32 - 1))
def test_evidence_feedback_and_accesses_move_a_score_of_blend_within_their_amplitudes(seed: int) -> None:
    params = random_params(BlendParams, np.random.default_rng(seed))
    plain = replace(
        batch(30, seed),
        belief=np.full(30, 5.0),
        useful=np.zeros(30),
        not_useful=np.zeros(30),
        access_count=np.zeros(30),
    )
    before = SYSTEMS["blend"].score(plain, params).value
    for columns, amplitude, low, high in (
        (("belief",), params.belief, -0.5, 0.5),
        (("useful", "not_useful"), params.utility, -0.5, 0.5),
        (("access_count",), params.use, 0.0, 1.0),
    ):
        known = {column: getattr(batch(30, seed), column) for column in columns}
        ratio = SYSTEMS["blend"].score(replace(plain, **known), params).value / np.where(before, before, 1.0)
        assert (ratio[before != 0] >= 1 + amplitude * low - 1e-12).all()
        assert (ratio[before != 0] <= 1 + amplitude * high + 1e-12).all()


@given(seed=st.integers(0, 2**32 - 1))
def test_without_evidence_feedback_and_accesses_their_amplitudes_change_no_score_of_blend(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 30
    neutral = {name: np.full(n, Signals.columns()[name][0]) for name in NEAR_DUPLICATES[4:]}
    signals, names = replace(batch(n, seed), **neutral), ("belief", "utility", "use")
    off = SYSTEMS["blend"].score(signals, BlendParams(**dict.fromkeys(names, 0.0)))
    on = SYSTEMS["blend"].score(signals, BlendParams(**{name: float(rng.random()) for name in names}))
    np.testing.assert_array_equal(off.value, on.value)


@pytest.mark.parametrize(
    ("found", "shares"),
    [
        ([7.2, np.inf, np.inf], [1.0, 0.0, 0.0]),
        ([7.2, 7.2, np.inf], [1.0, 1.0, 0.0]),
        ([0.0, np.inf, np.inf], [1.0, 0.0, 0.0]),
        ([7.2, 3.6, np.inf], [1.0, 0.0, 0.0]),
        ([7.2, 3.6, 5.4], [1.0, 0.0, 0.5]),
    ],
)
def test_a_sole_match_of_a_retriever_and_equal_ones_count_fully(found: list[float], shares: list[float]) -> None:
    signals = Signals(ids=np.array(list("abc")), scores={"bm25": np.array(found)})
    fused = SYSTEMS["blend"].score(signals, BlendParams()).find("fused")
    assert fused is not None
    assert fused.value.tolist() == pytest.approx([0.4 * share for share in shares])


@given(n=st.integers(2, 30), seed=st.integers(0, 2**32 - 1), best=st.booleans())
def test_missing_token_vectors_never_beat_the_best_match_among_equals(n: int, seed: int, best: bool) -> None:
    rng, plain = np.random.default_rng(seed), batch(n, seed)
    pair = rng.choice(n, 2, replace=False)
    same = np.arange(n)
    same[pair[1]] = pair[0]
    columns: dict[str, Any] = {name: getattr(plain, name)[same] for name in NEAR_DUPLICATES}
    equal = replace(plain, scores={retriever: score[same] for retriever, score in plain.scores.items()}, **columns)
    matched = plain.maxsim.copy()
    known = matched[np.isfinite(matched)]
    matched[pair[0]] = 1.0 if best or not known.size else known.max()
    matched[pair[1]] = np.inf
    params = replace(random_params(BlendParams, rng), rerank_top=500, confidence_gate=False)
    score = SYSTEMS["blend"].score(replace(equal, maxsim=matched), params).value
    assert score[pair[1]] <= score[pair[0]] + 1e-12


def test_maxsim_is_imputed_only_if_some_token_vectors_are_missing() -> None:
    system, fused_alone = SYSTEMS["blend"], BlendParams(rerank=0.0)
    known, unknown = (replace(batch(40), maxsim=maxsim) for maxsim in (np.linspace(0, 1, 40), np.full(40, np.inf)))
    assert system.score(known, system.params()).find("expected MaxSim") is None
    nobody = system.score(unknown, system.params())
    assert nobody.value.tolist() == pytest.approx(system.score(unknown, fused_alone).value.tolist())


def test_it_abstains_when_only_another_entity_has_the_answer() -> None:
    signals = Signals(
        ids=np.array(["hers", "his"]), term_coverage=np.array([0.4, 0.8]), uncovered_terms=np.array([0.5, 0.0]),
        answer_entity_match=np.array([1.0, 0.0]), scores={"semantic": np.array([0.4, 0.3])},
    )  # fmt: skip
    system = SYSTEMS["blend"]
    params = system.params(abstain_below=0.5, abstain_intercept=2.0, abstain_gap=-10.0, abstain_uncovered=-1.0)
    doubtful = rank(system, signals, params, top_k=3)
    assert doubtful.answer_probability == pytest.approx(1 / (1 + math.exp(2.5)))
    assert doubtful.abstained
    assert not rank(system, replace(signals, answer_entity_match=np.array([0.0, 1.0])), params, top_k=3).abstained


def test_it_abstains_when_what_covers_the_query_best_is_about_another_person() -> None:
    signals = Signals(
        ids=np.array(["hers", "his", "his too"]), term_coverage=np.array([0.7, 0.8, 0.9]), uncovered_terms=np.zeros(3),
        answer_entity_match=np.array([1.0, 0.0, 0.0]), about_another=np.array([False, True, True]),
    )  # fmt: skip
    system = SYSTEMS["blend"]
    fitted = {"abstain_intercept": 2.0, "abstain_gap": -1.0, "abstain_uncovered": -1.0, "abstain_another": -3.0}
    for nearest, share in ((1, 1.0), (2, 1.0), (3, 2 / 3), (8, 2 / 3)):
        ranking = rank(system, signals, system.params(**fitted, abstain_nearest=nearest), top_k=3)
        assert ranking.answer_probability == pytest.approx(1 / (1 + math.exp(-(2 - 0.2 - 3 * share))))
        assert ranking.abstained
    expired = replace(signals, hours_left=np.array([np.inf, -1.0, -1.0]))
    assert not rank(system, expired, system.params(**fitted), top_k=3).abstained


def test_it_abstains_when_no_memory_matches_the_answer_type() -> None:
    signals = Signals(
        ids=np.array(["hers", "his"]), term_coverage=np.array([0.8, 0.3]), uncovered_terms=np.array([0.0, 0.9]),
        answer_type_match=np.array([False, True]), scores={"semantic": np.array([0.4, 0.3])},
    )  # fmt: skip
    system = SYSTEMS["blend"]
    params = system.params(abstain_below=0.5, abstain_intercept=2.0, abstain_gap=-10.0, abstain_uncovered=-1.0)
    # Of what matches, .3 is covered: .1 less than .4, at a coefficient of −8.
    assert rank(system, signals, params, top_k=3).answer_probability == pytest.approx(1 / (1 + math.exp(3.9 + 0.8)))
    assert not rank(system, replace(signals, answer_type_match=np.array([True, False])), params, top_k=3).abstained
    nothing = rank(system, replace(signals, answer_type_match=np.zeros(2, bool)), params, top_k=3)
    assert nothing.answer_probability == pytest.approx(1 / (1 + math.exp(7.0 + 3.2)))


def test_it_abstains_when_nothing_covers_the_query_even_if_nothing_else_covers_it_better() -> None:
    alone = Signals(ids=np.array(["hers"]), term_coverage=np.array([0.2]), uncovered_terms=np.array([1.0]))
    system = SYSTEMS["blend"]
    ranking = rank(system, alone, system.params(), top_k=3)
    assert ranking.answer_probability == pytest.approx(1 / (1 + math.exp(-(3 - 1.5 - 8 * (0.4 - 0.2)))))
    assert ranking.abstained
    for enough in (0.4, 0.7):
        covered = replace(alone, term_coverage=np.array([enough]))
        assert rank(system, covered, system.params(), top_k=3).answer_probability == pytest.approx(
            1 / (1 + math.exp(-1.5))
        )


def test_a_filtered_memory_does_not_raise_the_answer_probability() -> None:
    signals = Signals(
        ids=np.array(["his", "was hers"]), term_coverage=np.array([0.8, 0.9]), uncovered_terms=np.zeros(2),
        answer_entity_match=np.array([0.0, 1.0]), scores={"semantic": np.array([0.4, 0.3])},
    )  # fmt: skip
    system = SYSTEMS["blend"]
    expired = replace(signals, hours_left=np.array([np.inf, -1.0]))
    assert not rank(system, signals, system.params(), top_k=3).abstained
    assert rank(system, expired, system.params(), top_k=3).abstained
    # Nor does it lower it.
    both_hers = replace(expired, answer_entity_match=np.ones(2))
    alone = rank(system, both_hers.permute(np.array([0])), system.params(), top_k=3)
    assert rank(system, both_hers, system.params(), top_k=3).answer_probability == alone.answer_probability


def test_an_expired_session_chunk_does_not_filter_the_others() -> None:
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


def test_memsense_reports_the_retrievers_and_the_turns_behind_a_session() -> None:
    signals = Signals(
        ids=np.array(["session", "one", "two", "beside"]), level=np.array([0, 1, 1, 1]), session=np.zeros(4, np.intp),
        ranks={"vec_full": np.array([2.0, 3.0, np.inf, np.inf]), "lexical": np.array([1.0, 1.0, 9.0, np.inf])},
    )  # fmt: skip
    system = SYSTEMS["memsense"]
    order = rank(system, signals, system.params(), top_k=5).order
    details = system.details(signals, system.params(), order, 0)
    assert details["found_by"] == ["lexical", "vec_full"]
    explain, score = details["explain"], system.score(signals, system.params())
    assert (explain["supporting_turn_count"], explain["best_turn_found_by"]) == (2, ["lexical", "vec_full"])
    for name in ("session_rrf_score", "turn_support"):
        term = score.find(name)
        assert term is not None
        assert explain[name] == term.value[0]
    assert "turn_support" not in system.details(signals, system.params(), order, 1)["explain"]


@pytest.mark.parametrize("k1", [0.0, 3.0])
@pytest.mark.parametrize("b", [0.0, 1.0])
@pytest.mark.parametrize(("length", "average"), [(0.0, 10.0), (10.0, 10.0), (0.0, 0.0)])
def test_bm25_is_finite_at_the_bounds_of_its_parameters(k1: float, b: float, length: float, average: float) -> None:
    score = saturation(np.array([0.0, 1.0, 1e9]), length, average, k1, b)
    assert np.isfinite(score).all()
    assert score[0] == 0.0


@pytest.mark.parametrize("sigma", [0.1, 5.0])
def test_temporal_proximity_is_finite_at_the_bounds_of_its_bandwidth(sigma: float) -> None:
    far = window_distance(np.array([-1e12, 0.0, 1e12]), 5.0, 5.0)
    assert np.isfinite(proximity(far, sigma)).all()


def test_what_the_caller_gives_wins_over_the_plan() -> None:
    plan = Plan("entity-centric", params={"weight_entity": 2.0})
    assert params_for_plan(RecallParams, plan, {}).weight_entity == 2.0
    assert params_for_plan(RecallParams, plan, {"weight_entity": 0.5}).weight_entity == 0.5


def test_a_whole_number_may_come_as_a_float_and_counts_as_one() -> None:
    params = RecallParams(cut=50.0)  # type: ignore[arg-type]
    assert (params.cut, type(params.cut)) == (50, int)
    with pytest.raises(ParamsError, match="rrf_k must be a number from 10 to 200"):
        RecallParams(rrf_k=10**400)


@pytest.mark.parametrize(
    "vectors", [np.eye(3), np.array([[np.nan, 0.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.0]])]
)
def test_vectors_of_another_number_or_length_are_refused(vectors: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match="vectors must"):
        Signals(ids=np.array(["a", "b"]), vectors=vectors)


def test_an_edge_to_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="edges must join candidates 0 to 0"):
        Signals(ids=np.array(["a"]), edges=Edges(np.array([0]), np.array([4]), np.array([0]), np.ones(1)))


# Optional features, and the column of each.
FEW = {"edges": "edges", "clusters": "cluster_cosine", "returned": "returned", "mentions": "affinity", "tags": "tags"}


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_system_ignores_optional_features_it_does_not_declare(system: System, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 8
    vectors = rng.normal(size=(count, 6))
    signals = Signals(
        ids=np.array([f"m{number}" for number in range(count)]),
        cosine=rng.random(count),
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        ranks={retriever: 1.0 + rng.permutation(count) for retriever in system.retrievers},
        scores={retriever: rng.random(count) for retriever in system.retrievers},
    )
    features = {
        "edges": Edges(*(rng.integers(0, count, 12) for _ in range(2)), rng.integers(0, 9, 12), rng.random(12)),
        "cluster_cosine": rng.random(count),
        "returned": rng.random(count) < 0.5,
        "affinity": rng.random(count),
        "tags": rng.random((count, 3)) < 0.5,
    }
    unused = {name: features[name] for declared, name in FEW.items() if declared not in system.optional_features}
    params = system.params()
    plain, other = (rank(system, one, params, top_k=5, diversify=True) for one in (signals, replace(signals, **unused)))
    assert other.score.value.tolist() == plain.score.value.tolist()
    assert other.order.rows.tolist() == plain.order.rows.tolist()
