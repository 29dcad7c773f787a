"""The demo's usage: accesses per day, and how often a memory was useful or not."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from uuid import UUID

from memories.demo.world_writer import BY, WorldWriter
from memories.models import DailyAccess, Memory
from memories.models.choices import Status
from memories.writing.lock import lock_memories


def store_usage(writer: WorldWriter) -> None:
    """Store usefulness and accesses; those of a merged memory count for the one that absorbed it."""
    store_usefulness(writer)
    store_accesses(writer)


def store_usefulness(writer: WorldWriter) -> None:
    """Record how often each memory was useful, and how often not."""
    useful: Counter[UUID] = Counter()
    not_useful: Counter[UUID] = Counter()
    for key, memory in writer.memories.items():
        useful[memory] += writer.world.memories[key].useful
        not_useful[memory] += writer.world.memories[key].not_useful
    rated = [memory for memory in useful if useful[memory] or not_useful[memory]]
    with lock_memories(writer.namespace, *rated, by=BY) as locked:
        for memory in rated:
            evidence = locked.get(memory, allowed=Status)
            evidence.record(locked.now, "found useful", BY, useful=useful[memory])
            evidence.record(locked.now, "found not useful", BY, not_useful=not_useful[memory])


def store_accesses(writer: WorldWriter) -> None:
    """Store accesses by day; the last access is set to noon, since only its day is known."""
    accesses = accesses_by_day(writer)
    rows = list(Memory.objects.within(writer.namespace).filter(id__in=accesses))
    for row in rows:
        noon = datetime.combine(max(accesses[row.id]), time(12), UTC)
        row.access_count, row.last_accessed_at = accesses[row.id].total(), max(noon, row.created_at)
    Memory.objects.bulk_update(rows, ["access_count", "last_accessed_at"])
    DailyAccess.objects.bulk_create(
        DailyAccess(namespace=writer.namespace, memory_id=memory, day=day, count=count)
        for memory, days in accesses.items()
        for day, count in sorted(days.items())
    )


def accesses_by_day(writer: WorldWriter) -> Mapping[UUID, Counter[date]]:
    """Accesses of each memory that has any, by day."""
    accesses: dict[UUID, Counter[date]] = {}
    for key, memory in writer.memories.items():
        if days := writer.world.memories[key].access_days:
            accesses.setdefault(memory, Counter()).update(days)
    return accesses
