"""How the demo's memories were used: returned on which days, and found useful or not."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from uuid import UUID

from memories.demo.world_writer import BY, Telling
from memories.models import DailyAccess, Memory
from memories.models.choices import Status
from memories.writing.locked_memories import lock_memories


def add(telling: Telling) -> None:
    """Write accesses and verdicts; what was said of an absorbed memory belongs to the one that absorbed it."""
    verdicts(telling)
    accesses(telling)


def verdicts(telling: Telling) -> None:
    """Count how often a memory was found useful, and how often not."""
    useful: Counter[UUID] = Counter()
    not_useful: Counter[UUID] = Counter()
    for key, row in telling.memories.items():
        useful[row] += telling.world.memories[key].useful
        not_useful[row] += telling.world.memories[key].not_useful
    judged = [row for row in useful if useful[row] or not_useful[row]]
    with lock_memories(telling.namespace, *judged, by=BY) as hold:
        for row in judged:
            standing = hold.get(row, allowed=Status)
            standing.record(hold.now, "found useful", BY, useful=useful[row])
            standing.record(hold.now, "found not useful", BY, not_useful=not_useful[row])


def accesses(telling: Telling) -> None:
    """Write the accesses day by day; of the last one only the day is known, so noon stands for it."""
    used = days(telling)
    rows = list(Memory.objects.within(telling.namespace).filter(id__in=used))
    for row in rows:
        noon = datetime.combine(max(used[row.id]), time(12), UTC)
        row.access_count, row.last_accessed_at = used[row.id].total(), max(noon, row.created_at)
    Memory.objects.bulk_update(rows, ["access_count", "last_accessed_at"])
    DailyAccess.objects.bulk_create(
        DailyAccess(namespace=telling.namespace, memory_id=row, day=day, count=count)
        for row, counted in used.items()
        for day, count in sorted(counted.items())
    )


def days(telling: Telling) -> Mapping[UUID, Counter[date]]:
    """Count the accesses of each memory that has any, by day."""
    used: dict[UUID, Counter[date]] = {}
    for key, row in telling.memories.items():
        if told := telling.world.memories[key].access_days:
            used.setdefault(row, Counter()).update(told)
    return used
