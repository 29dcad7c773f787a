"""Many queries ranked at once are ranked as each by itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scoring_batches import batch, with_sessions, without_routes

from scoring.params import Choice, Declaration, Number, ParamsError
from scoring.signals import Signals
from scoring.stacking import stacked
from scoring.systems import SYSTEMS
from scoring.systems.system import System, rank, rank_each

MAKERS = (batch, with_sessions, without_routes)


def value_of(declaration: Declaration) -> st.SearchStrategy[Any]:
    """Any value a parameter may have."""
    match declaration:
        case Number(whole=True):
            return st.integers(int(declaration.low), int(declaration.high))
        case Number():
            return st.floats(declaration.low, declaration.high)
        case Choice():
            return st.sampled_from(declaration.options)
    return st.booleans()


def several(seed: int, count: int) -> list[Signals]:
    """Batches of unlike sizes and kinds; each memory has one id wherever it is found."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        size = int(rng.integers(1, 40))
        one = MAKERS[int(rng.integers(len(MAKERS)))](size, seed + number)
        if rng.random() < 0.3:
            one = replace(one, maxsim=np.full(size, np.inf))
        if rng.random() < 0.5:
            held = np.where(rng.random(size) < 0.5, -1.0, np.inf)
            one = replace(one, hours_left=held, met=rng.random(size), unmet=rng.random(size))
        if rng.random() < 0.2:
            one = replace(one, importance=np.full(size, 0.5), cosine=np.full(size, 0.25), age_days=np.zeros(size))
        made.append(replace(one, ids=np.char.add(f"{number:03}", one.ids)))
    return made


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), diversify=st.booleans(), top_k=st.sampled_from([1, 5, 10, 100]))
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_stack_is_ranked_as_each_of_its_batches(
    system: System, data: st.DataObject, seed: int, diversify: bool, top_k: int
) -> None:
    moved = data.draw(st.sets(st.sampled_from(sorted(system.params.declared())), max_size=8))
    try:
        params = system.params.of({name: data.draw(value_of(system.params.declared()[name])) for name in moved})
    except ParamsError:
        assume(False)
    groups: dict[Any, list[Signals]] = {}
    for one in several(seed, 12):
        groups.setdefault(bool(system.alike(one)[0]), []).append(one)
    for alike in groups.values():
        whole = stacked(alike)
        rows, abstained = rank_each(system, whole, params, top_k=top_k, diversify=diversify)
        score = np.broadcast_to(system.score(whole, params).value, len(whole))
        for place, (one, mine) in enumerate(zip(alike, whole.batches.parted(rows), strict=True)):
            alone = rank(system, one, params, top_k=top_k, diversify=diversify)
            start = whole.batches.starts[place]
            np.testing.assert_array_equal(score[start : start + len(one)], np.broadcast_to(alone.score.value, len(one)))
            assert whole.ids[mine].tolist() == one.ids[alone.order.rows].tolist()
            assert bool(abstained[place]) == alone.abstained


def test_a_memory_that_answers_many_queries_has_one_vector() -> None:
    one = batch(20)
    whole = stacked([one, one.permuted(np.arange(20)[::-1]), one])
    assert whole.vectors is not None
    assert len(whole.vectors) == 20
    for start, each in zip(whole.batches.starts, (one, one.permuted(np.arange(20)[::-1]), one), strict=True):
        np.testing.assert_array_equal(whole.vectors_of(start + np.arange(20)), each.vectors)
