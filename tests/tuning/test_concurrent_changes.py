"""Tuning while memories are written, queries judged and profiles published."""

import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.jobs.submission import cancel_job
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace, TracedQuery, TracedSet
from memories.models.choices import JobKind, JobState, QueryKind, Split
from memories.retrieval.query import Config
from memories.tuning import (
    evaluation_records,
    gate,
    optimiser,
    policy_versions,
    profile_publication,
    shadow,
    traced_sets,
)
from memories.tuning.array_cache import cached_arrays
from memories.tuning.judgement_store import NewQuery, delete_grade, store_grades, store_queries
from memories.tuning.measurement import FALSE_ANSWER, MAIN_METRIC, align_measurements, measure_config
from memories.tuning.objective import Objective
from memories.tuning.optimiser import SearchSpec
from memories.tuning.sensitivity import sensitivity_curve
from memories.writing.remember import remember
from memories.writing.write_errors import RefusedError
from scoring.systems import SYSTEMS
from tests.support.judged_arrays import planted_arrays
from tests.support.judged_world import JUDGED_QUERIES, make_judgement_set, trace_set
from tests.support.profiles import ABSTAINING, GOOD, add_version, force_publish, retrieve_over_api, run_check
from tests.support.retrieval_world import MEMORIES, new_memory

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

BLEND = SYSTEMS["blend"]


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    """The judged set, which goes with the test."""
    return make_judgement_set(world, "changing")


