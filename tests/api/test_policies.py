"""Write policies over REST: saved, previewed, published, and applied to stored memories."""

from typing import Any

import pytest
from django.test import Client

from memories.jobs.attempt import run_job
from memories.models import ApiKey, Memory, Namespace
from memories.providers.embedder import embedder
from memories.web.api_keys import make_key
from memories.writing.write_policy import current_write_policy
from scoring.policy import policy_for

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


def thresholds(client: Client) -> tuple[str, str]:
    """The namespace's embedder, and the one its thresholds are for."""
    read = client.get("/api/v1/desk/").json()
    return read["embedder"], read["thresholds_for"]


# A cosine of .907 with wordllama: above its own threshold, below MiniLM's.
MEETING = "The meeting with Priya is at 3 pm", "The meeting with Priya is at 15:00"


@pytest.mark.parametrize("published", [{}, {"weight_repetition": 0.24}])
def test_a_namespace_of_another_embedder_has_its_thresholds_without_being_asked(
    admin: Client, namespace: Namespace, published: dict[str, float]
) -> None:
    if published:
        post(admin, f"policies/{save_policy(admin, **published)['id']}/publish/", {})
    assert thresholds(admin) == ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2")
    Namespace.objects.filter(id=namespace.id).update(embedder="wordllama-256")
    assert thresholds(admin) == ("wordllama-256", "wordllama-256")
    policy = current_write_policy(Namespace.objects.get(id=namespace.id))
    assert (policy.dedup_duplicate, policy.dedup_escalate, policy.corroboration_cosine) == (0.90, 0.84, 0.84)
    assert policy.weight_repetition == published.get("weight_repetition", 0.20)


def test_a_threshold_tuned_for_another_embedder_stays_and_is_seen_to_be_foreign(
    admin: Client, namespace: Namespace
) -> None:
    post(admin, f"policies/{save_policy(admin, dedup_duplicate=0.95)['id']}/publish/", {})
    Namespace.objects.filter(id=namespace.id).update(embedder="wordllama-256")
    assert thresholds(admin) == ("wordllama-256", "all-MiniLM-L6-v2")
    assert current_write_policy(Namespace.objects.get(id=namespace.id)).dedup_duplicate == 0.95
    # Tuned again, now for this one: what is left out is as shipped for it.
    post(admin, f"policies/{save_policy(admin, dedup_duplicate=0.93)['id']}/publish/", {})
    assert thresholds(admin) == ("wordllama-256", "wordllama-256")
    policy = current_write_policy(Namespace.objects.get(id=namespace.id))
    assert (policy.dedup_duplicate, policy.dedup_escalate) == (0.93, 0.84)


def test_a_pair_is_merged_above_the_threshold_of_its_own_embedder(admin: Client, namespace: Namespace) -> None:
    Namespace.objects.filter(id=namespace.id).update(embedder="wordllama-256")
    vectors = embedder("wordllama-256").embed(MEETING)
    thresholds = [policy_for(name).dedup_duplicate for name in ("wordllama-256", "all-MiniLM-L6-v2")]
    assert thresholds[0] < float(vectors[0] @ vectors[1]) < thresholds[1]
    first, second = (post(admin, "memories/", {"content": text, "session": text}).json() for text in MEETING)
    assert (second["outcome"], second["memory"]["id"]) == ("merged", first["memory"]["id"])
