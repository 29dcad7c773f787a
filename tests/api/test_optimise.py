"""A parameter search over REST: run by a job, stopped on request; and the ablation."""

import itertools
from typing import Any

import pytest
from django.test import Client

from memories.jobs.attempt import run_job
from memories.models import Job, JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import JobState, Role
from memories.retrieval.query import Config
from memories.tuning import optimiser
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import MAIN_METRIC, measure_config
from memories.tuning.objective import Objective, split_arrays
from scoring.systems import SYSTEMS
from tests.support.access import key_to
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.problems import problem

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    return make_judgement_set(world, "to optimise")


def api(world: Namespace, rest: str) -> str:
    return f"/api/v1/{world.slug}/{rest}"


def start_search(client: Client, world: Namespace, judgement_set: JudgementSet, **more: Any) -> Any:
    """The response to a search request."""
    body = {"set": str(judgement_set.id), "system": "blend", "max_trials": 12, "move": ["rerank", "age"], **more}
    return client.post(api(world, "optimise/"), body, "application/json", headers=key_to(world, Role.WRITE))


def run_search(client: Client, world: Namespace, judgement_set: JudgementSet, **more: Any) -> Any:
    """A requested job, after it has run."""
    answer = start_search(client, world, judgement_set, **more)
    assert answer.status_code == 202
    run_job(world.id, answer.json()["id"])
    return client.get(answer["Location"], headers=key_to(world, Role.READ)).json()


