"""The demo's memories with their sources, history and use, as rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from memories.demo.conversations import session_id, turn_id
from memories.demo.graph import entity_id
from memories.demo.history import History
from memories.demo.record import Record, strength
from memories.demo.world import Unresolved
from memories.ids import derived
from memories.models import DailyAccess, Memory, MemorySource, MemoryTag, Mention, ScoreEvent
from memories.models.choices import MemoryType
from scoring.dedup import content_hash, fallback_subject


def memories(history: History) -> Iterator[Memory | MemoryTag | Mention]:
    """Make every memory, its tags and the entities it names."""
    world, used = history.world, days_of_use(history)
    for key, record in history.records.items():
        memory, turn = record.memory, world.turns[record.memory.sources[0].turn]
        yield Memory(
            id=record.id,
            **record.columns,
            **statement(history, record),
            **use(record, used[key]),
            kind=memory.kind,
            grounding=memory.grounding,
            evidence=memory.evidence,
            importance=memory.importance,
            quality=memory.quality,
            provenance_depth=memory.provenance_depth,
            useful=memory.useful,
            not_useful=memory.not_useful,
            created_at=memory.created_at,
            happened_at=turn.at,
            event_at=memory.event_at,
            valid_from=memory.valid_from,
            valid_until=memory.valid_until,
            user=memory.user,
            session_id=session_id(world.sessions[memory.session]),
            turn_id=turn_id(turn),
        )
        for tag in memory.tags:
            yield MemoryTag(tag=tag, memory_id=record.id)
        for entity in memory.entities:
            yield Mention(
                id=derived(memory.created_at, f"mention {key} {entity}"),
                memory_id=record.id,
                entity_id=entity_id(world, entity),
            )


def statement(history: History, record: Record) -> dict[str, Any]:
    """Name the columns of what a memory says, and of whom."""
    world, memory, subject = history.world, record.memory, record.memory.subject
    type = MemoryType.FACT if record.uncertain else memory.type
    name = subject.surface if isinstance(subject, Unresolved) else world.entities[subject].name
    named = world.entities.get(memory.object or "")
    return {
        "type": type,
        "type_uncertain": record.uncertain,
        "content": memory.content,
        "content_hash": content_hash(type, name, memory.predicate, memory.content),
        **(
            {"subject_surface": name, "subject_fallback": fallback_subject(name)}
            if isinstance(subject, Unresolved)
            else {"subject_id": entity_id(world, subject)}
        ),
        "predicate": memory.predicate,
        "object": named.name if named else memory.object or "",
    }


def days_of_use(history: History) -> Mapping[str, Counter[date]]:
    """Count the accesses of each memory by day; those of an absorbed one belong to the one that absorbed it."""
    used: dict[str, Counter[date]] = {key: Counter() for key in history.records}
    for key, record in history.records.items():
        used[history.standing(key).memory.key].update(record.memory.access_days)
    return used


def use(record: Record, days: Counter[date]) -> dict[str, Any]:
    """Name the columns of a memory's use; of the last access only the day is known, so noon stands for it."""
    noon = datetime.combine(max(days), time(12), UTC) if days else None
    last = noon and max(noon, record.memory.created_at)
    return {"access_count": days.total(), "last_accessed_at": last}


def accesses(history: History) -> Iterator[DailyAccess]:
    """Make the accesses of each memory, day by day."""
    for key, days in days_of_use(history).items():
        for day, count in sorted(days.items()):
            yield DailyAccess(memory_id=history.records[key].id, day=day, count=count)


def sources(history: History) -> Iterator[MemorySource]:
    """Make what each memory rests on: its turns, those of what it absorbed, and the sessions that said it again."""
    told: dict[UUID, list[Record]] = {record.id: [record] for record in history.records.values()}
    for record in history.records.values():
        if into := record.columns.get("merged_into_id"):
            told[into].append(record)
    for record in history.records.values():
        said = [source for one in told[record.id] for source in one.memory.sources]
        turns = {source.turn: history.world.turns[source.turn] for source in said}
        level = max((source.level for source in said), key=lambda one: strength(one, history.policy))
        for source in said:
            turn = turns[source.turn]
            yield observation(history, record, turn.session, source.level, turn.at, turn_id(turn))
        for session in sorted(record.heard_in - {turn.session for turn in turns.values()}):
            yield observation(history, record, session, level, history.world.sessions[session].started_at)


def observation(
    history: History, record: Record, session: str, level: str, at: datetime, turn: UUID | None = None
) -> MemorySource:
    """Make one source of a memory."""
    return MemorySource(
        id=derived(at, f"source {record.memory.key} {turn or session}"),
        memory_id=record.id,
        session_id=session_id(history.world.sessions[session]),
        turn_id=turn,
        level=level,
        strength=strength(level, history.policy),
        observed_at=at,
    )


def changes(history: History) -> Iterator[ScoreEvent]:
    """Make the history of each memory's numbers."""
    for key, record in history.records.items():
        for number, change in enumerate(record.changes):
            yield ScoreEvent(
                id=derived(change.at, f"event {key} {number}"),
                memory_id=record.id,
                at=change.at,
                cause=change.cause,
                before=plain(change.before),
                after=plain(change.after),
                parts=change.parts,
                other_id=change.other,
            )


def plain(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Spell identifiers and moments as JSON can."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else str(value) if isinstance(value, UUID) else value
        for name, value in columns.items()
    }
