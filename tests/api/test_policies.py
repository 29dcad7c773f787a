"""Write policies over REST: saved, previewed, published, and applied to stored memories."""

from typing import Any

import pytest
from django.test import Client

from memories.jobs.attempt import run_job
from memories.models import ApiKey, Memory, Namespace
from memories.web.api_keys import make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk")


@pytest.fixture
def admin(namespace: Namespace) -> Client:
    made = make_key()
    ApiKey.objects.create(namespace=namespace, name="admin", role="admin", prefix=made.prefix, hash=made.hash)
    return Client(headers={"Authorization": f"Bearer {made.plain}"})


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/desk/{path}", body, content_type="application/json")


def save_policy(client: Client, **params: float) -> dict[str, Any]:
    answer = post(client, "policies/", {"params": params, "note": "stricter"})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_a_version_is_saved_listed_and_has_no_effect_until_it_is_published(admin: Client) -> None:
    version = save_policy(admin, source_direct=0.5)
    listed = admin.get("/api/v1/desk/policies/").json()
    assert listed["serving"] is None
    assert [(one["name"], [row["id"] for row in one["versions"]]) for one in listed["results"]] == [
        ("default", [version["id"]])
    ]
    before = post(admin, "memories/", {"content": "Plays the cello", "source_level": "direct"}).json()
    post(admin, f"policies/{version['id']}/publish/", {})
    after = post(admin, "memories/", {"content": "Sails on Sundays", "source_level": "direct"}).json()
    assert after["memory"]["confidence"] < before["memory"]["confidence"]
    assert admin.get("/api/v1/desk/policies/").json()["serving"] == version["id"]


def test_a_version_whose_recomputation_cannot_begin_is_not_published(admin: Client, namespace: Namespace) -> None:
    first, other = save_policy(admin, source_direct=0.5), save_policy(admin, source_direct=0.6)
    assert post(admin, f"policies/{first['id']}/publish/", {"recompute": True}).status_code == 200
    refused = post(admin, f"policies/{other['id']}/publish/", {"recompute": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "job_unfinished")
    assert admin.get("/api/v1/desk/policies/").json()["serving"] == first["id"]


def test_publishing_with_recompute_does_what_the_preview_showed(admin: Client, namespace: Namespace) -> None:
    post(admin, "memories/", {"content": "Plays the cello", "source_level": "direct", "type": "Fact"})
    version = save_policy(admin, source_direct=0.5)
    data = admin.get(f"/api/v1/desk/policies/{version['id']}/preview/").json()
    assert (data["memories"], data["confidence"]["changed"]) == (1, 1)
    published = post(admin, f"policies/{version['id']}/publish/", {"recompute": True}).json()
    assert published["version"]["id"] == version["id"]
    run_job(namespace.id, published["job"]["id"])
    job = admin.get(f"/api/v1/desk/jobs/{published['job']['id']}/").json()
    assert (job["state"], job["result"]["recompute"]["changed"]) == ("done", 1)
    assert Memory.objects.get().confidence == pytest.approx(data["confidence"]["largest"][0]["after"])


@pytest.mark.parametrize(
    ("params", "at"),
    [
        ({"source_direct": 2}, "params.source_direct"),
        ({"source_direct": "high"}, "params.source_direct"),
        ({"nonsense": 1}, "params.nonsense"),
        ({"dedup_escalate": 0.9, "dedup_duplicate": 0.87}, "params.dedup_escalate"),
    ],
)
def test_a_value_that_breaks_a_bound_or_a_rule_is_refused_at_its_field(
    admin: Client, params: dict[str, Any], at: str
) -> None:
    answer = post(admin, "policies/", {"params": params})
    assert answer.status_code == 400
    assert [error["at"] for error in answer.json()["errors"]] == [at]


def test_an_unknown_version_is_not_there(admin: Client, namespace: Namespace) -> None:
    for act in ("preview", "publish"):
        address = f"/api/v1/desk/policies/{namespace.id}/{act}/"
        answer = admin.get(address) if act == "preview" else admin.post(address, {}, content_type="application/json")
        assert answer.status_code == 404
