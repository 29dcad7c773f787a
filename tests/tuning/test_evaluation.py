"""A judgement set measured from arrays equals one measured by live queries."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, MemoryVector, Namespace
from memories.models.choices import Route
from memories.retrieval.query import Config
from memories.retrieval.retrieve import retrieve
from memories.tuning import array_cache, traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import (
    FALSE_ABSTENTION,
    FALSE_ANSWER,
    MAIN_METRIC,
    compare_measurements,
    measure_config,
)
from memories.writing.lock import lock_namespace
from scoring.systems import SYSTEMS
from tests.support.examples import examples
from tests.support.judged_world import trace_set
from tests.support.scoring_inputs import random_params
from tests.support.trec_eval import trec_eval

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def random_score_params(system: str, seed: int) -> dict[str, Any]:
    """Some score parameters, anywhere in their range."""
    declared = SYSTEMS[system].params.declarations()
    drawn = random_params(SYSTEMS[system].params, np.random.default_rng(seed)).as_dict()
    return {name: value for name, value in drawn.items() if declared[name].scope == "score"}


def live_answer(namespace: Namespace, query: JudgedQuery, setting: Config) -> list[str]:
    """What a live retrieval answers; nothing where it abstains."""
    retrieval = retrieve(traced_sets.evaluation_query(namespace, query, setting))
    rows = [] if retrieval.ranking.abstained else retrieval.ranking.order.rows[: traced_sets.DEPTH].tolist()
    return [str(retrieval.candidates.rows[row]["id"]) for row in rows]


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=examples(3, fuzz=6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_arrays_answer_every_query_as_a_live_retrieval_does(
    world: Namespace, arrays: dict[str, Arrays], system: str, seed: int
) -> None:
    params = random_score_params(system, seed)
    weights = sorted(SYSTEMS[system].weights_of(SYSTEMS[system].retrievers))
    zeros = np.random.default_rng(seed).choice(weights, max(0, len(weights) - 3), replace=False) if seed % 2 else ()
    assert_answers_are_live_ones(
        world, arrays[system], Config(SYSTEMS[system], {**params, **dict.fromkeys(zeros, 0.0)})
    )


@pytest.mark.parametrize("system", ["recall", "adaptive"])
@pytest.mark.parametrize("mmr", ["on", "off"])
def test_mmr_is_measured_whether_or_not_it_ran_when_the_set_was_traced(
    world: Namespace, arrays: dict[str, Arrays], system: str, mmr: str
) -> None:
    assert not all(stack.plan.diversify for stack in arrays[system].stacks)
    assert_answers_are_live_ones(world, arrays[system], Config(SYSTEMS[system], {"mmr": mmr}))


def assert_answers_are_live_ones(world: Namespace, whole: Arrays, setting: Config) -> None:
    """Hold the answers of the arrays against live retrievals."""
    found = measure_config(whole, setting)
    names = {stack: one for stack in whole.stacks for one in [stack.signals.ids]}
    for number, query in enumerate(whole.queries):
        stack = next((stack for stack in whole.stacks if number in stack.queries), None)
        places = found.places[number][found.places[number] >= 0]
        mine = [] if stack is None else names[stack][places].tolist()
        assert mine == live_answer(world, query, setting)
        assert bool(found.answered[number]) == bool(mine)


@pytest.mark.parametrize("system", SYSTEMS)
def test_metrics_are_those_of_trec_eval(world: Namespace, arrays: dict[str, Arrays], system: str) -> None:
    setting = Config(SYSTEMS[system], {"abstain_below": 0.0} if system == "blend" else {})
    found = measure_config(arrays[system], setting)
    judged = [query for query in arrays[system].queries if query.judgements.exists()]
    grades = {str(one.id): {str(g.memory_id): g.grade for g in one.judgements.all()} for one in judged}
    ranked = {str(one.id): live_answer(world, one, setting) for one in judged}
    for metric in ("ndcg@10", "recall@5", "recall@10", "mrr"):
        expected = trec_eval(grades, ranked, metric)
        for number, query in enumerate(arrays[system].queries):
            if str(query.id) in expected:
                assert found.per_query[metric][number] == pytest.approx(expected[str(query.id)])


def test_abstaining_counts_as_lost_where_there_is_an_answer_and_as_right_where_there_is_none(
    arrays: dict[str, Arrays],
) -> None:
    always = measure_config(arrays["blend"], Config(SYSTEMS["blend"], {"abstain_below": 1.0}))
    never = measure_config(arrays["blend"], Config(SYSTEMS["blend"], {"abstain_below": 0.0}))
    assert (always.mean(FALSE_ABSTENTION), always.mean(FALSE_ANSWER), always.mean(MAIN_METRIC)) == (1.0, 0.0, 0.0)
    assert (never.mean(FALSE_ABSTENTION), never.mean(FALSE_ANSWER)) == (0.0, 1.0)
    assert never.mean(MAIN_METRIC) > 0.5


def test_a_metric_comes_with_an_interval_around_it(arrays: dict[str, Arrays]) -> None:
    told = measure_config(arrays["blend"], Config(SYSTEMS["blend"], {"abstain_below": 0.0})).intervals()
    assert all(one.low <= one.mean <= one.high for one in told.values())
    assert told[MAIN_METRIC].low < told[MAIN_METRIC].high


def test_a_configuration_that_ruins_the_ranking_loses_query_by_query(arrays: dict[str, Arrays]) -> None:
    good = measure_config(arrays["blend"], Config(SYSTEMS["blend"], {"abstain_below": 0.0}))
    bad = measure_config(arrays["blend"], Config(SYSTEMS["blend"], {"abstain_below": 1.0}))
    found = compare_measurements(good, bad)
    assert found.difference == pytest.approx(-good.mean(MAIN_METRIC))
    assert (found.won, found.lost) == (0, int((good.per_query[MAIN_METRIC][good.arrays.answerable] > 0).sum()))
    assert compare_measurements(good, good).p_value == 1.0
    assert math.isclose(found.deltas[~good.arrays.answerable].sum(), 0.0)


def test_a_grade_given_later_counts_at_once(world: Namespace, judgement_set: JudgementSet) -> None:
    whole = trace_set(world, judgement_set, Config(SYSTEMS["contextdb"]))
    before = cached_arrays(whole)
    assert cached_arrays(whole) is before
    query = next(one for one in before.queries if one.text == "backup")
    other = Memory.objects.within(world).get(content__contains="Standup begins")
    Judgement.objects.create(namespace=world, query=query, memory=other, grade=3)
    after = cached_arrays(whole)
    number = [one.id for one in after.queries].index(query.id)
    assert after.ideal[number].sum() == before.ideal[number].sum() + 3


def test_another_parameter_of_the_candidates_needs_another_tracing(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    trace_set(world, judgement_set, Config(SYSTEMS["recall"]))
    assert traced_sets.latest_traced_set(world, judgement_set, Config(SYSTEMS["recall"], {"rrf_k": 20.0})) is not None
    assert traced_sets.latest_traced_set(world, judgement_set, Config(SYSTEMS["recall"], {"bm25_k1": 2.0})) is None


def test_tracing_again_leaves_only_the_latest(world: Namespace, judgement_set: JudgementSet) -> None:
    first = trace_set(world, judgement_set, Config(SYSTEMS["recall"]))
    second = trace_set(world, judgement_set, Config(SYSTEMS["recall"]))
    assert first.id != second.id
    kept = type(first).objects.within(world).filter(judgement_set=judgement_set, system="recall")
    assert list(kept) == [second]


def test_a_merged_memory_counts_for_what_absorbed_it_and_a_forgotten_one_no_more(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    whole = trace_set(world, judgement_set, Config(SYSTEMS["memorysync"]))
    before = cached_arrays(whole)
    shoes, standup = (Memory.objects.within(world).get(content__contains=words) for words in ("shoes", "half past"))
    allergic = Memory.objects.within(world).get(content__contains="allergic")
    Memory.objects.within(world).filter(id=standup.id).update(status="merged", merged_into_id=shoes.id)
    Memory.objects.within(world).filter(id=allergic.id).update(status="forgotten")
    lock_namespace(world)  # as every write does
    after = cached_arrays(whole)
    asked = {query.text: number for number, query in enumerate(after.queries)}
    merged, gone = asked["When does the standup begin?"], asked["Who is allergic to hazelnuts?"]
    (stack,) = (stack for stack in after.stacks if merged in stack.queries)
    mine = stack.signals.batches.batch_index == stack.queries.tolist().index(merged)
    graded = dict(zip(stack.signals.ids[mine].tolist(), stack.grades[mine].tolist(), strict=True))
    assert graded[str(shoes.id)] == 3
    assert graded[str(standup.id)] == -1
    assert before.answerable[gone]
    assert not after.answerable[gone]
    assert (
        measure_config(after, Config(SYSTEMS["memorysync"])).query_mask(MAIN_METRIC).sum()
        == before.answerable.sum() - 1
    )


def test_a_write_that_touches_nothing_judged_or_found_leaves_the_arrays_and_their_rankings(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    whole = trace_set(world, judgement_set, Config(SYSTEMS["memsense"]))
    before = cached_arrays(whole)
    ranked = measure_config(before, Config(SYSTEMS["memsense"]))
    lock_namespace(world)  # as every write does
    assert cached_arrays(whole) is before
    assert measure_config(cached_arrays(whole), Config(SYSTEMS["memsense"])).places is ranked.places


def test_after_a_grade_or_a_merge_the_arrays_are_those_of_a_process_that_loads_them_anew(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    whole = trace_set(world, judgement_set, Config(SYSTEMS["memsense"]))
    before = cached_arrays(whole)
    shoes, standup = (Memory.objects.within(world).get(content__contains=words) for words in ("shoes", "half past"))
    Memory.objects.within(world).filter(id=standup.id).update(status="merged", merged_into_id=shoes.id)
    lock_namespace(world)
    query = next(one for one in before.queries if one.text == "backup")
    Judgement.objects.create(namespace=world, query=query, memory=shoes, grade=2)
    after = cached_arrays(whole)
    assert all(one.signals is other.signals for one, other in zip(after.stacks, before.stacks, strict=True))
    array_cache._cache.clear()
    anew = cached_arrays(whole)
    np.testing.assert_array_equal(after.ideal, anew.ideal)
    for one, other in zip(after.stacks, anew.stacks, strict=True):
        np.testing.assert_array_equal(one.grades, other.grades)
        np.testing.assert_array_equal(one.queries, other.queries)
    assert not np.array_equal(after.ideal, before.ideal)


def test_a_candidate_with_another_vector_is_loaded_again_where_vectors_are_read(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    reading, others = (trace_set(world, judgement_set, Config(SYSTEMS[name])) for name in ("memsense", "contextdb"))
    before, blind = cached_arrays(reading), cached_arrays(others)
    lock_namespace(world)
    shoes = Memory.objects.within(world).get(content__contains="shoes")
    vectors = MemoryVector.objects.within(world).filter(memory_id=shoes.id, route=Route.FULL, embedder=world.embedder)
    turned = np.roll(np.asarray(vectors.get().vector), 1)
    vectors.update(vector=turned, written=traced_sets.write_count(world))
    after = cached_arrays(reading)
    assert cached_arrays(others) is blind
    assert any(
        not np.array_equal(one.signals.vectors, other.signals.vectors)  # type: ignore[arg-type]
        for one, other in zip(before.stacks, after.stacks, strict=True)
    )


def test_a_process_holds_no_more_sets_than_it_may(world: Namespace, judgement_set: JudgementSet) -> None:
    for name in SYSTEMS:
        cached_arrays(trace_set(world, judgement_set, Config(SYSTEMS[name])))
    assert len(array_cache._cache) == array_cache.MAX_CACHED_SETS < len(SYSTEMS)
