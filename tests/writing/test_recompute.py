"""Applying another write policy to stored memories."""

from datetime import UTC, datetime

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.contracts.work import Work
from memories.models import Job, Memory, Namespace, Publication, ScoreEvent
from memories.models.choices import JobKind, JobState
from memories.tuning.policy_versions import add_policy_version, publish_policy
from memories.writing.feedback import confirm_memory
from memories.writing.recompute import preview_policy, recompute_scores
from memories.writing.remember import remember
from scoring.params import ParamsError
from scoring.policy import WritePolicyParams
from tests.support.explanations import evaluate

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SAID = {"direct": "Maya plays the cello", "weak_inference": "Elias may sail", "speculation": "Jonas seems tired"}


@pytest.fixture
def namespace() -> Namespace:
    created = Namespace.objects.create(slug="desk", title="A desk", clock=NOW)
    new_memories = [
        NewMemory(content=text, type="Fact", utterances=(Utterance(level),), session="a")
        for level, text in SAID.items()
    ]
    new_memories += [
        NewMemory(content="Maya plays the cello", type="Fact", utterances=(Utterance("direct"),), source="Elias")
    ]
    remember(created, new_memories, by="tests")
    return created


def add_and_publish(namespace: Namespace, **params: float) -> WritePolicyParams:
    version = add_policy_version(namespace, name="ours", params=params, note="", by="tests")
    publish_policy(namespace, version.id, note="", by="tests")
    return WritePolicyParams.of(version.params)


def job(namespace: Namespace) -> Work:
    done = Job(namespace=namespace, kind=JobKind.RECOMPUTE, state=JobState.DONE, step="recompute")
    done.save(force_insert=True)
    return Work(namespace, done)


def numbers() -> dict[str, tuple[float, float]]:
    return {memory.content: (memory.confidence, memory.belief) for memory in Memory.objects.all()}


def test_a_preview_predicts_what_a_recomputation_does(namespace: Namespace) -> None:
    before = numbers()
    policy = WritePolicyParams(source_weak_inference=0.9, belief_boost=2.0)
    report = preview_policy(namespace, policy)
    assert numbers() == before
    add_and_publish(namespace, source_weak_inference=0.9, belief_boost=2.0)
    recompute_scores(job(namespace))
    after = numbers()
    assert {text for text in after if after[text][0] != before[text][0]} == {SAID["weak_inference"]}
    assert {text for text in after if after[text][1] != before[text][1]} == {SAID["direct"]}
    assert (report["memories"], report["confidence"]["changed"], report["belief"]["changed"]) == (3, 1, 1)
    (largest,) = report["confidence"]["largest"]
    confidence_before, confidence_after = before[SAID["weak_inference"]][0], after[SAID["weak_inference"]][0]
    assert (largest["before"], largest["after"]) == (pytest.approx(confidence_before), pytest.approx(confidence_after))
    assert report["confidence"]["mean_after"] == pytest.approx(sum(one for one, _ in after.values()) / 3)
    assert report["belief"]["largest"][0]["after"] == 7.0


def test_a_recomputation_leaves_events_and_does_nothing_a_second_time(namespace: Namespace) -> None:
    add_and_publish(namespace, source_direct=0.8)
    work = job(namespace)
    recompute_scores(work)
    assert (work.step_result["looked_at"], work.step_result["changed"]) == (3, 1)
    event = ScoreEvent.objects.get(cause="recomputed")
    assert event.before["source_strength"] == 0.95
    assert event.after["source_strength"] == 0.8
    again = job(namespace)
    recompute_scores(again)
    assert (again.step_result["looked_at"], again.step_result["changed"]) == (3, 0)


def test_a_recomputation_that_is_begun_anew_counts_nothing_twice(namespace: Namespace) -> None:
    add_and_publish(namespace, source_direct=0.8)
    work = job(namespace)
    recompute_scores(work)
    work.job = Job.objects.get(id=work.job.id)
    recompute_scores(work)
    assert (work.step_result["looked_at"], work.step_result["changed"], work.job.done) == (3, 1, 3)


def test_a_belief_that_alone_is_recomputed_is_explained(namespace: Namespace) -> None:
    add_and_publish(namespace, belief_boost=2.0)
    recompute_scores(job(namespace))
    event = ScoreEvent.objects.get(cause="recomputed")
    assert set(event.after) == {"belief"}
    assert evaluate(event.parts) == event.after["belief"] == 7.0


def test_the_shipped_policy_changes_nothing(namespace: Namespace) -> None:
    confirm_memory(namespace, Memory.objects.first().id, by="tests")  # type: ignore[union-attr]
    report = preview_policy(namespace, WritePolicyParams())
    assert (report["confidence"]["changed"], report["belief"]["changed"]) == (0, 0)
    assert report["confidence"]["histogram"] == []


def test_a_preview_takes_four_queries_however_much_is_stored(
    namespace: Namespace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(4):
        preview_policy(namespace, WritePolicyParams())


def test_versions_count_up_and_know_their_parents(namespace: Namespace) -> None:
    first = add_policy_version(namespace, name="ours", params={}, note="as shipped", by="tests")
    second = add_policy_version(namespace, name="ours", params={"source_direct": 0.9}, note="", by="tests")
    assert (first.number, second.number, second.parent_id) == (1, 2, first.id)
    assert second.params["source_direct"] == 0.9
    assert second.params["source_confirmation"] == WritePolicyParams().source_confirmation


def test_a_version_that_breaks_a_bound_or_a_rule_is_not_stored(namespace: Namespace) -> None:
    for wrong in ({"source_direct": 2}, {"dedup_escalate": 0.95, "dedup_duplicate": 0.9}, {"nonsense": 1}):
        with pytest.raises(ParamsError):
            add_policy_version(namespace, name="ours", params=wrong, note="", by="tests")


def test_publishing_a_policy_keeps_the_profile_that_serves(namespace: Namespace) -> None:
    add_and_publish(namespace, source_direct=0.9)
    add_and_publish(namespace, source_direct=0.8)
    assert Publication.objects.count() == 2
    serving = namespace.serving
    assert serving is not None
    assert serving.policy_version is not None
    assert serving.policy_version.params["source_direct"] == 0.8
