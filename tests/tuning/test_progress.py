"""Long tuning jobs report their progress, and the result is found later."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories.models import Job, JudgementSet, Membership, Namespace, ProfileVersion
from memories.models.choices import JobKind, JobState, Role
from memories.tuning.profile_versions import add_profile_version
from tests.support.judged_world import make_judgement_set

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

# What is begun by which form, and on which page it is told.
WORK: dict[str, tuple[JobKind, str, dict[str, Any], str]] = {
    "asking for Tune": (JobKind.TRACE, "tune/trace/", {"here": ""}, "tune/"),
    "asking for the ablation": (
        JobKind.TRACE,
        "ablation/trace/",
        {"set": "{set}", "by": "recall"},
        "ablation/?by=recall&show=1",
    ),
    "a pool": (JobKind.POOL, "judgements/{set}/pool/", {"k": "5", "configs": ["blend"]}, "judgements/{set}/"),
    "a measurement": (JobKind.EVALUATE, "profiles/{version}/evaluate/", {"set": "{set}"}, "profiles/{version}/"),
    "a check": (JobKind.GATE, "profiles/{version}/check/", {}, "profiles/{version}/"),
    "a search": (JobKind.OPTIMISE, "optimise/start/", {"set": "{set}", "move": ["age"]}, "optimise/"),
}


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    return make_judgement_set(world, "questions that take long")


@pytest.fixture
def version(world: Namespace) -> ProfileVersion:
    return add_profile_version(
        world, name="slow", system="blend", params={"age": 0.3}, parent=None, note="", by="tests"
    )


def member(world: Namespace, name: str) -> Client:
    """Somebody of the namespace, signed in."""
    user, client = User.objects.create_user(name), Client()
    Membership.objects.create(namespace=world, user=user, role=Role.ADMIN)
    client.force_login(user)
    return client


@pytest.mark.parametrize("work", WORK)
def test_work_that_was_left_is_found_again_with_how_far_it_is(
    world: Namespace, judgement_set: JudgementSet, version: ProfileVersion, work: str
) -> None:
    kind, act, form, page = WORK[work]
    named = {"set": judgement_set.id, "version": version.id}
    sent = {name: value.format(**named) if isinstance(value, str) else value for name, value in form.items()}
    begun = member(world, "ada").post(f"/{world.slug}/{act.format(**named)}", sent)
    assert begun.status_code == 302
    job = Job.objects.within(world).get(kind=kind)
    other = member(world, "bo")
    for done in (3, 5):
        state = {
            "state": JobState.RUNNING,
            "step": "trace" if kind == JobKind.OPTIMISE else "",
            "done": done,
            "total": 9,
        }
        Job.objects.within(world).filter(id=job.id).update(**state)
        told = other.get(f"/{world.slug}/{page.format(**named)}").content.decode()
        assert f"{done} of 9" in told
        assert "data-poll" in told
