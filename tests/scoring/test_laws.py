"""Invariants of every scoring system, over every declared parameter."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scoring.params import Choice, Declaration, Inert, Number, ParamProblem, Params, ParamsError, Switch
from scoring.policy import WritePolicyParams
from scoring.signals import EDGE_KINDS, EMPHASES, INTENTS, NO_EMPHASIS, TYPES, Edges, Signals
from scoring.specificity import Plan
from scoring.stacking import select_candidates
from scoring.systems import SYSTEMS
from scoring.systems.recall import RERANK
from scoring.systems.system import System, inert_parameters, passing, rank
from tests.support.examples import examples
from tests.support.explanations import evaluate
from tests.support.scoring_inputs import batch, ids, random_params, with_sessions, without_retrievers

BATCHES = {
    "mixed": batch(60),
    "sessions": with_sessions(60),
    "neighbours": without_retrievers(60),
    "one candidate": batch(1),
    "all equal": Signals(ids=ids(7)),
    "empty": batch(0),
    "clock skew": batch(20, age_days=np.full(20, -3.0)),
    "huge counts": batch(20, access_count=np.full(20, 1e9), useful=np.full(20, 1e9), age_days=np.full(20, 1e9)),
}
SETS: dict[str, type[Params]] = {
    **{name: system.params for name, system in SYSTEMS.items()},
    "policy": WritePolicyParams,
}
DECLARATIONS = [
    (owner, name, declaration) for owner, params in SETS.items() for name, declaration in params.declarations().items()
]
USED_SIGNALS = [(owner, name, declaration) for owner, name, declaration in DECLARATIONS if owner in SYSTEMS]


def case_id(case: tuple[str, str, Declaration]) -> str:
    return f"{case[0]}.{case[1]}"


def every_setting(declaration: Declaration) -> list[Any]:
    """Bounds, middle and default of a range; every option of a choice."""
    match declaration:
        case Number():
            middle = math.sqrt(declaration.low * declaration.high) if declaration.log else None
            values = {
                declaration.low,
                declaration.high,
                declaration.default,
                middle or (declaration.low + declaration.high) / 2,
            }
            return sorted({round(value) if declaration.is_integer else value for value in values})
        case Choice():
            return list(declaration.options)
        case _:
            return [True, False]


def bad_values(declaration: Declaration) -> list[Any]:
    match declaration:
        case Number():
            beyond = [declaration.low - declaration.step, declaration.high + declaration.step]
            fraction = [declaration.low + 0.5] if declaration.is_integer else []
            return [*beyond, *fraction, math.nan, math.inf, -math.inf, None, True, "1", [1]]
        case Choice():
            return ["no such option", "", None, 1, True]
        case _:
            return [1, 0, "true", None]


def with_value(params: type[Params], name: str, value: Any) -> Params | None:
    """The defaults with one value changed; None if that violates a rule between parameters."""
    try:
        return params.of({name: value})
    except ParamsError as error:
        if any(rule.message in problem.message for rule in params.rules for problem in error.problems):
            return None
        raise


@pytest.mark.parametrize("where", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_every_score_is_finite_and_there_is_one_per_candidate(system: System, where: str) -> None:
    signals = BATCHES[where]
    score = system.score(signals, system.params())
    assert np.broadcast_to(score.value, len(signals)).shape == (len(signals),)
    assert np.isfinite(score.value).all()


@pytest.mark.parametrize("case", USED_SIGNALS, ids=case_id)
def test_scores_stay_finite_over_the_whole_range_of_a_parameter(case: tuple[str, str, Declaration]) -> None:
    system, name, declaration = SYSTEMS[case[0]], case[1], case[2]
    for value in every_setting(declaration):
        params = with_value(system.params, name, value)
        for signals in (BATCHES["mixed"], BATCHES["sessions"], BATCHES["neighbours"], BATCHES["huge counts"]):
            if params is not None:
                assert np.isfinite(system.score(signals, params).value).all(), (name, value)


@pytest.mark.parametrize("where", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_an_independent_evaluator_recomputes_every_score_from_the_explanation_alone(system: System, where: str) -> None:
    signals = BATCHES[where]
    score = system.score(signals, system.params())
    for row, tree in enumerate(json.loads(json.dumps(score.trees(range(len(signals))), allow_nan=False))):
        assert evaluate(tree) == pytest.approx(score.value[row], abs=1e-9, rel=1e-9)
        assert tree["value"] == score.value[row]


@pytest.mark.parametrize("case", USED_SIGNALS, ids=case_id)
def test_explanations_add_up_for_every_parameter_value(case: tuple[str, str, Declaration]) -> None:
    system, name, declaration = SYSTEMS[case[0]], case[1], case[2]
    for value in every_setting(declaration):
        params = with_value(system.params, name, value)
        for signals in (BATCHES["mixed"], BATCHES["sessions"]):
            if params is None:
                continue
            score = system.score(signals, params)
            for row, tree in zip((0, 17, 42), score.trees([0, 17, 42]), strict=True):
                assert evaluate(tree) == pytest.approx(score.value[row], abs=1e-9, rel=1e-9), (name, value)


@pytest.mark.parametrize("where", ["mixed", "sessions", "neighbours", "one candidate"])
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_the_order_of_the_candidates_does_not_matter(system: System, where: str) -> None:
    signals = BATCHES[where]
    shuffle = np.random.default_rng(5).permutation(len(signals))
    original = rank(system, signals, system.params(), top_k=20, diversify=True)
    shuffled = rank(system, signals.permute(shuffle), system.params(), top_k=20, diversify=True)
    np.testing.assert_allclose(shuffled.score.value, original.score.value[shuffle], rtol=1e-12, atol=1e-15)
    assert signals.ids[original.order.rows].tolist() == signals.ids[shuffle][shuffled.order.rows].tolist()


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_equal_candidates_are_ordered_by_id(system: System) -> None:
    signals = Signals(ids=ids(9)[::-1])
    order = rank(system, signals, system.params(), top_k=9).order
    expected = sorted(signals.ids.tolist(), reverse=order.tiebreak_applied)
    assert signals.ids[order.rows].tolist() == expected


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_expired_and_not_yet_valid_memories_are_filtered(system: System) -> None:
    signals = Signals(ids=ids(3), hours_left=np.array([np.inf, -1.0, np.inf]), valid_hours=np.array([5.0, 5.0, -5.0]))
    assert rank(system, signals, system.params(), top_k=3).order.rows.tolist() == [0]


# In memsense, turns do not come back beside sessions, but support theirs.
INDIFFERENT_TO_FILTERED = sorted(SYSTEMS.keys() - {"memsense"})


@settings(max_examples=examples(25, fuzz=100))
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.1, 0.5, 0.9]), diversify=st.booleans())
@pytest.mark.parametrize("name", INDIFFERENT_TO_FILTERED)
def test_a_candidate_that_a_gate_filters_changes_nothing_for_the_others(
    name: str, seed: int, share: float, diversify: bool
) -> None:
    system, rng = SYSTEMS[name], np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    expired = np.where(rng.random(size) < share, -1.0, np.inf)
    level = ("cosine", "cluster_cosine", "importance") if rng.random() < 0.3 else ()
    flat = {column: np.full(size, 0.5) for column in level}
    signals, params = batch(size, seed, hours_left=expired, **flat), random_params(system.params, rng)
    passed = np.flatnonzero(passing(signals, system.gates(signals, params)))
    assume(len(passed))
    beside = rank(system, signals, params, top_k=10, diversify=diversify)
    alone = rank(system, select_candidates(signals, passed), params, top_k=10, diversify=diversify)
    np.testing.assert_array_equal(beside.score.value[passed], alone.score.value)
    assert beside.order.rows.tolist() == passed[alone.order.rows].tolist()
    assert beside.order.tiebreak_applied == alone.order.tiebreak_applied
    assert [pick[1:3] for pick in beside.order.picks] == [pick[1:3] for pick in alone.order.picks]
    assert (beside.answer_probability, beside.abstained) == (alone.answer_probability, alone.abstained)


@pytest.mark.parametrize("case", DECLARATIONS, ids=case_id)
def test_the_edges_of_a_range_are_accepted(case: tuple[str, str, Declaration]) -> None:
    owner, name, declaration = case
    for value in every_setting(declaration):
        params = with_value(SETS[owner], name, value)
        assert params is None or getattr(params, name) == value


@pytest.mark.parametrize("case", DECLARATIONS, ids=case_id)
def test_a_value_out_of_range_is_rejected_with_what_is_allowed_and_what_was_passed(
    case: tuple[str, str, Declaration],
) -> None:
    owner, name, declaration = case
    for value in bad_values(declaration):
        with pytest.raises(ParamsError) as refusal:
            SETS[owner].of({name: value})
        assert refusal.value.problems == [ParamProblem(name, f"must be {declaration.allowed_values()}; got {value!r}")]


@pytest.mark.parametrize("owner", SETS)
def test_an_unknown_parameter_is_rejected_with_the_names_that_exist(owner: str) -> None:
    with pytest.raises(
        ParamsError, match=f"no_such is not a parameter here; allowed are {next(iter(SETS[owner].declarations()))}"
    ):
        SETS[owner].of({"no_such": 1})


@pytest.mark.parametrize(("owner", "rule"), [(owner, rule) for owner, params in SETS.items() for rule in params.rules])
def test_a_rule_between_parameters_is_enforced_and_named(owner: str, rule: Any) -> None:
    declared = SETS[owner].declarations()
    if "all be zero" in rule.message:
        broken = dict.fromkeys(rule.names, 0.0)
    else:
        lower, upper = rule.names
        broken = {lower: declared[lower].high, upper: declared[upper].low}
        assert broken[lower] > broken[upper], "the rule cannot be violated"
    with pytest.raises(ParamsError) as refusal:
        SETS[owner].of(broken)
    assert refusal.value.problems[0].at == rule.names[0]
    assert rule.message in refusal.value.problems[0].message


@pytest.mark.parametrize("case", DECLARATIONS, ids=case_id)
def test_every_declaration_has_a_description_and_a_source(case: tuple[str, str, Declaration]) -> None:
    owner, _, declaration = case
    assert declaration.affects
    assert declaration.group
    assert declaration.source.startswith(("000", "001", "002", "003", "004", "ours"))
    assert (declaration.scope == "write") == (owner == "policy")
    assert isinstance(declaration, Switch | Choice | Number)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_every_preset_is_a_valid_set_of_parameters(system: System) -> None:
    for preset in system.presets.values():
        assert system.params.of(preset).as_dict().items() >= preset.items()


# Other values required for a parameter to have an effect.
EFFECTIVE_WITH = {
    "memorysync": {
        "half_life_high": {"intent": "HIGH"},
        "half_life_low": {"intent": "LOW"},
        "emphasis_bump": {"emphasis": "factual"},
        **{f"half_life_{type.lower()}": {"weight_decay": 0.3} for type in TYPES},
        "freshness_floor": {"weight_decay": 0.3},
        "personalisation_rate": {"personalisation_cap": 0.2},
    },
    "blend": {"min_confidence": {"confidence_gate": True}},
    **{name: {"mmr_lambda": {"mmr": "on"}, "mmr_relevance": {"mmr": "on"}} for name in ("recall", "adaptive")},
}


INERT = [(name, inert) for name, system in SYSTEMS.items() for inert in system.params.inert]


def outcome(system: System, signals: Signals, params: Params, diversify: bool) -> tuple[object, ...]:
    """What a caller sees of a ranking."""
    ranking = rank(system, signals, params, top_k=500, diversify=diversify)
    score = np.broadcast_to(ranking.score.value, len(signals)).tobytes()
    return score, tuple(ranking.order.rows), ranking.answer_probability, ranking.abstained


def outcomes(system: System, params: Params, name: str, signals: Signals, diversify: bool) -> set[tuple[object, ...]]:
    """The outcomes over the range of a parameter, all others as they are."""
    found = {outcome(system, signals, params, diversify)}
    for value in every_setting(params.declarations()[name]):
        try:
            found.add(outcome(system, signals, params.with_values(**{name: value}), diversify))
        except ParamsError:
            continue
    return found


@settings(max_examples=examples(3, fuzz=30), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), diversify=st.booleans())
@pytest.mark.parametrize("case", INERT, ids=lambda case: f"{case[0]}: {case[1].reason}")
def test_a_parameter_that_is_declared_inert_moves_nothing(case: tuple[str, Inert], seed: int, diversify: bool) -> None:
    system, inert, rng = SYSTEMS[case[0]], case[1], np.random.default_rng(seed)
    while True:
        forced = {name: values[int(rng.integers(len(values)))] for name, values in inert.when.items()}
        try:
            params = random_params(system.params, rng).with_values(**forced)
        except ParamsError:  # the random values break a rule with the forced ones
            continue
        break
    assert inert.holds(params)
    declared = system.params.declarations()
    for name in inert.names:
        assert params.inert_parameters()[name]
        if declared[name].scope == "score":
            for signals in (batch(20, seed), with_sessions(20, seed), of_query("HIGH", "recent"), chain()):
                served = without_reranker(signals) if getattr(params, "reranker", "") == "off" else signals
                assert len(outcomes(system, params, name, served, diversify)) == 1, name


def without_reranker(signals: Signals) -> Signals:
    """The candidates of a query that is not reranked."""
    return replace(signals, ranks={name: rank for name, rank in signals.ranks.items() if name != RERANK})


@settings(max_examples=examples(5, fuzz=50), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), intent=st.sampled_from(INTENTS), emphasis=st.sampled_from((NO_EMPHASIS, *EMPHASES))
)
@pytest.mark.parametrize("diversify", [False, True])
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_parameter_that_is_inert_for_a_query_moves_nothing_for_it(
    system: System, diversify: bool, seed: int, intent: str, emphasis: str
) -> None:
    signals, plan = of_query(intent, emphasis, seed), Plan("hybrid", diversify=diversify, rerank=diversify)
    params = random_params(system.params, np.random.default_rng(seed)) if seed % 2 else system.params()
    if getattr(system.settle(params, signals, plan), "reranker", "") == "off":
        signals = without_reranker(signals)
    reasons = inert_parameters(system, params, signals, plan)
    assert reasons.items() >= params.inert_parameters().items()
    for name in reasons:
        fixed = name in ("mmr", "reranker")  # another choice is another plan
        if system.params.declarations()[name].scope == "score" and not fixed:
            assert len(outcomes(system, params, name, signals, diversify)) == 1, name


def of_query(intent: str, emphasis: str, seed: int = 0) -> Signals:
    """A batch of a query with an intent and an emphasis."""
    return replace(batch(20, seed), intent=intent, emphasis=emphasis)


@pytest.mark.parametrize("case", [case for case in USED_SIGNALS if case[2].scope == "score"], ids=case_id)
def test_a_parameter_that_moves_nothing_by_default_is_declared_inert(case: tuple[str, str, Declaration]) -> None:
    system, name, _ = SYSTEMS[case[0]], case[1], case[2]
    params = system.params()
    queries = [of_query(intent, emphasis) for intent in INTENTS for emphasis in (NO_EMPHASIS, *EMPHASES)]
    batches = (*BATCHES.values(), flat(), chain(), *queries)
    moves = any(
        len(outcomes(system, params, name, signals, diversify)) > 1
        for diversify in (False, True)
        for signals in batches
    )
    assert moves != (name in inert_parameters(system, params))


def test_a_query_leaves_only_the_half_life_of_its_intent() -> None:
    system, signals = SYSTEMS["memorysync"], of_query("LOW", "none")
    reasons = inert_parameters(system, system.params(), signals, Plan("all"))
    half_lives = {name: reason for name, reason in reasons.items() if name in ("half_life_high", "half_life_medium")}
    assert half_lives == dict.fromkeys(("half_life_high", "half_life_medium"), "the recency intent is LOW")
    assert "half_life_low" not in reasons
    assert reasons["freshness_floor"] == "decay has no weight"
    decay = system.params(weight_decay=0.1)
    assert "freshness_floor" not in inert_parameters(system, decay, signals, Plan("all"))


@pytest.mark.parametrize("case", [case for case in USED_SIGNALS if case[2].scope == "score"], ids=case_id)
def test_every_score_parameter_moves_a_score_or_an_order(case: tuple[str, str, Declaration]) -> None:
    system, name, declaration = SYSTEMS[case[0]], case[1], case[2]
    base = EFFECTIVE_WITH.get(system.name, {}).get(name, {})
    outcomes: dict[str, set[tuple[object, ...]]] = {}
    for value in every_setting(declaration):
        if with_value(system.params, name, value) is None:
            continue
        for where, signals in (*BATCHES.items(), ("flat", flat()), ("chain", chain())):
            ranking = rank(system, signals, system.params.of({**base, name: value}), top_k=500)
            outcome = (
                ranking.score.value.tobytes(),
                tuple(ranking.order.rows),
                ranking.answer_probability,
                ranking.abstained,
            )
            outcomes.setdefault(where, set()).add(outcome)
    assert any(len(seen) > 1 for seen in outcomes.values()), f"{name} changes nothing"


def flat() -> Signals:
    """A batch whose hybrid scores hardly differ, so that the tiebreak applies."""
    n = 300
    return Signals(ids=ids(n), cosine=np.r_[np.full(n - 1, 0.5), 0.9], importance=np.r_[0.9, np.full(n - 1, 0.5)])


def chain() -> Signals:
    """Low-ranked candidates, connected to the top by paths of one, two and three edges of every kind."""
    n, kinds = 60, len(EDGE_KINDS)
    first = np.arange(kinds)
    source = np.r_[first, first + 10, first + 20]
    edges = Edges(source, source + 10, np.tile(first, 3), np.ones(3 * kinds))
    ranks = {"semantic": np.arange(n) + 1.0}
    return Signals(
        ids=ids(n), cosine=np.linspace(0.9, 0.1, n), edges=edges, age_days=np.linspace(0, 400, n), ranks=ranks
    )
