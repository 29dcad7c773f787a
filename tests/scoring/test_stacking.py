"""Stacked queries rank as each query alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scoring.diversity import jaccard, mmr, pack_tags, shared_tags
from scoring.params import Choice, Declaration, Number, ParamsError
from scoring.signals import Signals
from scoring.stacking import stack_signals
from scoring.systems import SYSTEMS
from scoring.systems.system import System, rank, rank_batches, score_and_order
from tests.support.examples import examples
from tests.support.scoring_inputs import batch, with_sessions, without_retrievers

MAKERS = (batch, with_sessions, without_retrievers)


def random_value(declaration: Declaration) -> st.SearchStrategy[Any]:
    """Strategy for allowed values of a parameter."""
    match declaration:
        case Number(is_integer=True):
            return st.integers(int(declaration.low), int(declaration.high))
        case Number():
            return st.floats(declaration.low, declaration.high)
        case Choice():
            return st.sampled_from(declaration.options)
    return st.booleans()


def signals_of_queries(seed: int, count: int) -> list[Signals]:
    """Batches of different sizes and kinds; ids are unique per memory."""
    rng = np.random.default_rng(seed)
    batches = []
    for number in range(count):
        size = int(rng.integers(1, 40))
        one = MAKERS[int(rng.integers(len(MAKERS)))](size, seed + number)
        if rng.random() < 0.3:
            one = replace(one, maxsim=np.full(size, np.inf))
        if rng.random() < 0.5:
            hours_left = np.where(rng.random(size) < 0.5, -1.0, np.inf)
            one = replace(one, hours_left=hours_left, term_coverage=rng.random(size), uncovered_terms=rng.random(size))
        if rng.random() < 0.2:
            one = replace(one, importance=np.full(size, 0.5), cosine=np.full(size, 0.25), age_days=np.zeros(size))
        batches.append(replace(one, ids=np.char.add(f"{number:03}", one.ids)))
    return batches


@settings(max_examples=examples(12, fuzz=40))
@given(data=st.data(), seed=st.integers(0, 10_000), diversify=st.booleans(), top_k=st.sampled_from([1, 5, 10, 100]))
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_stack_is_ranked_as_each_of_its_batches(
    system: System, data: st.DataObject, seed: int, diversify: bool, top_k: int
) -> None:
    names = data.draw(st.sets(st.sampled_from(sorted(system.params.declarations())), max_size=8))
    try:
        params = system.params.of({name: data.draw(random_value(system.params.declarations()[name])) for name in names})
    except ParamsError:
        assume(False)
    groups: dict[Any, list[Signals]] = {}
    for one in signals_of_queries(seed, 12):
        groups.setdefault(bool(system.batch_key(one)[0]), []).append(one)
    for group in groups.values():
        stack = stack_signals(group)
        rows, abstained = rank_batches(system, stack, params, top_k=top_k, diversify=diversify)
        score = np.broadcast_to(score_and_order(system, stack, params, top_k, diversify)[0].value, len(stack))
        for place, (one, mine) in enumerate(zip(group, stack.batches.split(rows), strict=True)):
            alone = rank(system, one, params, top_k=top_k, diversify=diversify)
            start = stack.batches.starts[place]
            np.testing.assert_array_equal(score[start : start + len(one)], np.broadcast_to(alone.score.value, len(one)))
            assert stack.ids[mine].tolist() == one.ids[alone.order.rows].tolist()
            assert bool(abstained[place]) == alone.abstained


def test_a_memory_that_answers_many_queries_has_one_vector() -> None:
    one = batch(20)
    stack = stack_signals([one, one.permute(np.arange(20)[::-1]), one])
    assert stack.vectors is not None
    assert len(stack.vectors) == 20
    for start, each in zip(stack.batches.starts, (one, one.permute(np.arange(20)[::-1]), one), strict=True):
        np.testing.assert_array_equal(stack.vectors_of(start + np.arange(20)), each.vectors)


def test_the_best_of_each_batch_are_those_of_a_sort_by_score_and_then_by_id() -> None:
    rng = np.random.default_rng(3)
    stack = stack_signals(signals_of_queries(3, 30))
    value = rng.integers(0, 4, len(stack)).astype(float)
    rows = rng.permutation(np.flatnonzero(rng.random(len(stack)) < 0.7))
    order = rows[np.lexsort((stack.ids[rows], -value[rows], stack.batches.batch_index[rows]))]
    for limit in (None, 1, 5, 100):
        found = stack.batches.top(value, stack.id_ranks, rows, limit)
        np.testing.assert_array_equal(found, stack.batches.first(order, limit))


def test_the_deviation_of_each_batch_is_bit_identical() -> None:
    stack = stack_signals(signals_of_queries(5, 200))
    values = np.random.default_rng(5).normal(size=len(stack))
    counted = np.random.default_rng(6).random(len(stack)) < 0.7
    lines = [line[counted[line]] for line in stack.batches.split(np.arange(len(stack)))]
    each = [np.std(values[line]) if len(line) else 0.0 for line in lines]
    rows = np.flatnonzero(counted)
    np.testing.assert_array_equal(stack.batches.standard_deviations(values, rows), each)


@settings(max_examples=examples(20, fuzz=60))
@given(pairs=st.lists(st.tuples(st.sets(st.integers(0, 199)), st.sets(st.integers(0, 199))), min_size=1, max_size=9))
def test_tags_are_shared_as_sets_share_them(pairs: list[tuple[set[int], set[int]]]) -> None:
    tags = np.array([[[tag in one for tag in range(200)] for one in pair] for pair in pairs])
    ours, theirs = pack_tags(tags[:, 0]), pack_tags(tags[:, 1])
    sizes = shared_tags(ours, ours), shared_tags(theirs, theirs)
    expected = [len(one & other) / len(one | other) if one | other else 0.0 for one, other in pairs]
    np.testing.assert_array_equal(jaccard(shared_tags(ours, theirs), *sizes), expected)


def test_no_tags_at_all_are_no_overlap() -> None:
    none = pack_tags(np.zeros((3, 0), bool))
    np.testing.assert_array_equal(shared_tags(none, none), np.zeros(3))


@pytest.mark.parametrize(("count", "dimensions"), [(37, 24), (37, 256), (9, 383), (37, 384)])
def test_equal_memories_are_equally_redundant_wherever_they_stand(count: int, dimensions: int) -> None:
    one, other = np.random.default_rng(7).normal(size=(2, dimensions)).astype(np.float32)
    vectors = np.stack([one, *[other] * count])[None]
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    found = mmr(np.array([[2.0, *[1.0] * count]]), vectors, balance=0.5, top_k=count + 1)
    assert found.rows[0].tolist() == list(range(count + 1))
