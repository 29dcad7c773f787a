"""Profile versions: added, checked, published, and asked over the API."""

from typing import Any

from django.test import Client

from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.models import Job, Namespace, ProfileVersion, Publication
from memories.models.choices import JobState, Role
from memories.tuning import profile_publication, profile_versions
from tests.support.access import key_to

GOOD: dict[str, Any] = {"abstain_below": 0.0}
ABSTAINING: dict[str, Any] = {"abstain_below": 1.0}  # answers nothing at all


def add_version(
    namespace: Namespace, params: dict[str, Any], name: str = "careful", system: str = "blend"
) -> ProfileVersion:
    """The next version of a profile."""
    made = profile_versions.add_profile_version(
        namespace, name=name, system=system, params=params, parent=None, note="tried", by="tests"
    )
    return ProfileVersion.objects.within(namespace).select_related("profile").get(id=made.id)


def retrieve_over_api(namespace: Namespace, text: str, **more: Any) -> dict[str, Any]:
    """What an agent is told."""
    headers = key_to(namespace, Role.READ)
    address = f"/api/v1/{namespace.slug}/retrieve/"
    answer = Client().post(address, {"query": text, **more}, "application/json", headers=headers)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def force_publish(namespace: Namespace, version: ProfileVersion) -> Publication:
    """A version that serves, whatever the gate would say."""
    return profile_publication.publish_profile(namespace, version, override="so the test begins", by="tests")


def run_check(namespace: Namespace, version: ProfileVersion) -> Job:
    """A version's check, seen through here."""
    job = tuning_jobs.submit_gate_job(namespace, version, by="tests")
    run_job(namespace.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    return job
