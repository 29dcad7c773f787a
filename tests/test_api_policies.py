"""Write policies over REST: kept, previewed, published, and applied to what is stored."""

from typing import Any

import pytest
from django.test import Client

from memories.jobs.running import run
from memories.keys import make_key
from memories.models import ApiKey, Memory, Namespace

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


def kept(client: Client, **params: float) -> dict[str, Any]:
    answer = post(client, "policies/", {"params": params, "note": "stricter"})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_a_version_is_kept_listed_and_decides_nothing_until_it_is_published(admin: Client) -> None:
    version = kept(admin, source_direct=0.5)
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
    first, other = kept(admin, source_direct=0.5), kept(admin, source_direct=0.6)
    assert post(admin, f"policies/{first['id']}/publish/", {"recompute": True}).status_code == 200
    refused = post(admin, f"policies/{other['id']}/publish/", {"recompute": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "job_unfinished")
    assert admin.get("/api/v1/desk/policies/").json()["serving"] == first["id"]


def test_publishing_with_recompute_does_to_the_stored_what_the_preview_told(
    admin: Client, namespace: Namespace
) -> None:
    post(admin, "memories/", {"content": "Plays the cello", "source_level": "direct", "type": "Fact"})
    version = kept(admin, source_direct=0.5)
    told = admin.get(f"/api/v1/desk/policies/{version['id']}/preview/").json()
    assert (told["memories"], told["confidence"]["changed"]) == (1, 1)
    published = post(admin, f"policies/{version['id']}/publish/", {"recompute": True}).json()
    assert published["version"]["id"] == version["id"]
    run(namespace.id, published["job"]["id"])
    job = admin.get(f"/api/v1/desk/jobs/{published['job']['id']}/").json()
    assert (job["state"], job["result"]["recompute"]["changed"]) == ("done", 1)
    assert Memory.objects.get().confidence == pytest.approx(told["confidence"]["largest"][0]["after"])


@pytest.mark.parametrize(
    ("params", "at"),
    [
        ({"source_direct": 2}, "params.source_direct"),
        ({"source_direct": "high"}, "params.source_direct"),
        ({"nonsense": 1}, "params.nonsense"),
        ({"dedup_escalate": 0.9, "dedup_duplicate": 0.87}, "params.dedup_escalate"),
    ],
)
def test_a_value_that_breaks_a_bound_or_a_rule_is_refused_where_it_stands(
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