@pytest.fixture
def queries(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that are asked, after each of which somebody writes a memory."""
    texts: list[str] = []
    ask = traced_sets.trace_query

    def trace_and_write(query: Any, *more: Any) -> TracedQuery:
        row = ask(query, *more)
        texts.append(query.text)
        remember(world, [new_memory(f"The lamp number {len(texts)} is lit", "Fact", "", {})], by="tests")
        return row

    monkeypatch.setattr(traced_sets, "trace_query", trace_and_write)
    return texts


def search_spec(judgement_set: JudgementSet, start: dict[str, Any], *move: str, **more: Any) -> SearchSpec:
    """A search on a set."""
    objective = Objective(MAIN_METRIC, more.pop("price", 0.0))
    said = {"against": "diversity", "max_trials": 40, "seconds": 30, "seed": 1, **more}
    return SearchSpec(set=judgement_set.id, config=Config(BLEND, start), move=move, objective=objective, **said)


def run_to_end(namespace: Namespace, job: Job) -> Job:
    """A job, seen through here."""
    run_job(namespace.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    return job


def add_query(judgement_set: JudgementSet, text: str, **more: Any) -> JudgedQuery:
    """Another query of the set."""
    return JudgedQuery.objects.create(namespace=judgement_set.namespace, judgement_set=judgement_set, text=text, **more)


def test_a_version_is_checked_while_memories_are_written_and_the_queries_run_once(
    world: Namespace, judgement_set: JudgementSet, queries: list[str]
) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, good)
    job = run_check(world, ruined)
    assert sorted(queries) == sorted(text for text, _ in JUDGED_QUERIES)
    assert gate.gate_losses(job)[0]["metric"] == MAIN_METRIC


def test_a_version_is_measured_by_a_job_while_memories_are_written_and_asks_once(
    world: Namespace, judgement_set: JudgementSet, queries: list[str]
) -> None:
    job = run_to_end(
        world, tuning_jobs.submit_evaluation_job(world, add_version(world, GOOD), judgement_set, "", by="tests")
    )
    assert job.result["evaluate"]["evaluation"]
    assert len(queries) == len(JUDGED_QUERIES)


def test_a_planted_optimum_is_found_by_the_job_while_memories_are_written(
    world: Namespace, judgement_set: JudgementSet, queries: list[str]
) -> None:
    for number, (content, *_) in enumerate(MEMORIES[:16]):
        query = add_query(judgement_set, content, split=Split.HOLDOUT if number % 2 else Split.TUNE)
        memory = Memory.objects.within(world).filter(content=content).earliest("id")
        Judgement.objects.create(namespace=world, query=query, memory=memory, grade=3)
    # Where it starts nothing is answered; the best is to answer.
    job = run_to_end(
        world,
        tuning_jobs.submit_search_job(
            world, search_spec(judgement_set, ABSTAINING, "abstain_below", "rerank"), by="tests"
        ),
    )
    assert job.result["search"]["chosen"]["abstain_below"] < 1
    assert job.result["check"]["significant"]
    assert job.result["check"][Split.HOLDOUT]["difference"] > 0.5


def test_queries_that_lost_their_answers_do_not_count_at_the_gate_and_merged_ones_count_for_another(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, good)
    assert run_check(world, ruined).result["judge"]["tests"][0]["queries"] == 7
    standup, allergic = (Memory.objects.within(world).get(content__contains=one) for one in ("half past", "allergic"))
    other = Memory.objects.within(world).get(content__contains="cat of the neighbours")
    Memory.objects.within(world).filter(id=standup.id).update(status="merged", merged_into_id=other.id)
    Memory.objects.within(world).filter(id=allergic.id).update(status="forgotten")
    remember(world, [new_memory("The lamp is lit", "Fact", "", {})], by="tests")
    first = run_check(world, ruined).result["judge"]["tests"][0]
    assert (first["metric"], first["queries"]) == (MAIN_METRIC, 6)
    version = evaluation_records.evaluate_version(world, good, judgement_set, by="tests")
    assert version.metrics[MAIN_METRIC]["queries"] == 6


def test_two_traced_sets_with_different_queries_are_compared_on_those_that_both_have(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    before = measure_config(cached_arrays(trace_set(world, judgement_set, Config(BLEND))), Config(BLEND, GOOD))
    add_query(judgement_set, "Who sings?", kind=QueryKind.UNANSWERABLE)
    JudgedQuery.objects.within(world).get(judgement_set=judgement_set, text="backup").delete()
    after = measure_config(cached_arrays(trace_set(world, judgement_set, Config(BLEND))), Config(BLEND, GOOD))
    one, other = align_measurements(before, after)
    texts = [query.text for query in one.arrays.queries]
    assert texts == [query.text for query in other.arrays.queries]
    assert sorted(texts) == sorted(text for text, _ in JUDGED_QUERIES if text != "backup")
    np.testing.assert_array_equal(one.per_query[MAIN_METRIC], other.per_query[MAIN_METRIC])
    assert one.intervals()[MAIN_METRIC] == other.intervals()[MAIN_METRIC]
    assert align_measurements(before, before)[1].intervals() == before.intervals()


def test_a_search_traces_a_query_that_came_since(world: Namespace, judgement_set: JudgementSet) -> None:
    first = trace_set(world, judgement_set, Config(BLEND, GOOD))
    assert traced_sets.current_traced_set(world, judgement_set, Config(BLEND, GOOD)) == first
    add_query(judgement_set, "Who sings?", kind=QueryKind.UNANSWERABLE)
    assert traced_sets.staleness(first) == (0, 1, 0)
    assert traced_sets.current_traced_set(world, judgement_set, Config(BLEND, GOOD)) is None
    run_to_end(
        world,
        tuning_jobs.submit_search_job(world, search_spec(judgement_set, GOOD, "rerank", max_trials=4), by="tests"),
    )
    latest = traced_sets.current_traced_set(world, judgement_set, Config(BLEND, GOOD))
    assert latest is not None
    assert latest.queries.count() == len(JUDGED_QUERIES) + 1


def test_what_nobody_has_judged_is_neither_right_nor_wrong_to_answer(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    add_query(judgement_set, "Which lamp is lit?")
    Memory.objects.within(world).filter(content__contains="allergic").update(status="forgotten")
    whole = cached_arrays(trace_set(world, judgement_set, Config(BLEND)))
    priced = Objective(MAIN_METRIC, 0.5)
    assert priced.query_mask(whole).sum() == 6 + 2
    for setting in (Config(BLEND, GOOD), Config(BLEND, ABSTAINING)):
        found = measure_config(whole, setting)
        assert len(priced.per_query(found)) == 8
    silent = priced.per_query(measure_config(whole, Config(BLEND, ABSTAINING)))
    assert silent.sum() == pytest.approx(-0.5 * 6)


def test_a_query_that_is_called_unanswerable_later_counts_as_such_at_once(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    add_query(judgement_set, "Who sings?")
    whole = trace_set(world, judgement_set, Config(BLEND))
    before = measure_config(cached_arrays(whole), Config(BLEND, GOOD))
    store_queries(judgement_set, [NewQuery("Who sings?", kind=QueryKind.UNANSWERABLE, category="songs")], by="tests")
    after = measure_config(cached_arrays(whole), Config(BLEND, GOOD))
    assert after.query_mask(FALSE_ANSWER).sum() == before.query_mask(FALSE_ANSWER).sum() + 1
    assert after.query_mask(FALSE_ANSWER, category="songs").sum() == 1


def test_a_check_counts_until_judgements_change_or_for_a_day_of_writing(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    version = add_version(world, GOOD)
    job = run_check(world, version)
    assert profile_publication.publication_refusal(world, version) is None
    query = JudgedQuery.objects.within(world).get(judgement_set=judgement_set, text="backup")
    lamp = Memory.objects.within(world).get(content__contains="cat of the neighbours")
    store_grades(judgement_set, {(query.id, lamp.id): 1}, by="tests")
    with pytest.raises(RefusedError, match="queries or judgements have changed since; check it again") as refused:
        profile_publication.publish_profile(world, version, by="tests")
    assert refused.value.code == "unchecked"
    job = run_check(world, version)
    Job.objects.within(world).filter(id=job.id).update(finished_at=timezone.now() - timedelta(days=2))
    assert profile_publication.publication_refusal(world, version) is None
    remember(world, [new_memory("The lamp is lit", "Fact", "", {})], by="tests")
    with pytest.raises(RefusedError, match="more than a day ago, and memories were written 1 time since"):
        profile_publication.publish_profile(world, version, by="tests")


def test_a_query_that_two_sets_have_counts_once(world: Namespace, judgement_set: JudgementSet) -> None:
    make_judgement_set(world, "the same again")
    force_publish(world, add_version(world, GOOD))
    tests = run_check(world, add_version(world, ABSTAINING)).result["judge"]["tests"]
    assert [one["queries"] for one in tests if not one["split"]] == [7, 7, 2]


def test_the_more_is_tested_the_smaller_the_p_value_of_a_loss_must_be() -> None:
    def test(chance: float, lost: int, worse: bool = True) -> dict[str, Any]:
        return {"p_value": chance, "won": 0, "lost": lost, "worse": worse}

    told = gate.adjust_tests([test(0.02, 40), test(0.03, 40), test(0.04, 40), test(0.5, 2)])
    assert [one["corrected"] for one in told] == pytest.approx([0.06, 0.06, 0.06, 0.5])
    assert not any(one["loss"] for one in told)
    # Two moved queries can prove nothing, and take nothing from the others.
    assert gate.adjust_tests([test(0.04, 40), test(0.5, 2)])[0]["loss"]
    assert not gate.adjust_tests([test(0.04, 40, worse=False)])[0]["loss"]


def test_rolling_back_twice_goes_back_twice_whatever_else_was_published(world: Namespace) -> None:
    versions = [add_version(world, {"abstain_below": number / 100}) for number in range(4)]
    for version in versions[:3]:
        force_publish(world, version)
    policy = policy_versions.add_policy_version(world, name="ours", params={}, note="", by="tests")
    policy_versions.publish_policy(world, policy.id, note="", by="tests")
    back = [profile_publication.roll_back_version(world, by="tests").profile_version_id for _ in range(2)]
    assert back == [versions[1].id, versions[0].id]
    force_publish(world, versions[3])
    assert profile_publication.roll_back_version(world, by="tests").profile_version_id == versions[0].id
    assert profile_publication.roll_back_version(world, by="tests").profile_version_id is None
    with pytest.raises(RefusedError, match="nothing to roll back to"):
        profile_publication.roll_back_version(world, by="tests")


def test_what_was_published_again_by_hand_can_be_rolled_back_too(world: Namespace) -> None:
    first, second = add_version(world, GOOD), add_version(world, ABSTAINING)
    for version in (first, second, first):
        force_publish(world, version)
    assert profile_publication.roll_back_version(world, by="tests").profile_version_id == second.id


@pytest.mark.parametrize("better", [True, False])
def test_a_query_whose_retriever_timed_out_is_traced_again_and_counted_where_it_still_times_out(
    world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch, better: bool
) -> None:
    ask, times = traced_sets.trace_query, list[str]()

    def late(query: Any, *more: Any) -> TracedQuery:
        row = ask(query, *more)
        times.append(query.text)
        if query.text == "backup" and not (better and times.count("backup") > 1):
            row.timed_out = ["bm25"]
        return row

    monkeypatch.setattr(traced_sets, "trace_query", late)
    whole = trace_set(world, judgement_set, Config(BLEND))
    assert times.count("backup") == 2
    assert len(times) == len(JUDGED_QUERIES) + 1
    assert whole.queries.count() == len(JUDGED_QUERIES)
    assert traced_sets.staleness(whole) == (0, 0, 0 if better else 1)


def test_a_tracing_that_ends_leaves_those_of_others_that_go_on(world: Namespace, judgement_set: JudgementSet) -> None:
    half = traced_sets.new_traced_set(world, judgement_set.id, "blend", {})
    half.save()
    gone = traced_sets.new_traced_set(world, judgement_set.id, "blend", {})
    gone.begun_at = timezone.now() - timedelta(days=2)
    gone.save()
    later = trace_set(world, judgement_set, Config(BLEND))
    here = TracedSet.objects.within(world).filter(judgement_set=judgement_set)
    assert {one.id for one in here} == {half.id, later.id}
    traced_sets.fill_traced_set(half, traced_sets.no_progress)  # begun before the other, so it is the older one
    assert [one.id for one in here.all()] == [later.id]


def test_a_job_whose_half_traced_set_is_gone_begins_another(world: Namespace, judgement_set: JudgementSet) -> None:
    job = tuning_jobs.submit_trace_job(world, judgement_set, Config(BLEND), by="tests")
    job.step, job.result = "trace", {"trace": {"traced_set": "0192f000-0000-7000-8000-000000000000"}}
    job.save()
    run_to_end(world, job)
    assert traced_sets.current_traced_set(world, judgement_set, Config(BLEND)) is not None


def test_of_a_systems_variants_only_the_newest_are_kept(
    world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traced_sets, "MAX_VARIANTS", 2)
    recall = SYSTEMS["recall"]
    for value in (1.1, 1.3, 1.4):
        trace_set(world, judgement_set, Config(recall, {"bm25_k1": value}))
    kept_for = [
        traced_sets.latest_traced_set(world, judgement_set, Config(recall, {"bm25_k1": value}))
        for value in (1.1, 1.3, 1.4)
    ]
    assert [one is not None for one in kept_for] == [False, True, True]


def test_a_search_that_is_stopped_while_it_asks_ends_with_nothing(
    world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimiser, "PROGRESS_INTERVAL", 0.0)
    job = tuning_jobs.submit_search_job(world, search_spec(judgement_set, GOOD, "rerank"), by="tests")
    cancel_job(job)
    run_to_end(world, job)
    assert job.result["search"] == {"stopped": True, "tried": 0}
    assert not TracedSet.objects.within(world).filter(judgement_set=judgement_set).exists()


def test_taking_a_grade_back_restores_that_the_query_was_unanswerable(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    query = JudgedQuery.objects.within(world).get(judgement_set=judgement_set, text="What is Maya's shoe size?")
    shoes = Memory.objects.within(world).get(content__contains="shoes")

    def kind() -> str:
        query.refresh_from_db()
        return query.kind

    steps: list[tuple[Callable[[], Any], str]] = [
        (lambda: store_grades(judgement_set, {(query.id, shoes.id): 2}, by="tests"), QueryKind.ANSWERABLE),
        (lambda: delete_grade(judgement_set, query.id, shoes.id), QueryKind.UNANSWERABLE),
        (lambda: store_grades(judgement_set, {(query.id, shoes.id): 2}, by="tests"), QueryKind.ANSWERABLE),
        (lambda: store_grades(judgement_set, {(query.id, shoes.id): 0}, by="tests"), QueryKind.UNANSWERABLE),
        (
            lambda: store_queries(judgement_set, [NewQuery(query.text, kind="answerable")], by="tests"),
            QueryKind.ANSWERABLE,
        ),
        (lambda: delete_grade(judgement_set, query.id, shoes.id), QueryKind.ANSWERABLE),
    ]
    for act, expected in steps:
        act()
        assert kind() == expected


def test_a_grade_weighs_more_than_an_import_that_calls_the_query_unanswerable(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    store_queries(judgement_set, [NewQuery("backup", kind=QueryKind.UNANSWERABLE)], by="tests")
    query = JudgedQuery.objects.within(world).get(judgement_set=judgement_set, text="backup")
    assert query.kind == QueryKind.ANSWERABLE
    delete_grade(judgement_set, query.id, query.judgements.get().memory_id)
    query.refresh_from_db()
    assert query.kind == QueryKind.UNANSWERABLE


def test_rankings_go_with_the_arrays_that_they_are_of() -> None:
    whole = planted_arrays(SYSTEMS["recall"], 6)
    setting = Config(whole.system)
    assert measure_config(whole, setting).places is measure_config(whole, setting).places
    sensitivity_curve(whole, setting, "rrf_k", MAIN_METRIC, "")
    gone = weakref.ref(whole)
    del whole
    assert gone() is None


def test_where_a_parameter_stands_is_best_as_long_as_nothing_beats_it() -> None:
    whole = planted_arrays(SYSTEMS["recall"], 6)
    found = sensitivity_curve(whole, Config(whole.system), "half_life_fact", MAIN_METRIC, "")
    assert found.effect_size == 0
    assert found.best == found.current_value == whole.system.params().as_dict()["half_life_fact"]
    moved = sensitivity_curve(whole, Config(whole.system, {"weight_bm25": 0.0}), "weight_bm25", MAIN_METRIC, "")
    assert moved.best > 0


def test_a_shadow_catches_up_in_one_job_and_all_but_the_last_jobs_are_forgotten(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "MAX_FINISHED_JOBS", 2)
    monkeypatch.setattr(shadow, "BATCH_SIZE", 2)
    shadow.create_shadow(world, add_version(world, ABSTAINING), 100, by="tests")
    for text, _ in JUDGED_QUERIES[:5]:
        retrieve_over_api(world, text)
    jobs = [run_to_end(world, tuning_jobs.submit_shadow_job(world, by="tests"))]
    assert jobs[0].result["compare"]["compared"] == 5
    for _ in range(4):
        jobs.append(tuning_jobs.submit_shadow_job(world, by="tests"))
        run_job(world.id, jobs[-1].id)
    left = Job.objects.within(world).filter(kind=JobKind.SHADOW).order_by("created_at")
    assert [one.id for one in left] == [one.id for one in jobs[-3:]]
