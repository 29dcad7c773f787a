"""Pools of a judgement set: what configurations find, what of it is unjudged, and what to judge next."""

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.models import DailyAccess, Job, JudgedQuery, JudgementSet, Memory, Namespace, PooledMemory, Trace
from memories.models.choices import JobState, Status
from memories.retrieval.retrieve import retrieve
from memories.tuning import judgement_pooling, judging_queue
from memories.tuning.judgement_store import NewQuery, store_grades, store_queries
from memories.tuning.profile_versions import add_profile_version
from tests.support.retrieval_world import make_query, memory
from tests.support.rows import row
from tests.support.statements import without_namespace

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

TEXTS = ("Which database does invoicing use?", "Who reviews the schema?", "When does standup begin?")
NAMES = ("recall", "blend")


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    made = JudgementSet.objects.create(namespace=world, name="set")
    store_queries(made, [NewQuery(text) for text in TEXTS], by="maya")
    return made


def run_pool(judgement_set: JudgementSet, *names: str, k: int = 5) -> Job:
    job = tuning_jobs.submit_pool_job(judgement_set, names, k, by="tests")
    run_job(judgement_set.namespace_id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    return job


def answers(world: Namespace, text: str, name: str, k: int = 5) -> list[UUID]:
    found = retrieve(make_query(world, text, name, top_k=k))
    return [] if found.ranking.abstained else [found.candidates.rows[place]["id"] for place in found.ranking.order.rows]


def test_a_pool_holds_what_each_configuration_returns(world: Namespace, judgement_set: JudgementSet) -> None:
    job = run_pool(judgement_set, *NAMES)
    assert (job.done, job.total) == (len(TEXTS), len(TEXTS))
    kept: dict[tuple[str, str], dict[int, UUID]] = {}
    for one in PooledMemory.objects.within(world).select_related("query"):
        assert (one.found_by, one.best) == (len(one.ranks), min(one.ranks.values()))
        for name, place in one.ranks.items():
            kept.setdefault((one.query.text, name), {})[place] = one.memory_id
    expected = {(text, name): answers(world, text, name) for text in TEXTS for name in NAMES}
    assert {key: [found[place] for place in sorted(found)] for key, found in kept.items()} == {
        key: ids for key, ids in expected.items() if ids
    }


def test_a_pool_leaves_no_trace_and_counts_no_access(judgement_set: JudgementSet) -> None:
    run_pool(judgement_set, *NAMES)
    assert not Trace.objects.exists()
    assert not DailyAccess.objects.exists()


def test_unjudged_at_k_is_the_share_of_hits_without_a_grade(world: Namespace, judgement_set: JudgementSet) -> None:
    job = run_pool(judgement_set, *NAMES)
    assert job.result["pool"]["unjudged"] == dict.fromkeys(NAMES, 1.0)
    query = JudgedQuery.objects.within(world).get(text=TEXTS[0])
    first = answers(world, TEXTS[0], "recall")[0]
    store_grades(judgement_set, {(query.id, first): 0}, by="maya")
    told = {one.name: one for one in judgement_pooling.unjudged_shares(world, judgement_set.id, 5)}
    for name in NAMES:
        found = [(text, id) for text in TEXTS for id in answers(world, text, name)]
        assert told[name].found == len(found)
        assert told[name].unjudged == sum(one != (TEXTS[0], first) for one in found)
        assert told[name].share == pytest.approx(told[name].unjudged / len(found))
    (top,) = (one for one in judgement_pooling.unjudged_shares(world, judgement_set.id, 1) if one.name == "recall")
    assert (top.found, top.unjudged) == (3, 2)


def test_what_most_configurations_find_is_judged_first_and_what_was_skipped_last(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    run_pool(judgement_set, *NAMES)
    order = judging_queue.unjudged_pairs(world, judgement_set.id, 100)
    assert order == sorted(order, key=lambda one: (-one.found_by, one.best, one.query_id, one.memory_id))
    assert {one.left for one in order} == {len(order)}
    skipped = judging_queue.unjudged_pairs(world, judgement_set.id, 100, [order[0].id])
    assert [one.id for one in skipped] == [one.id for one in [*order[1:], order[0]]]


def test_a_pair_is_judged_too_when_its_grade_was_given_to_what_it_absorbed(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    run_pool(judgement_set, "recall")
    first, second, *_ = judging_queue.unjudged_pairs(world, judgement_set.id, 100)
    absorbed = row(Memory, world, status=Status.MERGED, merged_into_id=first.memory_id).id
    store_grades(judgement_set, {(first.query_id, absorbed): 2}, by="maya")
    Memory.objects.filter(id=second.memory_id).update(status=Status.ARCHIVED)
    left = judging_queue.unjudged_pairs(world, judgement_set.id, 100)
    assert first.id not in {one.id for one in left}
    assert second.memory_id not in {one.memory_id for one in left}
    Memory.objects.filter(id=second.memory_id).update(status=Status.ACTIVE)


def test_a_pool_made_anew_replaces_the_last_one(world: Namespace, judgement_set: JudgementSet) -> None:
    run_pool(judgement_set, *NAMES)
    run_pool(judgement_set, "recall")
    assert [one.name for one in judgement_pooling.unjudged_shares(world, judgement_set.id, 5)] == ["recall"]


def test_without_names_what_serves_is_pooled_and_profiles_stand_for_their_version(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    assert judgement_pooling.config_names(world, []) == ["blend"]
    add_profile_version(world, name="mine", system="recall", params={}, parent=None, note="", by="maya")
    assert judgement_pooling.config_names(world, ["mine", "recall", "mine@1"]) == ["mine@1", "recall"]
    with pytest.raises(judgement_pooling.UnknownConfigError, match="got nobody"):
        judgement_pooling.config_names(world, ["nobody"])
    job = run_pool(judgement_set, "mine")
    assert job.params["configs"] == ["mine@1"]


def test_the_same_pool_is_made_once_at_a_time(judgement_set: JudgementSet) -> None:
    first = tuning_jobs.submit_pool_job(judgement_set, NAMES, 5, by="maya")
    assert tuning_jobs.submit_pool_job(judgement_set, NAMES, 5, by="jonas").id == first.id
    assert tuning_jobs.submit_pool_job(judgement_set, NAMES, 6, by="jonas").id != first.id
    assert judgement_pooling.unfinished_pool_job(judgement_set.namespace, judgement_set.id) == first


def test_the_pool_of_a_set_that_was_deleted_meanwhile_ends_in_peace(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    job = tuning_jobs.submit_pool_job(judgement_set, ["recall"], 5, by="maya")
    gone = JudgedQuery.objects.within(world).get(text=TEXTS[0])
    found = judgement_pooling.pool_ranks(world, gone, {"recall": judgement_pooling.config_by_name(world, "recall")}, 5)
    JudgementSet.objects.all().delete()
    judgement_pooling.replace_pool(gone, found)
    run_job(world.id, job.id)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert not PooledMemory.objects.exists()


def test_a_purged_memory_leaves_the_pool(world: Namespace, judgement_set: JudgementSet) -> None:
    query = JudgedQuery.objects.within(world).first()
    other = row(Memory, world).id
    judgement_pooling.replace_pool(query, {other: {"recall": 1}, memory(world, "Standup").id: {"recall": 2}})  # type: ignore[arg-type]
    Memory.objects.filter(id=other).delete()
    assert [one.best for one in PooledMemory.objects.all()] == [2]


def test_the_pool_runs_a_known_number_of_sql_queries_that_name_their_namespace(
    world: Namespace, judgement_set: JudgementSet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run_pool(judgement_set, "recall")
    with CaptureQueriesContext(connection) as asked, django_assert_num_queries(4):
        judgement_pooling.unjudged_shares(world, judgement_set.id, 5)
        judging_queue.unjudged_pairs(world, judgement_set.id, 10)
        judgement_pooling.latest_pools(world, [judgement_set.id])
        judgement_pooling.unfinished_pool_job(world, judgement_set.id)
    assert {sql: missing for query in asked if (missing := without_namespace(sql := query["sql"]))} == {}
