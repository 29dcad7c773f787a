"""The optimiser finds a planted optimum, and says so when there is none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.models.choices import Split
from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import FALSE_ABSTENTION, FALSE_ANSWER, MAIN_METRIC, measure_config
from memories.tuning.objective import Objective, paired_gain, split_arrays
from memories.tuning.pareto import pareto_front
from memories.tuning.parsimony import simplest_change
from scoring.params import ParamsError
from scoring.searching import ParamAxis, ParamSearch
from scoring.systems import SYSTEMS
from tests.support.examples import examples
from tests.support.judged_arrays import noise_arrays, planted_arrays

WEIGHTS = ("weight_semantic", "weight_bm25", "rrf_k", "half_life_fact")
RECALL = SYSTEMS["recall"]


def is_valid(system: str, values: Any) -> bool:
    """Whether a setting breaks no rule."""
    try:
        SYSTEMS[system].params.of(values)
    except ParamsError:
        return False
    return True


def run_search(whole: Arrays, names: tuple[str, ...], tries: int, seed: int = 1) -> ParamSearch:
    """A search on the tune split, by hand."""
    system, objective, tune = whole.system, Objective(MAIN_METRIC), split_arrays(whole, Split.TUNE)
    axes = [ParamAxis(name, system.params.declarations()[name]) for name in names]
    search = ParamSearch(
        axes, system.params().as_dict(), lambda values: is_valid(system.name, values), tries // 3, seed
    )
    while len(search.evaluated) < tries and (values := search.propose()) is not None:
        search.record(values, float(objective.per_query(measure_config(tune, Config(system, values))).mean()))
    return search


def simplify(whole: Arrays, search: ParamSearch) -> dict[str, Any]:
    """What is taken from a search."""
    tune, usual = split_arrays(whole, Split.TUNE), whole.system.params().as_dict()
    changed = {name: value for name, value in search.best[0].items() if value != usual[name]}
    return simplest_change(
        changed,
        lambda values: Objective(MAIN_METRIC).per_query(measure_config(tune, Config(whole.system, values))),
        lambda values: is_valid(whole.system.name, values),
    )


def test_a_planted_optimum_is_found_and_proven_on_the_hold_out() -> None:
    whole = planted_arrays(RECALL, 90)
    held = split_arrays(whole, Split.HOLDOUT)
    taken = simplify(whole, run_search(whole, WEIGHTS, 150))
    found = paired_gain(
        Objective(MAIN_METRIC), measure_config(held, Config(RECALL)), measure_config(held, Config(RECALL, taken))
    )
    assert found.significant
    assert measure_config(held, Config(RECALL, taken)).mean(MAIN_METRIC) > 0.97
    # Words count, meaning does not; the rest was put back.
    assert set(taken) <= {"weight_semantic", "weight_bm25", "rrf_k"}
    assert taken.get("weight_bm25", 1.0) > 5 * taken.get("weight_semantic", 1.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_noise_nothing_beats_what_is_there(seed: int) -> None:
    whole = noise_arrays(RECALL, 120)
    held = split_arrays(whole, Split.HOLDOUT)
    taken = simplify(whole, run_search(whole, WEIGHTS, 120, seed))
    found = paired_gain(
        Objective(MAIN_METRIC), measure_config(held, Config(RECALL)), measure_config(held, Config(RECALL, taken))
    )
    assert not found.significant


def test_the_same_seed_tries_the_same_configurations_and_another_seed_others() -> None:
    whole = planted_arrays(RECALL, 12)
    first, again, other = (run_search(whole, WEIGHTS, 60, seed).evaluated for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert first[0][0] == {name: RECALL.params().as_dict()[name] for name in WEIGHTS}


@settings(max_examples=examples(10, fuzz=30))
@given(data=st.data(), seed=st.integers(0, 1000))
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_proposed_configuration_is_valid_on_the_steps_of_its_sliders_and_new(
    system: str, data: st.DataObject, seed: int
) -> None:
    declared = {name: one for name, one in SYSTEMS[system].params.declarations().items() if one.scope == "score"}
    names = data.draw(st.lists(st.sampled_from(sorted(declared)), min_size=1, max_size=5, unique=True))
    axes = [ParamAxis(name, declared[name]) for name in names]
    usual = SYSTEMS[system].params().as_dict()
    search = ParamSearch(axes, usual, lambda values: is_valid(system, {**usual, **values}), 10, seed)
    rng, seen = np.random.default_rng(seed), set()
    while len(search.evaluated) < 30 and (values := search.propose()) is not None:
        assert SYSTEMS[system].params.of({**usual, **values}).as_dict() == {**usual, **values}
        assert tuple(values.values()) not in seen
        seen.add(tuple(values.values()))
        search.record(values, float(rng.random()))
        assert all(axis.value(axis.position(values[axis.name])) == values[axis.name] for axis in axes)


def test_a_search_of_a_switch_ends_when_both_sides_were_tried() -> None:
    search = ParamSearch(
        [ParamAxis("gate", RECALL.params.declarations()["confidence_gate"])], {"gate": True}, lambda _: True, 4, 1
    )
    while (values := search.propose()) is not None:
        search.record(values, 0.0)
    assert sorted(values["gate"] for values, _ in search.evaluated) == [False, True]


def test_one_part_of_a_set_is_measured_as_within_the_whole() -> None:
    whole = planted_arrays(RECALL, 30)
    setting = Config(RECALL, {"weight_semantic": 0.4})
    for split in Split:
        assert measure_config(split_arrays(whole, split), setting).mean(MAIN_METRIC) == measure_config(
            whole, setting
        ).mean(MAIN_METRIC, split)


def test_an_error_of_abstaining_costs_its_price() -> None:
    whole = planted_arrays(SYSTEMS["blend"], 12)
    for query in whole.queries[::2]:
        query.kind = "unanswerable"
    found = measure_config(whole, Config(SYSTEMS["blend"], {"abstain_below": 0.0}))
    assert (found.mean(FALSE_ABSTENTION), found.mean(FALSE_ANSWER)) == (0.0, 1.0)
    free, priced = Objective(MAIN_METRIC).per_query(found), Objective(MAIN_METRIC, 0.5).per_query(found)
    assert free.mean() == pytest.approx(found.mean(MAIN_METRIC))
    assert priced.mean() == pytest.approx((6 * found.mean(MAIN_METRIC) - 0.5 * 6) / 12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30), st.booleans())
def test_a_configuration_is_on_the_front_when_no_other_beats_it(points: list[tuple[int, int]], more: bool) -> None:
    quality, other = (np.array(side, dtype=float) for side in zip(*points, strict=True))
    marked, cost = pareto_front(quality, other, more), -other if more else other
    for place, (mine, price) in enumerate(zip(quality, cost, strict=True)):
        beaten = ((quality >= mine) & (cost <= price) & ((quality > mine) | (cost < price))).any()
        first = not ((quality[:place] == mine) & (cost[:place] == price)).any()
        assert marked[place] == (not beaten and first)
