"""The demo's evidence in the order in which it came, and what it did to the memories."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from memories.demo.record import Record
from memories.demo.world import Link, Memory, World
from memories.models.choices import Status
from scoring.policy import WritePolicy
from scoring.systems.recall import rejection

# What happens in one instant happens in this order: a memory is stored before it bears on others.
STEPS = ("store", "dispute", "corroborate", "supersede", "observe", "confirm")


class Step(NamedTuple):
    """One piece of evidence: what happens to which memory, through which other memory or session."""

    at: datetime
    order: int
    memory: str
    other: str = ""


def told(world: World, policy: WritePolicy) -> "History":
    """Replay all evidence, from the first session to the last."""
    history = History(world, policy)
    for step in sorted(steps(world, policy)):
        getattr(history, STEPS[step.order])(step)
    return history


def steps(world: World, policy: WritePolicy) -> Iterator[Step]:
    """List all evidence, in no order."""
    for memory in world.memories.values():
        yield Step(memory.created_at, STEPS.index("store"), memory.key)
        for session in memory.observed:
            if (at := world.sessions[session].started_at) > memory.created_at:
                yield Step(at, STEPS.index("observe"), memory.key, session)
        if memory.confirmed_at:
            yield Step(memory.confirmed_at, STEPS.index("confirm"), memory.key)
    for link in world.links:
        source, target = world.memories[link.source], world.memories[link.target]
        if link.kind == "contradiction":
            earlier, later = in_order(world, link)
            yield Step(world.memories[later].created_at, STEPS.index("dispute"), earlier, later)
        elif link.kind == "supersedes":
            yield Step(source.created_at, STEPS.index("supersede"), target.key, source.key)
        elif link.kind == "supports" and corroborates(source, target, policy):
            yield Step(source.created_at, STEPS.index("corroborate"), target.key, source.key)


def corroborates(source: Memory, target: Memory, policy: WritePolicy) -> bool:
    """Tell whether a memory backs another: it came later and speaks of the same things."""
    shared = {*source.entities} & {*target.entities}
    return source.created_at > target.created_at and len(shared) >= policy.corroboration_shared


def in_order(world: World, link: Link) -> tuple[str, str]:
    """Put the memory that was there first."""
    earlier, later = sorted((link.source, link.target), key=lambda key: (world.memories[key].created_at, key))
    return earlier, later


class History:
    """All memories as the evidence so far has left them."""

    def __init__(self, world: World, policy: WritePolicy) -> None:
        self.world, self.policy = world, policy
        self.records: dict[str, Record] = {}
        pairs = [(*in_order(world, link), link.cosine) for link in world.links if link.kind == "duplicate"]
        self.twins = {later: (earlier, cosine) for earlier, later, cosine in pairs}
        # A duplicate is how its session says the memory again, so that session is not counted a second time.
        self.retold = {(earlier, world.memories[later].session) for earlier, later, _ in pairs}

    def standing(self, key: str) -> Record:
        """Find a memory, or the one that absorbed it."""
        record = self.records[key]
        return self.standing(self.twins[key][0]) if record.columns["status"] == Status.MERGED else record

    def store(self, step: Step) -> None:
        """Store a memory, unless its grounding is too thin or it says what another says already."""
        record = self.records[step.memory] = Record.of(self.world.memories[step.memory], self.policy)
        if reason := rejection(record.evidence, self.policy):
            return record.settle(step.at, "rejected", status=Status.REJECTED, reason=reason)
        if step.memory in self.twins:
            earlier, cosine = self.twins[step.memory]
            survivor = self.standing(earlier)
            # Only what holds can absorb: after a rejected or superseded memory, saying it again is news.
            if survivor.active:
                return merge(record, survivor, step.at, cosine)
        return record.settle(step.at, "stored", status=Status.ACTIVE, reason="")

    def observe(self, step: Step) -> None:
        """Another session says the memory again."""
        record = self.standing(step.memory)
        if (step.memory, step.other) not in self.retold and step.other not in record.heard_in:
            record.hear(step.other)
            record.settle(step.at, "observed")

    def dispute(self, step: Step) -> None:
        """Two memories contradict each other; both lose."""
        one, other = self.standing(step.memory), self.standing(step.other)
        if one is other or not believed((one, other)):
            return
        for record, against in ((one, other), (other, one)):
            record.dispute(against.memory.session)
            record.settle(step.at, "contradicted", against.id)

    def corroborate(self, step: Step) -> None:
        """A later memory supports an earlier one."""
        record, other = self.standing(step.memory), self.standing(step.other)
        if record is not other and believed((record, other)):
            record.back(other.memory.session)
            record.settle(step.at, "corroborated", other.id)

    def supersede(self, step: Step) -> None:
        """A newer memory takes the place of an older one that still holds."""
        record, other = self.standing(step.memory), self.standing(step.other)
        if record.active and record is not other:
            reason = f"replaced by “{other.memory.content}”"
            columns = {"status": Status.SUPERSEDED, "reason": reason, "superseded_by_id": other.id}
            record.settle(step.at, "superseded", other.id, **columns)

    def confirm(self, step: Step) -> None:
        """The user confirms a memory."""
        record = self.standing(step.memory)
        record.confirm(step.at)
        record.settle(step.at, "confirmed")


def merge(record: Record, survivor: Record, at: datetime, cosine: float | None) -> None:
    """Let a memory be absorbed by an earlier one that says the same."""
    reason = f"says the same as “{survivor.memory.content}”" + (f", cosine {cosine:.3f}" if cosine else "")
    record.settle(at, "merged", survivor.id, status=Status.MERGED, reason=reason, merged_into_id=survivor.id)
    survivor.absorb(record)
    survivor.settle(at, "merged", record.id)


def believed(records: Iterable[Record]) -> bool:
    """Tell whether all of them were let in: what was rejected bears on nothing."""
    return all(record.columns["status"] != Status.REJECTED for record in records)
