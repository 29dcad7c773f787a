"""Many queries ranked at once are ranked as each by itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scoring_batches import batch, with_sessions, without_routes

from scoring.diversity import in_common, jaccard, mmr, packed
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


def test_the_best_of_each_batch_are_those_of_a_sort_by_score_and_then_by_id() -> None:
    rng = np.random.default_rng(3)
    whole = stacked(several(3, 30))
    value = rng.integers(0, 4, len(whole)).astype(float)
    rows = rng.permutation(np.flatnonzero(rng.random(len(whole)) < 0.7))
    order = rows[np.lexsort((whole.ids[rows], -value[rows], whole.batches.of_each[rows]))]
    for most in (None, 1, 5, 100):
        found = whole.batches.best(value, whole.by_id, rows, most)
        np.testing.assert_array_equal(found, whole.batches.first(order, most))


def test_the_spread_of_each_batch_is_its_own_to_the_last_bit() -> None:
    whole = stacked(several(5, 200))
    values = np.random.default_rng(5).normal(size=len(whole))
    each = [np.std(values[rows]) for rows in whole.batches.parted(np.arange(len(whole)))]
    np.testing.assert_array_equal(whole.batches.deviations(values), each)


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.sets(st.integers(0, 199)), st.sets(st.integers(0, 199))), min_size=1, max_size=9))
def test_tags_are_shared_as_sets_share_them(pairs: list[tuple[set[int], set[int]]]) -> None:
    marked = np.array([[[tag in one for tag in range(200)] for one in pair] for pair in pairs])
    ours, theirs = packed(marked[:, 0]), packed(marked[:, 1])
    sizes = in_common(ours, ours), in_common(theirs, theirs)
    expected = [len(one & other) / len(one | other) if one | other else 0.0 for one, other in pairs]
    np.testing.assert_array_equal(jaccard(in_common(ours, theirs), *sizes), expected)


def test_no_tags_at_all_are_no_overlap() -> None:
    none = packed(np.zeros((3, 0), bool))
    np.testing.assert_array_equal(in_common(none, none), np.zeros(3))


@pytest.mark.parametrize(("count", "dimensions"), [(37, 24), (37, 256), (9, 383), (37, 384)])
def test_equal_memories_are_equally_redundant_wherever_they_stand(count: int, dimensions: int) -> None:
    one, other = np.random.default_rng(7).normal(size=(2, dimensions)).astype(np.float32)
    vectors = np.stack([one, *[other] * count])[None]
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    found = mmr(np.array([[2.0, *[1.0] * count]]), vectors, balance=0.5, top_k=count + 1)
    assert found.rows[0].tolist() == list(range(count + 1))
