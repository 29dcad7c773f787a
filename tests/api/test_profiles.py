"""Profiles over REST: drafts, diffs, YAML, checks, publication, rollback and shadow."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.jobs.attempt import run_job
from memories.models import JudgementSet, Namespace, ProfileVersion
from memories.models.choices import Role
from memories.tuning.measurement import MAIN_METRIC
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.profiles import ABSTAINING, GOOD, add_version, retrieve_over_api

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def admin(world: Namespace) -> Client:
    return Client(headers=key_to(world))


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"/api/v1/asked/profiles/{path}", {} if body is None else body, "application/json")


def get(client: Client, path: str = "") -> Any:
    return client.get(f"/api/v1/asked/profiles/{path}").json()


def draft(client: Client, **said: Any) -> dict[str, Any]:
    answer = post(client, "", {"name": "careful", "system": "blend", **said})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_a_draft_becomes_evaluated_and_published_and_then_serves(
    admin: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    made = draft(admin, params=GOOD, note="answers always")
    assert (made["state"], made["serving"], made["number"], made["parent"]) == ("draft", False, 1, None)
    job = post(admin, f"{made['id']}/evaluate/", {"split": "holdout"})
    assert job.status_code == 202
    run_job(world.id, job.json()["id"])
    found = get(admin, f"{made['id']}/")
    assert found["state"] == "evaluated"
    assert found["evaluation"]["split"] == "holdout"
    assert found["evaluation"]["metrics"][MAIN_METRIC]["low"] <= found["evaluation"]["metrics"][MAIN_METRIC]["mean"]
    assert problem(post(admin, f"{made['id']}/publish/"), 409)["code"] == "unchecked"
    job = post(admin, f"{made['id']}/gate/")
    run_job(world.id, job.json()["id"])
    checked = get(admin, f"{made['id']}/gate/")
    assert (checked["objection"], checked["code"], checked["job"]["state"]) == ("", "", "done")
    published = post(admin, f"{made['id']}/publish/", {"serving": None, "note": "at last"}).json()
    assert (published["profile_version"], published["note"]) == (made["id"], "at last")
    listed = get(admin)
    assert listed["serving"]["id"] == published["id"]
    assert [(one["state"], one["serving"]) for one in listed["results"]] == [("published", True)]
    assert retrieve_over_api(world, "backup")["profile"]["name"] == "careful"


def test_a_planted_loss_is_refused_unless_a_reason_is_given(
    admin: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    good, ruined = draft(admin, params=GOOD), draft(admin, params=ABSTAINING)
    first = post(admin, f"{good['id']}/publish/", {"override": "to begin with"}).json()
    run_job(world.id, post(admin, f"{ruined['id']}/gate/").json()["id"])
    refused = problem(post(admin, f"{ruined['id']}/publish/", {"serving": first["id"]}), 409)
    assert refused["code"] == "loss"
    assert refused["detail"].startswith("careful@2 loses: nDCG@10 −")
    assert get(admin, f"{ruined['id']}/gate/")["code"] == "loss"
    second = post(admin, f"{ruined['id']}/publish/", {"override": "we want silence", "serving": first["id"]}).json()
    assert "Overridden: we want silence (careful@2 loses" in second["note"]
    late = problem(post(admin, f"{good['id']}/publish/", {"override": "mine", "serving": first["id"]}), 409)
    assert late["code"] == "overtaken"
    back = post(admin, "rollback/", {"serving": second["id"]}).json()
    assert back["profile_version"] == good["id"]


def test_a_diff_is_against_the_parent_another_version_or_the_defaults(admin: Client) -> None:
    first, second = draft(admin, params={"abstain_below": 0.1}), draft(admin, params={"abstain_below": 0.2})
    [change] = get(admin, f"{second['id']}/diff/")["changes"]
    assert change.endswith(".1 → .2")
    assert second["changes"] == [change]
    [back] = get(admin, f"{first['id']}/diff/?against={second['id']}")["changes"]
    assert back.endswith(".2 → .1")
    [shipped] = get(admin, f"{first['id']}/diff/")["changes"]
    assert "(default) → .1" in shipped
    assert admin.get(f"/api/v1/asked/profiles/{first['id']}/diff/?against={uuid4()}").status_code == 404


def test_yaml_goes_out_and_comes_in_again(admin: Client, world: Namespace) -> None:
    made = draft(admin, params=GOOD, note="answers: always")
    text = get(admin, f"{made['id']}/yaml/")["yaml"]
    assert post(admin, "yaml/", {"yaml": text}).json()["id"] == made["id"]
    again = post(admin, "yaml/", {"yaml": text.replace("careful", "bold")}).json()
    assert (again["profile"], again["number"], again["params"]) == ("bold", 1, GOOD)
    wrong = problem(post(admin, "yaml/", {"yaml": text.replace("0.0", "7")}), 400)
    assert wrong["errors"][0]["at"] == "yaml.abstain_below"
    assert ProfileVersion.objects.within(world).count() == 2


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"system": "unheard", "params": {}}, "system"),
        ({"system": "blend", "params": {"abstain_below": 2}}, "params.abstain_below"),
        ({"system": "blend", "params": {"nonsense": 1}}, "params.nonsense"),
        ({"system": "blend", "params": {}, "name": "a@1"}, "name"),
        ({"system": "blend", "params": {}, "parent": str(uuid4())}, "parent"),
    ],
)
def test_an_invalid_draft_is_refused_at_its_field(admin: Client, body: dict[str, Any], at: str) -> None:
    assert [one["at"] for one in problem(post(admin, "", body), 400)["errors"]] == [at]


def test_an_unknown_set_is_refused_with_those_there_are(
    admin: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    version = add_version(world, GOOD)
    message = problem(post(admin, f"{version.id}/evaluate/", {"set": "unheard"}), 400)["errors"][0]["message"]
    assert "(questions)" in message


def test_a_shadow_is_cast_reported_and_ended(admin: Client, world: Namespace) -> None:
    assert get(admin, "shadow/") == {"version": None, "percent": None, "since": None, "report": None}
    version = draft(admin, params=ABSTAINING)
    cast = post(admin, "shadow/", {"version": version["id"], "percent": 100}).json()
    assert (cast["version"], cast["percent"], cast["report"]["compared"]) == (version["id"], 100, 0)
    wrong = problem(post(admin, "shadow/", {"version": str(uuid4())}), 400)
    assert wrong["errors"][0]["at"] == "version"
    assert admin.delete("/api/v1/asked/profiles/shadow/").json()["version"] is None


def test_writers_make_drafts_and_admins_publish(world: Namespace) -> None:
    writer = Client(headers=key_to(world, Role.WRITE))
    made = draft(writer, params=GOOD)
    for path in (f"{made['id']}/publish/", "rollback/", "shadow/"):
        assert problem(post(writer, path, {}), 403)["detail"].startswith("This needs the role admin")
    reader = Client(headers=key_to(world, Role.READ))
    assert problem(post(reader, "", {"system": "blend", "params": {}}), 403)["code"] == "permission_denied"
    assert get(reader)["results"][0]["id"] == made["id"]


def test_listing_takes_as_many_sql_queries_for_many_versions_as_for_one(
    admin: Client, world: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(12):
        add_version(world, GOOD)
    with django_assert_max_num_queries(10):
        assert len(get(admin)["results"]) == 12
