"""A setting measured on judged queries over REST, against another, and over the range of its parameters."""

from typing import Any

import pytest
from django.test import Client
from retrieval_world import world
from test_api_walls import key_to, problem
from test_tuning_profiles import kept
from tuning_world import judged, traced

from memories.jobs.running import run
from memories.models import Evaluation, JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import QueryKind, Role
from memories.retrieval.query import Setting
from memories.tuning.evaluating import MAIN, measured
from memories.tuning.holding import arrays
from memories.tuning.optimising import movable
from memories.tuning.sensitivity import PAPER
from scoring.systems import SYSTEMS

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def questions(world: Namespace) -> JudgementSet:
    """Judged questions, asked by blend."""
    whole = judged(world, "to measure")
    traced(world, whole, Setting(SYSTEMS["blend"]))
    return whole


def measure(client: Client, world: Namespace, role: Role = Role.WRITE, **asked: Any) -> Any:
    """The answer to a wish for a measurement."""
    return client.post(f"/api/v1/{world.slug}/evaluations/", asked, "application/json", headers=key_to(world, role))


def asked(client: Client, world: Namespace, where: str, **query: Any) -> Any:
    """What stands at an address."""
    return client.get(f"/api/v1/{world.slug}/{where}/", query, headers=key_to(world, Role.READ))


def test_a_setting_is_measured_as_the_arrays_have_it_and_kept(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    answer = measure(client, world, set=questions.name, params={"trust": 0.4}, part="tune")
    assert answer.status_code == 201
    told = answer.json()
    found = measured(arrays(TracedSet.objects.within(world).get()), Setting(SYSTEMS["blend"], {"trust": 0.4}))
    for name, one in found.told("tune").items():
        assert {key: told["metrics"][name][key] for key in ("mean", "low", "high")} == pytest.approx(one._asdict())
    assert {one["category"]: one["metrics"][MAIN]["queries"] for one in told["categories"]} == {
        "things": 4,
        "people": 1,
    }
    assert told["unjudged"] == pytest.approx(found.unjudged("tune"))
    assert (told["written_since"], told["against"]) == (0, None)
    (row,) = asked(client, world, "evaluations").json()["results"]
    assert (row["id"], row["params"], row["profile_version_id"]) == (told["evaluation"], {"trust": 0.4}, None)
    assert row["metrics"] == told["metrics"]


def test_what_is_not_to_be_recorded_is_told_and_forgotten(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    answer = measure(client, world, record=False)
    assert (answer.status_code, answer.json()["evaluation"]) == (200, None)
    assert not Evaluation.objects.exists()


def test_a_version_is_named_unless_something_was_said_on_top(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    version = kept(world, {"trust": 0.3})
    name = f"{version.profile.name}@{version.number}"
    measure(client, world, profile=name)
    measure(client, world, profile=name, params={"trust": 0.5})
    rows = asked(client, world, "evaluations").json()["results"]
    assert [row["profile_version_id"] for row in rows] == [None, str(version.id)]
    only = asked(client, world, "evaluations", version=str(version.id), set=str(questions.id)).json()["results"]
    assert only == rows[1:]


def test_a_setting_is_held_against_another_query_by_query(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    told = measure(client, world, params={"abstain_below": 1.0}, against={"system": "blend"}, metric="mrr").json()
    against = told["against"]
    before = against["metrics"]["mrr"]["mean"]
    assert told["metrics"]["mrr"]["mean"] == 0.0
    assert against["difference"] == pytest.approx(-before)
    assert against["low"] <= against["difference"] <= against["high"]
    assert (against["won"], against["lost"], against["queries"]) == (0, len(against["moved"]), 7)
    assert all(one["after"] == 0.0 < one["before"] for one in against["moved"])


def test_questions_that_were_not_asked_yet_are_asked_by_a_job(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    answer = measure(client, world, system="recall")
    assert answer.status_code == 202
    job = client.get(answer["Location"], headers=key_to(world, Role.READ)).json()
    assert (job["kind"], job["params"]["system"]) == ("trace", "recall")
    run(world.id, job["id"])
    assert measure(client, world, system="recall").status_code == 201


def test_queries_that_one_side_was_never_asked_are_left_out_of_a_comparison(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    JudgedQuery.objects.create(
        namespace=world, judgement_set=questions, text="new", kind=QueryKind.ANSWERABLE, part="tune"
    )
    traced(world, questions, Setting(SYSTEMS["recall"]))
    told = measure(client, world, system="recall", against={"system": "blend"}).json()
    assert told["against"]["queries"] == 7


@pytest.mark.parametrize(
    ("wrong", "at", "message"),
    [
        ({"set": "nowhere"}, "set", "must be a judgement set of this namespace with queries (to measure); got"),
        ({"part": "half"}, "part", "must be one of tune, holdout"),
        ({"params": {"trust": 7}}, "params.trust", "must be a number from 0 to 1; got 7"),
        ({"system": "blend", "profile": "x"}, "profile", "must not come with system"),
        ({"against": {"profile": "x"}}, "against.profile", "must be a profile of this namespace"),
        ({"depth": 1}, "depth", "is not a known field"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_at_its_place(
    client: Client, world: Namespace, questions: JudgementSet, wrong: dict[str, Any], at: str, message: str
) -> None:
    (error,) = problem(measure(client, world, **wrong), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]


def test_the_curves_tell_the_metric_at_every_value_and_name_what_asks_again(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    told = asked(client, world, "sensitivity", param="trust", part="tune").json()
    whole = arrays(TracedSet.objects.within(world).get())
    (curve,) = told["curves"]
    for value, metric in zip(curve["values"], curve["metric"], strict=True):
        assert metric == measured(whole, Setting(SYSTEMS["blend"], {"trust": value})).mean(MAIN, "tune")
    assert told["here"] == measured(whole, Setting(SYSTEMS["blend"])).mean(MAIN, "tune")
    assert "bm25_k1" in told["asks_again"]
    everything = asked(client, world, "sensitivity").json()
    assert [one["name"] for one in everything["curves"]] + everything["left"] == movable(Setting(SYSTEMS["blend"]))


def test_k_is_measured_exactly_where_the_paper_looked(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    assert problem(asked(client, world, "sensitivity", system="recall"), 409)["code"] == "not_asked"
    traced(world, questions, Setting(SYSTEMS["recall"]))
    (curve,) = asked(client, world, "sensitivity", system="recall", param="rrf_k").json()["curves"]
    assert set(PAPER) <= set(curve["values"])


def test_a_parameter_that_moves_no_score_has_no_curve(
    client: Client, world: Namespace, questions: JudgementSet
) -> None:
    (error,) = problem(asked(client, world, "sensitivity", param="bm25_k1"), 400)["errors"]
    assert error["at"] == "param"
    assert "must be one of half_life_entity" in error["message"]
