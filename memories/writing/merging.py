"""Two stored memories that say the same become one; the absorbed one stays, and can be split off again."""

from collections.abc import Iterable

from django.db.models import F

from memories.ids import uuid7
from memories.models import Memory, MemorySource
from memories.models.choices import Status
from memories.writing import borrowing, visibility
from memories.writing.held import Held
from memories.writing.sources import Origin
from memories.writing.standing import Standing
from memories.writing.succession import awaiting, release
from memories.writing.uniting import completed, together


def absorb(hold: Held, kept: Standing, gone: Standing, reason: str) -> None:
    """Let one memory be absorbed by another: sources and names united, of each signal the stronger, accesses added."""
    visibility.hide(hold.namespace, [gone.memory.id])
    for one in awaiting(hold, gone.memory.id):
        if one is kept:
            release(hold, one)
        else:
            one.settle(hold.now, "merged", hold.by, kept.memory.id, superseded_by_id=kept.memory.id)
    # The event comes before the rows it brings: by their ids a split tells them from the survivor's own.
    where = {"status": Status.MERGED, "reason": reason, "merged_into_id": kept.memory.id}
    gone.settle(hold.now, "merged", hold.by, kept.memory.id, **where)
    borrowing.note(gone.events, borrowing.names_of(kept.memory), borrowing.names_of(gone.memory))
    borrowing.lend(kept.memory, gone.memory)
    brought = (copy_for(kept, row) for row in gone.memory.sources.all())
    MemorySource.objects.bulk_create(brought, ignore_conflicts=True)
    # n₁ + n₂ + 1, less one for each session or source that said both: it is no independent observation.
    kept.hear(gone.origins, gone.evidence, beyond_origins(gone))
    confirmed = kept.memory.confirmed_at or gone.memory.confirmed_at
    more = {**completed(kept.memory, gone.memory), **together(kept.memory, gone.memory)}
    kept.settle(hold.now, "merged", hold.by, gone.memory.id, confirmed_at=confirmed, **more)
    add_accesses(kept.memory, gone.memory.access_count)


def beyond_origins(standing: Standing) -> int:
    """Observations that no source stands for: confirmations."""
    return standing.evidence.repetitions + 1 - len(standing.origins)


def add_accesses(memory: Memory, count: int) -> None:
    """Add to the accesses in the database itself: retrieval counts them without the namespace's lock."""
    if count:
        mine = Memory.objects.filter(namespace_id=memory.namespace_id, id=memory.id)
        mine.update(access_count=F("access_count") + count)
        memory.access_count += count


def copy_for(standing: Standing, row: MemorySource) -> MemorySource:
    """The same source, of another memory."""
    copy = MemorySource(namespace_id=row.namespace_id, id=uuid7(), memory_id=standing.memory.id)
    for name in ("session_id", "turn_id", "source", "level", "strength", "observed_at"):
        setattr(copy, name, getattr(row, name))
    return copy


def origins_of(rows: Iterable[MemorySource]) -> set[Origin]:
    """The sessions and sources that rows speak of."""
    return {(row.session_id, row.source) for row in rows}
