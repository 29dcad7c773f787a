"""A judged set measured from arrays is measured as if every query were asked live."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranx import Qrels, Run, evaluate
from retrieval_world import world
from test_scoring_reference import setting as random_params
from tuning_world import judged, traced

from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, MemoryVector, Namespace
from memories.models.choices import Route
from memories.retrieval.query import Setting
from memories.retrieval.retrieve import retrieve
from memories.retrieval.settings import mode_of
from memories.tuning import holding, tracing
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import INVENTED, LOST, MAIN, compared, measured
from memories.tuning.holding import arrays
from memories.writing.remember import lock
from scoring.systems import SYSTEMS

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture(scope="module")
def questions(world: Namespace, django_db_blocker: Any) -> Iterator[JudgementSet]:
    """The judged set, made once for all tests of the module."""
    with django_db_blocker.unblock():
        whole = judged(world)
    yield whole
    with django_db_blocker.unblock():
        whole.delete()


@pytest.fixture(scope="module")
def held(world: Namespace, questions: JudgementSet, django_db_blocker: Any) -> dict[str, Arrays]:
    """The arrays of every system."""
    with django_db_blocker.unblock():
        return {
            name: arrays(traced(world, questions, Setting(system, mode_of(world, system))))
            for name, system in SYSTEMS.items()
        }


def moved(system: str, seed: int) -> dict[str, Any]:
    """Some score parameters, anywhere in their range."""
    declared = SYSTEMS[system].params.declared()
    drawn = random_params(SYSTEMS[system].params, np.random.default_rng(seed)).as_dict()
    return {name: value for name, value in drawn.items() if declared[name].scope == "score"}


def live(namespace: Namespace, query: JudgedQuery, setting: Setting) -> list[str]:
    """What a live retrieval answers; nothing where it abstains."""
    retrieval = retrieve(tracing.question(namespace, query, setting))
    rows = [] if retrieval.ranking.abstained else retrieval.ranking.order.rows.tolist()
    return [str(retrieval.batch.rows[row]["id"]) for row in rows]


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_arrays_answer_every_query_as_a_live_retrieval_does(
    world: Namespace, held: dict[str, Arrays], system: str, seed: int
) -> None:
    setting = Setting(SYSTEMS[system], moved(system, seed))
    whole = held[system]
    found = measured(whole, setting)
    names = {stack: one for stack in whole.stacks for one in [stack.signals.ids]}
    for number, query in enumerate(whole.queries):
        stack = next((stack for stack in whole.stacks if number in stack.queries), None)
        places = found.places[number][found.places[number] >= 0]
        mine = [] if stack is None else names[stack][places].tolist()
        assert mine == live(world, query, setting)
        assert bool(found.answered[number]) == bool(mine)


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")  # of code that ranx has it compile
@pytest.mark.parametrize("system", SYSTEMS)
def test_metrics_are_those_of_an_independent_implementation(
    world: Namespace, held: dict[str, Arrays], system: str
) -> None:
    setting = Setting(SYSTEMS[system], {"abstain_below": 0.0} if system == "blend" else {})
    found = measured(held[system], setting)
    asked = [query for query in held[system].queries if query.judgements.exists()]
    qrels = Qrels({str(one.id): {str(g.memory_id): g.grade for g in one.judgements.all()} for one in asked})
    answers = {str(one.id): live(world, one, setting) for one in asked}
    scored = {id: {name: 1.0 / rank for rank, name in enumerate(names, 1)} for id, names in answers.items()}
    run = Run({id: scores or {"none": 1.0} for id, scores in scored.items()})
    names = {"ndcg@10": "ndcg_burges@10", "recall@5": "recall@5", "recall@10": "recall@10", "mrr": "mrr"}
    for mine, theirs in names.items():
        evaluate(qrels, run, theirs)
        expected = dict(run.scores[theirs])
        for number, query in enumerate(held[system].queries):
            if str(query.id) in expected:
                assert found.each[mine][number] == pytest.approx(expected[str(query.id)])


def test_abstaining_counts_as_lost_where_there_is_an_answer_and_as_right_where_there_is_none(
    held: dict[str, Arrays],
) -> None:
    always = measured(held["blend"], Setting(SYSTEMS["blend"], {"abstain_below": 1.0}))
    never = measured(held["blend"], Setting(SYSTEMS["blend"], {"abstain_below": 0.0}))
    assert (always.mean(LOST), always.mean(INVENTED), always.mean(MAIN)) == (1.0, 0.0, 0.0)
    assert (never.mean(LOST), never.mean(INVENTED)) == (0.0, 1.0)
    assert never.mean(MAIN) > 0.5


def test_a_metric_comes_with_an_interval_around_it(held: dict[str, Arrays]) -> None:
    told = measured(held["blend"], Setting(SYSTEMS["blend"], {"abstain_below": 0.0})).told()
    assert all(one.low <= one.mean <= one.high for one in told.values())
    assert told[MAIN].low < told[MAIN].high


def test_a_setting_that_ruins_the_ranking_loses_query_by_query(held: dict[str, Arrays]) -> None:
    good = measured(held["blend"], Setting(SYSTEMS["blend"], {"abstain_below": 0.0}))
    bad = measured(held["blend"], Setting(SYSTEMS["blend"], {"abstain_below": 1.0}))
    found = compared(good, bad)
    assert found.difference == pytest.approx(-good.mean(MAIN))
    assert (found.won, found.lost) == (0, int((good.each[MAIN][good.arrays.answerable] > 0).sum()))
    assert compared(good, good).chance == 1.0
    assert math.isclose(found.moves[~good.arrays.answerable].sum(), 0.0)


def test_a_grade_given_later_counts_at_once(world: Namespace, questions: JudgementSet) -> None:
    whole = traced(world, questions, Setting(SYSTEMS["contextdb"]))
    before = arrays(whole)
    assert arrays(whole) is before
    query = next(one for one in before.queries if one.text == "backup")
    other = Memory.objects.within(world).get(content__contains="Standup begins")
    Judgement.objects.create(namespace=world, query=query, memory=other, grade=3)
    after = arrays(whole)
    number = [one.id for one in after.queries].index(query.id)
    assert after.ideal[number].sum() == before.ideal[number].sum() + 3


def test_another_parameter_of_the_candidates_needs_another_tracing(world: Namespace, questions: JudgementSet) -> None:
    traced(world, questions, Setting(SYSTEMS["recall"]))
    assert tracing.traced(world, questions, Setting(SYSTEMS["recall"], {"rrf_k": 20.0})) is not None
    assert tracing.traced(world, questions, Setting(SYSTEMS["recall"], {"bm25_k1": 2.0})) is None


def test_tracing_again_leaves_only_the_latest(world: Namespace, questions: JudgementSet) -> None:
    first = traced(world, questions, Setting(SYSTEMS["recall"]))
    second = traced(world, questions, Setting(SYSTEMS["recall"]))
    assert first.id != second.id
    kept = type(first).objects.within(world).filter(judgement_set=questions, system="recall")
    assert list(kept) == [second]


def test_a_merged_memory_counts_for_what_absorbed_it_and_a_forgotten_one_no_more(
    world: Namespace, questions: JudgementSet
) -> None:
    whole = traced(world, questions, Setting(SYSTEMS["memorysync"]))
    before = arrays(whole)
    shoes, standup = (Memory.objects.within(world).get(content__contains=words) for words in ("shoes", "half past"))
    allergic = Memory.objects.within(world).get(content__contains="allergic")
    Memory.objects.within(world).filter(id=standup.id).update(status="merged", merged_into_id=shoes.id)
    Memory.objects.within(world).filter(id=allergic.id).update(status="forgotten")
    lock(world)  # as every write does
    after = arrays(whole)
    asked = {query.text: number for number, query in enumerate(after.queries)}
    merged, gone = asked["When does the standup begin?"], asked["Who is allergic to hazelnuts?"]
    (stack,) = (stack for stack in after.stacks if merged in stack.queries)
    mine = stack.signals.batches.of_each == stack.queries.tolist().index(merged)
    graded = dict(zip(stack.signals.ids[mine].tolist(), stack.grades[mine].tolist(), strict=True))
    assert graded[str(shoes.id)] == 3
    assert graded[str(standup.id)] == -1
    assert before.answerable[gone]
    assert not after.answerable[gone]
    assert measured(after, Setting(SYSTEMS["memorysync"])).chosen(MAIN).sum() == before.answerable.sum() - 1


def test_a_write_that_touches_nothing_judged_or_found_leaves_the_arrays_and_their_rankings(
    world: Namespace, questions: JudgementSet
) -> None:
    whole = traced(world, questions, Setting(SYSTEMS["memsense"]))
    before = arrays(whole)
    ranked = measured(before, Setting(SYSTEMS["memsense"]))
    lock(world)  # as every write does
    assert arrays(whole) is before
    assert measured(arrays(whole), Setting(SYSTEMS["memsense"])).places is ranked.places


def test_after_a_grade_or_a_merge_the_arrays_are_those_of_a_process_that_loads_them_anew(
    world: Namespace, questions: JudgementSet
) -> None:
    whole = traced(world, questions, Setting(SYSTEMS["memsense"]))
    before = arrays(whole)
    shoes, standup = (Memory.objects.within(world).get(content__contains=words) for words in ("shoes", "half past"))
    Memory.objects.within(world).filter(id=standup.id).update(status="merged", merged_into_id=shoes.id)
    lock(world)
    query = next(one for one in before.queries if one.text == "backup")
    Judgement.objects.create(namespace=world, query=query, memory=shoes, grade=2)
    after = arrays(whole)
    assert all(one.signals is other.signals for one, other in zip(after.stacks, before.stacks, strict=True))
    holding._loaded.clear()
    anew = arrays(whole)
    np.testing.assert_array_equal(after.ideal, anew.ideal)
    for one, other in zip(after.stacks, anew.stacks, strict=True):
        np.testing.assert_array_equal(one.grades, other.grades)
        np.testing.assert_array_equal(one.queries, other.queries)
    assert not np.array_equal(after.ideal, before.ideal)


def test_a_candidate_with_another_vector_is_loaded_again_where_vectors_are_read(
    world: Namespace, questions: JudgementSet
) -> None:
    reading, others = (traced(world, questions, Setting(SYSTEMS[name])) for name in ("memsense", "contextdb"))
    before, blind = arrays(reading), arrays(others)
    lock(world)
    shoes = Memory.objects.within(world).get(content__contains="shoes")
    vectors = MemoryVector.objects.within(world).filter(memory_id=shoes.id, route=Route.FULL, embedder=world.embedder)
    turned = np.roll(np.asarray(vectors.get().vector), 1)
    vectors.update(vector=turned, written=tracing.writes_of(world))
    after = arrays(reading)
    assert arrays(others) is blind
    assert any(
        not np.array_equal(one.signals.vectors, other.signals.vectors)  # type: ignore[arg-type]
        for one, other in zip(before.stacks, after.stacks, strict=True)
    )


def test_a_process_holds_no_more_sets_than_it_may(world: Namespace, questions: JudgementSet) -> None:
    for name in SYSTEMS:
        arrays(traced(world, questions, Setting(SYSTEMS[name])))
    assert len(holding._loaded) == holding.KEPT < len(SYSTEMS)