def test_a_search_runs_the_queries_tries_configurations_and_checks_the_holdout_once(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    data = run_search(client, world, judgement_set)
    assert (data["state"], data["error"], data["share"]) == ("done", "", 1.0)
    search, check = data["result"]["search"], data["result"]["check"]
    assert search["tried"] == 12
    assert search["best"] >= search["start"]
    assert [best for _, best in search["improved"]] == sorted(best for _, best in search["improved"])
    assert set(search["chosen"]) <= {"rerank", "age"}
    # Six queries cannot prove anything.
    assert check["significant"] is False
    query_arrays = cached_arrays(TracedSet.objects.within(world).get(judgement_set_id=judgement_set.id))
    tune = split_arrays(query_arrays, "tune")
    start = measure_config(tune, Config(SYSTEMS["blend"]))
    assert search["start"] == pytest.approx(start.mean(MAIN_METRIC))
    assert check["tune"]["before"][MAIN_METRIC]["mean"] == pytest.approx(start.mean(MAIN_METRIC))
    best = Config(SYSTEMS["blend"], search["changed"])
    assert search["best"] == pytest.approx(float(Objective(MAIN_METRIC).per_query(measure_config(tune, best)).mean()))


def test_the_same_request_finds_the_same(client: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    first, again = (run_search(client, world, judgement_set)["result"]["search"] for _ in range(2))
    for name in ("tried", "start", "best", "changed", "improved", "points", "chosen"):
        assert first[name] == again[name]


@pytest.mark.parametrize("against", ["diversity", "context"])
@pytest.mark.parametrize("system", ["blend", "recall"])
def test_the_pareto_front_holds_what_nothing_beats(
    client: Client, world: Namespace, judgement_set: JudgementSet, against: str, system: str
) -> None:
    data = run_search(
        client, world, judgement_set, against=against, system=system, move=["half_life_fact", "weight_bm25"]
    )
    points = data["result"]["search"]["points"]
    assert len(points) == 12
    best = [one for one in points if one["front"]]
    assert best
    assert all(set(one["changed"]) <= {"half_life_fact", "weight_bm25"} for one in best)
    assert all((one["other"] <= 1) == (against == "diversity") for one in points)


def test_a_stopped_search_returns_the_best_so_far(
    client: Client, world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_set(world, judgement_set, Config(SYSTEMS["blend"]))
    answer = start_search(client, world, judgement_set, max_trials=500)
    clock = itertools.count()
    monkeypatch.setattr(optimiser.time, "perf_counter", lambda: next(clock) / 10)  # a progress update every few trials
    stop = client.post(
        api(world, f"jobs/{answer.json()['id']}/stop/"), {}, "application/json", headers=key_to(world, Role.WRITE)
    )
    assert (stop.status_code, stop.json()["params"]["stop"]) == (200, True)
    run_job(world.id, answer.json()["id"])
    job = Job.objects.within(world).get(id=answer.json()["id"])
    assert job.state == JobState.DONE
    assert job.result["search"]["stopped"] is True
    assert 0 < job.result["search"]["tried"] < 100
    assert "significant" in job.result["check"]
    again = client.post(
        api(world, f"jobs/{job.id}/stop/"), {}, "application/json", headers=key_to(world, Role.WRITE)
    ).json()
    assert again["state"] == "done"


def test_time_is_a_budget_too(
    client: Client, world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = start_search(client, world, judgement_set, max_trials=500, seconds=3)
    clock = itertools.count()
    monkeypatch.setattr(optimiser.time, "perf_counter", lambda: next(clock) / 4)
    run_job(world.id, answer.json()["id"])
    job = Job.objects.within(world).get(id=answer.json()["id"])
    assert job.state == JobState.DONE
    assert 0 < job.result["search"]["tried"] < 12


def test_work_that_is_worth_nothing_half_done_cannot_be_stopped(client: Client, world: Namespace) -> None:
    job = Job.objects.create(namespace=world, kind="reflect")
    refused = client.post(api(world, f"jobs/{job.id}/stop/"), {}, "application/json", headers=key_to(world, Role.WRITE))
    assert problem(refused, 409)["detail"] == "Only optimise can be stopped; this is reflect."


@pytest.mark.parametrize(
    ("wrong", "at", "message"),
    [
        (
            {"set": "0190b3c8-0000-7000-8000-000000000000"},
            "set",
            "must be a judgement set of this namespace with queries (to optimise); got",
        ),
        ({"move": ["pool"]}, "move", "must be some of half_life_entity, "),
        ({"move": "all"}, "move", "must be a list"),
        ({"metric": "luck"}, "metric", "must be one of ndcg@10, recall@5"),
        ({"max_trials": 0}, "max_trials", "must be at least 2"),
        ({"price": -1}, "price", "must be at least 0"),
        ({"params": {"rerank": 7}}, "params.rerank", "must be a number from 0 to 1; got 7"),
        ({"profile": "careful"}, "profile", "must not be given with system"),
        ({"depth": 1}, "depth", "is not a known field"),
    ],
)
def test_an_invalid_search_request_is_refused_at_its_field(
    client: Client, world: Namespace, judgement_set: JudgementSet, wrong: dict[str, Any], at: str, message: str
) -> None:
    (error,) = problem(start_search(client, world, judgement_set, **wrong), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]


def test_a_set_without_a_hold_out_is_refused(client: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    JudgedQuery.objects.within(world).filter(judgement_set_id=judgement_set.id).update(split="tune")
    (error,) = problem(start_search(client, world, judgement_set), 400)["errors"]
    assert error["message"] == "must have queries to tune on and others held out; got none in holdout"


def test_a_set_of_another_namespace_is_not_there(client: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    other = JudgementSet.objects.create(namespace=Namespace.objects.create(slug="there", title="There"), name="theirs")
    (error,) = problem(start_search(client, world, judgement_set, set=str(other.id)), 400)["errors"]
    assert error["at"] == "set"


def test_the_ablation_needs_cached_candidates(client: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    query = {"set": str(judgement_set.id), "system": "blend"}
    headers = key_to(world, Role.READ)
    assert problem(client.get(api(world, "ablation/"), query, headers=headers), 409)["code"] == "not_traced"
    trace_set(world, judgement_set, Config(SYSTEMS["blend"]))
    data = client.get(api(world, "ablation/"), query, headers=headers).json()
    assert [one["retriever"] for one in data["retrievers"]] == list(SYSTEMS["blend"].retrievers)
    assert len(data["overlap"]) == len(data["retrievers"])
    for one in data["retrievers"]:
        assert one["mean"] == pytest.approx(data["mean"] + one["gain"]["difference"])
