"""First steps: ticked by what is there, hidden by whoever has had enough."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories.models import (
    ApiKey,
    JudgedQuery,
    Judgement,
    JudgementSet,
    Memory,
    Namespace,
    ProfileVersion,
    Publication,
    Trace,
)
from memories.pages.checklist import ENOUGH_JUDGED, first_steps
from tests.support.access import member_of
from tests.support.rows import row

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")


def completed_titles(namespace: Namespace) -> list[str]:
    """The steps that are done."""
    return [step.title for step in first_steps(namespace) if step.done]


def overview(client: Client) -> str:
    """The main part of the Overview."""
    return str(client.get("/here/").content.decode()).partition("<main")[2]


def test_a_step_is_done_once_its_result_is_there(namespace: Namespace) -> None:
    assert completed_titles(namespace) == []
    memory = row(Memory, namespace)
    assert completed_titles(namespace) == ["Add memories"]
    row(Trace, namespace)
    assert completed_titles(namespace) == ["Add memories", "Ask something"]
    judgement_set = row(JudgementSet, namespace)
    for number in range(ENOUGH_JUDGED):
        assert "Judge 5 queries" not in completed_titles(namespace)
        query = row(JudgedQuery, namespace, judgement_set=judgement_set, text=f"query {number}")
        row(Judgement, namespace, query=query, memory=memory)
    assert "Judge 5 queries" in completed_titles(namespace)
    version = row(ProfileVersion, namespace, system="blend", params={})
    assert "Tune and save" in completed_titles(namespace)
    row(Publication, namespace, profile_version=version)
    assert "Publish" in completed_titles(namespace)
    row(ApiKey, namespace, last_used_at=timezone.now())
    assert len(completed_titles(namespace)) == 6


def test_a_query_without_a_judgement_does_not_count(namespace: Namespace) -> None:
    judgement_set: Any = row(JudgementSet, namespace)
    for number in range(ENOUGH_JUDGED):
        row(JudgedQuery, namespace, judgement_set=judgement_set, text=f"query {number}")
    assert completed_titles(namespace) == []


def test_the_overview_shows_the_steps_until_a_member_hides_them(namespace: Namespace) -> None:
    ada, bob = member_of(namespace), member_of(namespace, "read")
    assert "0 of 6 done" in overview(ada)
    assert ada.post("/here/checklist/dismiss/").status_code == 302
    assert "First steps" not in overview(ada)
    assert "First steps" in overview(bob)


def test_once_all_is_done_the_overview_shows_no_steps(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [step._replace(done=True) for step in first_steps(namespace)]
    monkeypatch.setattr("memories.pages.checklist.first_steps", lambda namespace: steps)
    assert "First steps" not in overview(member_of(namespace))
