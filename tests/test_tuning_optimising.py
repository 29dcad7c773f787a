"""The optimiser finds what is there to be found, and says so when nothing is."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tuning_arrays import noise, planted

from memories.models.choices import Part
from memories.retrieval.query import Setting
from memories.tuning.arrays import Arrays
from memories.tuning.choosing import chosen
from memories.tuning.evaluating import INVENTED, LOST, MAIN, measured
from memories.tuning.objective import Objective, gain, part_of
from memories.tuning.pareto import front
from scoring.params import ParamsError
from scoring.searching import Axis, Search
from scoring.systems import SYSTEMS

WEIGHTS = ("weight_semantic", "weight_bm25", "rrf_k", "half_life_fact")
RECALL = SYSTEMS["recall"]


def allowed(system: str, values: Any) -> bool:
    """Whether a setting breaks no rule."""
    try:
        SYSTEMS[system].params.of(values)
    except ParamsError:
        return False
    return True


def searched(whole: Arrays, names: tuple[str, ...], tries: int, seed: int = 1) -> Search:
    """A search on the tune part, by hand."""
    system, objective, tune = whole.system, Objective(MAIN), part_of(whole, Part.TUNE)
    axes = [Axis(name, system.params.declared()[name]) for name in names]
    search = Search(axes, system.params().as_dict(), lambda values: allowed(system.name, values), tries // 3, seed)
    while len(search.tried) < tries and (values := search.proposal()) is not None:
        search.tell(values, float(objective.each(measured(tune, Setting(system, values))).mean()))
    return search


def settled(whole: Arrays, search: Search) -> dict[str, Any]:
    """What is taken from a search."""
    tune, usual = part_of(whole, Part.TUNE), whole.system.params().as_dict()
    changed = {name: value for name, value in search.best[0].items() if value != usual[name]}
    return chosen(
        changed,
        lambda values: Objective(MAIN).each(measured(tune, Setting(whole.system, values))),
        lambda values: allowed(whole.system.name, values),
    )


def test_a_planted_optimum_is_found_and_proven_on_the_hold_out() -> None:
    whole = planted(RECALL, 90)
    held = part_of(whole, Part.HOLDOUT)
    taken = settled(whole, searched(whole, WEIGHTS, 150))
    found = gain(Objective(MAIN), measured(held, Setting(RECALL)), measured(held, Setting(RECALL, taken)))
    assert found.proven
    assert measured(held, Setting(RECALL, taken)).mean(MAIN) > 0.97
    # Words count, meaning does not; the rest was put back.
    assert set(taken) <= {"weight_semantic", "weight_bm25", "rrf_k"}
    assert taken.get("weight_bm25", 1.0) > 5 * taken.get("weight_semantic", 1.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_noise_nothing_beats_what_is_there(seed: int) -> None:
    whole = noise(RECALL, 120)
    held = part_of(whole, Part.HOLDOUT)
    taken = settled(whole, searched(whole, WEIGHTS, 120, seed))
    found = gain(Objective(MAIN), measured(held, Setting(RECALL)), measured(held, Setting(RECALL, taken)))
    assert not found.proven


def test_the_same_seed_tries_the_same_settings_and_another_seed_others() -> None:
    whole = planted(RECALL, 12)
    first, again, other = (searched(whole, WEIGHTS, 60, seed).tried for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert first[0][0] == {name: RECALL.params().as_dict()[name] for name in WEIGHTS}


@settings(max_examples=30, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1000))
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_setting_that_is_proposed_is_allowed_on_the_steps_of_its_slider_and_new(
    system: str, data: st.DataObject, seed: int
) -> None:
    declared = {name: one for name, one in SYSTEMS[system].params.declared().items() if one.scope == "score"}
    names = data.draw(st.lists(st.sampled_from(sorted(declared)), min_size=1, max_size=5, unique=True))
    axes = [Axis(name, declared[name]) for name in names]
    usual = SYSTEMS[system].params().as_dict()
    search = Search(axes, usual, lambda values: allowed(system, {**usual, **values}), 10, seed)
    rng, seen = np.random.default_rng(seed), set()
    while len(search.tried) < 30 and (values := search.proposal()) is not None:
        assert SYSTEMS[system].params.of({**usual, **values}).as_dict() == {**usual, **values}
        assert tuple(values.values()) not in seen
        seen.add(tuple(values.values()))
        search.tell(values, float(rng.random()))
        assert all(axis.value(axis.place(values[axis.name])) == values[axis.name] for axis in axes)


def test_a_search_of_a_switch_ends_when_both_sides_were_tried() -> None:
    search = Search([Axis("gate", RECALL.params.declared()["confidence_gate"])], {"gate": True}, lambda _: True, 4, 1)
    while (values := search.proposal()) is not None:
        search.tell(values, 0.0)
    assert sorted(values["gate"] for values, _ in search.tried) == [False, True]


def test_one_part_of_a_set_is_measured_as_within_the_whole() -> None:
    whole = planted(RECALL, 30)
    setting = Setting(RECALL, {"weight_semantic": 0.4})
    for part in Part:
        assert measured(part_of(whole, part), setting).mean(MAIN) == measured(whole, setting).mean(MAIN, part)


def test_an_error_of_abstaining_costs_its_price() -> None:
    whole = planted(SYSTEMS["blend"], 12)
    for query in whole.queries[::2]:
        query.kind = "never_stored"
    found = measured(whole, Setting(SYSTEMS["blend"], {"abstain_below": 0.0}))
    assert (found.mean(LOST), found.mean(INVENTED)) == (0.0, 1.0)
    free, priced = Objective(MAIN).each(found), Objective(MAIN, 0.5).each(found)
    assert free.mean() == pytest.approx(found.mean(MAIN))
    assert priced.mean() == pytest.approx((6 * found.mean(MAIN) - 0.5 * 6) / 12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30), st.booleans())
def test_a_setting_is_on_the_front_when_no_other_beats_it(points: list[tuple[int, int]], more: bool) -> None:
    quality, other = (np.array(side, dtype=float) for side in zip(*points, strict=True))
    marked, cost = front(quality, other, more), -other if more else other
    for place, (mine, price) in enumerate(zip(quality, cost, strict=True)):
        beaten = ((quality >= mine) & (cost <= price) & ((quality > mine) | (cost < price))).any()
        first = not ((quality[:place] == mine) & (cost[:place] == price)).any()
        assert marked[place] == (not beaten and first)
