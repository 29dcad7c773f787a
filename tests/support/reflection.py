"""Memories to reflect on, and single reflection steps."""

from datetime import UTC, datetime
from typing import Any

from memories.contracts.new_memory import NewMemory, Utterance
from memories.contracts.work import Work
from memories.maintenance.reflect import STEPS
from memories.models import Entity, Job, Memory, Namespace, Publication, WritePolicy, WritePolicyVersion
from memories.models.choices import JobKind, JobState
from memories.writing.remember import remember
from tests.support.rows import store_entity

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def store_memory(namespace: Namespace, content: str, **more: Any) -> Memory:
    """Store a memory, and give its row."""
    new = NewMemory(
        **{"content": content, "type": "Fact", "utterances": (Utterance("direct"),), "model": "haiku", **more}
    )
    (outcome,) = remember(namespace, [new], by="tests")
    return reload_memory(outcome.memory)


def reload_memory(memory: Memory) -> Memory:
    """The row as it stands."""
    return Memory.objects.get(namespace=memory.namespace, id=memory.id)


def add_entity(namespace: Namespace, name: str, kind: str = "") -> Entity:
    """Make an entity."""
    return store_entity(namespace, name, kind)


def publish_policy(namespace: Namespace, **params: float) -> None:
    """Let other write parameters be in force."""
    policy = WritePolicy.objects.create(namespace=namespace, name=f"tests {Publication.objects.count()}")
    version = WritePolicyVersion.objects.create(namespace=namespace, policy=policy, number=1, params=params)
    Publication.objects.create(namespace=namespace, policy_version=version)


def start_step(namespace: Namespace, step: str, **params: Any) -> Work:
    """A job about to do a step."""
    job = Job.objects.create(
        namespace=namespace,
        kind=JobKind.REFLECT,
        params=params,
        by="tests",
        state=JobState.RUNNING,
        started_at=real_now(),
    )
    work = Work(namespace, job)
    work.begin_step(step)
    return work


def reflect(namespace: Namespace, step: str, **params: Any) -> dict[str, Any]:
    """Run one step in a job of its own, and give what it found."""
    work = start_step(namespace, step, **params)
    STEPS[step](work)
    Job.objects.within(namespace).filter(id=work.job.id).update(state=JobState.DONE)
    return dict(Job.objects.get(namespace=namespace, id=work.job.id).result[step])


def real_now() -> datetime:
    """The moment by the real clock, which ids follow whatever the namespace's clock says."""
    return datetime.now(UTC)
