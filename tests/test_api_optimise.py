"""A search asked for over REST, done by a job, stopped by a person; and the ablation."""

import itertools
from typing import Any

import pytest
from django.test import Client
from retrieval_world import world
from test_api_walls import key_to, problem
from tuning_world import judged, traced

from memories.jobs.running import run
from memories.models import Job, JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import JobState, Role
from memories.retrieval.query import Setting
from memories.tuning import optimising
from memories.tuning.evaluating import MAIN, measured
from memories.tuning.holding import arrays
from memories.tuning.objective import Objective, part_of
from scoring.systems import SYSTEMS

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def questions(world: Namespace) -> JudgementSet:
    return judged(world, "to optimise")


def api(world: Namespace, rest: str) -> str:
    return f"/api/v1/{world.slug}/{rest}"


def begun(client: Client, world: Namespace, questions: JudgementSet, **more: Any) -> Any:
    """The answer to a wish."""
    body = {"set": str(questions.id), "system": "blend", "settings": 12, "move": ["rerank", "age"], **more}
    return client.post(api(world, "optimise/"), body, "application/json", headers=key_to(world, Role.WRITE))


def done(client: Client, world: Namespace, questions: JudgementSet, **more: Any) -> Any:
    """A job that was asked for, after its worker has run it here."""
    answer = begun(client, world, questions, **more)
    assert answer.status_code == 202
    run(world.id, answer.json()["id"])
    return client.get(answer["Location"], headers=key_to(world, Role.READ)).json()


def test_a_search_asks_the_set_tries_settings_and_looks_at_the_hold_out_once(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    told = done(client, world, questions)
    assert (told["state"], told["error"], told["share"]) == ("done", "", 1.0)
    search, check = told["result"]["search"], told["result"]["check"]
    assert search["tried"] == 12
    assert search["best"] >= search["start"]
    assert [best for _, best in search["improved"]] == sorted(best for _, best in search["improved"])
    assert set(search["chosen"]) <= {"rerank", "age"}
    # Six queries cannot prove anything.
    assert check["proven"] is False
    whole = arrays(TracedSet.objects.within(world).get(judgement_set_id=questions.id))
    tune = part_of(whole, "tune")
    start = measured(tune, Setting(SYSTEMS["blend"]))
    assert search["start"] == pytest.approx(start.mean(MAIN))
    assert check["tune"]["before"][MAIN]["mean"] == pytest.approx(start.mean(MAIN))
    best = Setting(SYSTEMS["blend"], search["changed"])
    assert search["best"] == pytest.approx(float(Objective(MAIN).each(measured(tune, best)).mean()))


def test_the_same_wish_finds_the_same(client: Client, world: Namespace, questions: JudgementSet) -> None:
    first, again = (done(client, world, questions)["result"]["search"] for _ in range(2))
    for name in ("tried", "start", "best", "changed", "improved", "points", "chosen"):
        assert first[name] == again[name]


@pytest.mark.parametrize("against", ["diversity", "context"])
@pytest.mark.parametrize("system", ["blend", "recall"])
def test_what_quality_costs_is_told_for_what_nothing_beats(
    client: Client, world: Namespace, questions: JudgementSet, against: str, system: str
) -> None:
    told = done(client, world, questions, against=against, system=system, move=["half_life_fact", "weight_bm25"])
    points = told["result"]["search"]["points"]
    assert len(points) == 12
    best = [one for one in points if one["front"]]
    assert best
    assert all(set(one["changed"]) <= {"half_life_fact", "weight_bm25"} for one in best)
    assert all((one["other"] <= 1) == (against == "diversity") for one in points)


def test_a_search_that_is_stopped_keeps_the_best_so_far(
    client: Client, world: Namespace, questions: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(world, questions, Setting(SYSTEMS["blend"]))
    answer = begun(client, world, questions, settings=500)
    clock = itertools.count()
    monkeypatch.setattr(optimising.time, "perf_counter", lambda: next(clock) / 10)  # a word every few settings
    stop = client.post(
        api(world, f"jobs/{answer.json()['id']}/stop/"), {}, "application/json", headers=key_to(world, Role.WRITE)
    )
    assert (stop.status_code, stop.json()["params"]["stop"]) == (200, True)
    run(world.id, answer.json()["id"])
    job = Job.objects.within(world).get(id=answer.json()["id"])
    assert job.state == JobState.DONE
    assert job.result["search"]["stopped"] is True
    assert 0 < job.result["search"]["tried"] < 100
    assert "proven" in job.result["check"]
    again = client.post(
        api(world, f"jobs/{job.id}/stop/"), {}, "application/json", headers=key_to(world, Role.WRITE)
    ).json()
    assert again["state"] == "done"


def test_time_is_a_budget_too(
    client: Client, world: Namespace, questions: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = begun(client, world, questions, settings=500, seconds=3)
    clock = itertools.count()
    monkeypatch.setattr(optimising.time, "perf_counter", lambda: next(clock) / 4)
    run(world.id, answer.json()["id"])
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
        ({"settings": 0}, "settings", "must be at least 2"),
        ({"price": -1}, "price", "must be at least 0"),
        ({"params": {"rerank": 7}}, "params.rerank", "must be a number from 0 to 1; got 7"),
        ({"profile": "careful"}, "profile", "must not come with system"),
        ({"depth": 1}, "depth", "is not a known field"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_at_its_place(
    client: Client, world: Namespace, questions: JudgementSet, wrong: dict[str, Any], at: str, message: str
) -> None:
    (error,) = problem(begun(client, world, questions, **wrong), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]


def test_a_set_without_a_hold_out_is_refused(client: Client, world: Namespace, questions: JudgementSet) -> None:
    JudgedQuery.objects.within(world).filter(judgement_set_id=questions.id).update(part="tune")
    (error,) = problem(begun(client, world, questions), 400)["errors"]
    assert error["message"] == "must have queries to tune on and others held out; got none in holdout"


def test_a_set_of_another_namespace_is_not_there(client: Client, world: Namespace, questions: JudgementSet) -> None:
    other = JudgementSet.objects.create(namespace=Namespace.objects.create(slug="there", title="There"), name="theirs")
    (error,) = problem(begun(client, world, questions, set=str(other.id)), 400)["errors"]
    assert error["at"] == "set"


def test_the_ablation_is_told_for_a_set_that_was_asked(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    asked = {"set": str(questions.id), "system": "blend"}
    headers = key_to(world, Role.READ)
    assert problem(client.get(api(world, "ablation/"), asked, headers=headers), 409)["code"] == "not_asked"
    traced(world, questions, Setting(SYSTEMS["blend"]))
    told = client.get(api(world, "ablation/"), asked, headers=headers).json()
    assert [one["route"] for one in told["routes"]] == list(SYSTEMS["blend"].routes)
    assert len(told["overlap"]) == len(told["routes"])
    for one in told["routes"]:
        assert one["mean"] == pytest.approx(told["mean"] + one["gain"]["difference"])
