"""Evaluation over REST: a configuration on judged queries, against a baseline, and over its parameters' ranges."""

from typing import Any

import pytest
from django.test import Client

from memories.jobs.attempt import run_job
from memories.models import Evaluation, JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import QueryKind, Role
from memories.retrieval.query import Config
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import MAIN_METRIC, measure_config
from memories.tuning.optimiser import tunable_params
from memories.tuning.sensitivity import PAPER_K_VALUES
from scoring.systems import SYSTEMS
from tests.support.access import key_to
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.problems import problem
from tests.support.profiles import add_version

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    """A judgement set whose candidates under blend are cached."""
    judged_set = make_judgement_set(world, "to measure")
    trace_set(world, judged_set, Config(SYSTEMS["blend"]))
    return judged_set


def measure(client: Client, world: Namespace, role: Role = Role.WRITE, **asked: Any) -> Any:
    """The response to an evaluation request."""
    return client.post(f"/api/v1/{world.slug}/evaluations/", asked, "application/json", headers=key_to(world, role))


def get_json(client: Client, world: Namespace, where: str, **query: Any) -> Any:
    """GET an endpoint."""
    return client.get(f"/api/v1/{world.slug}/{where}/", query, headers=key_to(world, Role.READ))


def test_an_evaluation_matches_the_arrays_and_is_stored(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    answer = measure(client, world, set=judgement_set.name, params={"trust": 0.4}, split="tune")
    assert answer.status_code == 201
    data = answer.json()
    evaluated = measure_config(
        cached_arrays(TracedSet.objects.within(world).get()), Config(SYSTEMS["blend"], {"trust": 0.4})
    )
    for name, interval in evaluated.intervals("tune").items():
        assert {key: data["metrics"][name][key] for key in ("mean", "low", "high")} == pytest.approx(interval._asdict())
    assert {interval["category"]: interval["metrics"][MAIN_METRIC]["queries"] for interval in data["categories"]} == {
        "things": 4,
        "people": 1,
    }
    assert data["unjudged"] == pytest.approx(evaluated.unjudged_share("tune"))
    assert (data["written_since"], data["against"]) == (0, None)
    (row,) = get_json(client, world, "evaluations").json()["results"]
    assert (row["id"], row["params"], row["profile_version_id"]) == (data["evaluation"], {"trust": 0.4}, None)
    assert row["metrics"] == data["metrics"]


def test_an_unrecorded_evaluation_is_returned_but_not_stored(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    answer = measure(client, world, record=False)
    assert (answer.status_code, answer.json()["evaluation"]) == (200, None)
    assert not Evaluation.objects.exists()


def test_an_evaluation_names_the_version_unless_parameters_are_overridden(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    version = add_version(world, {"trust": 0.3})
    name = f"{version.profile.name}@{version.number}"
    measure(client, world, profile=name)
    measure(client, world, profile=name, params={"trust": 0.5})
    rows = get_json(client, world, "evaluations").json()["results"]
    assert [row["profile_version_id"] for row in rows] == [None, str(version.id)]
    only = get_json(client, world, "evaluations", version=str(version.id), set=str(judgement_set.id)).json()["results"]
    assert only == rows[1:]


def test_a_configuration_is_compared_with_another_query_by_query(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    data = measure(client, world, params={"abstain_below": 1.0}, against={"system": "blend"}, metric="mrr").json()
    against = data["against"]
    before = against["metrics"]["mrr"]["mean"]
    assert data["metrics"]["mrr"]["mean"] == 0.0
    assert against["difference"] == pytest.approx(-before)
    assert against["low"] <= against["difference"] <= against["high"]
    assert (against["won"], against["lost"], against["queries"]) == (0, len(against["moved"]), 7)
    assert all(one["after"] == 0.0 < one["before"] for one in against["moved"])


def test_queries_without_cached_candidates_are_run_by_a_job(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    answer = measure(client, world, system="recall")
    assert answer.status_code == 202
    job = client.get(answer["Location"], headers=key_to(world, Role.READ)).json()
    assert (job["kind"], job["params"]["system"]) == ("trace", "recall")
    run_job(world.id, job["id"])
    assert measure(client, world, system="recall").status_code == 201


def test_queries_that_only_one_side_has_run_are_left_out_of_a_comparison(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    JudgedQuery.objects.create(
        namespace=world, judgement_set=judgement_set, text="new", kind=QueryKind.ANSWERABLE, split="tune"
    )
    trace_set(world, judgement_set, Config(SYSTEMS["recall"]))
    data = measure(client, world, system="recall", against={"system": "blend"}).json()
    assert data["against"]["queries"] == 7


@pytest.mark.parametrize(
    ("wrong", "at", "message"),
    [
        ({"set": "nowhere"}, "set", "must be a judgement set of this namespace with queries (to measure); got"),
        ({"split": "half"}, "split", "must be one of tune, holdout"),
        ({"params": {"trust": 7}}, "params.trust", "must be a number from 0 to 1; got 7"),
        ({"system": "blend", "profile": "x"}, "profile", "must not be given with system"),
        ({"against": {"profile": "x"}}, "against.profile", "must be a profile of this namespace"),
        ({"depth": 1}, "depth", "is not a known field"),
    ],
)
def test_an_invalid_evaluation_request_is_refused_at_its_field(
    client: Client, world: Namespace, judgement_set: JudgementSet, wrong: dict[str, Any], at: str, message: str
) -> None:
    (error,) = problem(measure(client, world, **wrong), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]


def test_the_curves_give_the_metric_at_every_value_and_name_parameters_that_need_a_new_query(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    data = get_json(client, world, "sensitivity", param="trust", split="tune").json()
    query_arrays = cached_arrays(TracedSet.objects.within(world).get())
    (curve,) = data["curves"]
    for value, metric in zip(curve["values"], curve["metric"], strict=True):
        assert metric == measure_config(query_arrays, Config(SYSTEMS["blend"], {"trust": value})).mean(
            MAIN_METRIC, "tune"
        )
    assert data["current"] == measure_config(query_arrays, Config(SYSTEMS["blend"])).mean(MAIN_METRIC, "tune")
    assert "bm25_k1" in data["needs_new_query"]
    everything = get_json(client, world, "sensitivity").json()
    assert [one["name"] for one in everything["curves"]] + everything["left"] == tunable_params(
        Config(SYSTEMS["blend"])
    )


def test_k_is_measured_exactly_where_the_paper_looked(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    assert problem(get_json(client, world, "sensitivity", system="recall"), 409)["code"] == "not_traced"
    trace_set(world, judgement_set, Config(SYSTEMS["recall"]))
    (curve,) = get_json(client, world, "sensitivity", system="recall", param="rrf_k").json()["curves"]
    assert set(PAPER_K_VALUES) <= set(curve["values"])


def test_a_parameter_that_moves_no_score_has_no_curve(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    (error,) = problem(get_json(client, world, "sensitivity", param="bm25_k1"), 400)["errors"]
    assert error["at"] == "param"
    assert "must be one of half_life_entity" in error["message"]
