"""Alike memories of one subject get a summary; they stay, and the summary follows when they change."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import prefetch_related_objects

from memories.jobs.work import Work
from memories.models import Memory, MemoryEdge, Namespace
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.reflecting.fresh import changed
from memories.reflecting.groups import WHOM, Group, Home, alike, told_of
from memories.reflecting.pieces import left, parts, tell
from memories.reflecting.summary import summary_of
from memories.writing import search_index
from memories.writing.batch import WriteBatch
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import PreparedMemories, prepare_memories, reembed_if_changed

HOMES = 50  # subjects in one piece
Made = Mapping[UUID, frozenset[UUID]]  # the members of summaries


def consolidation(work: Work) -> None:
    """Look at every subject of which something changed: summarise, replace and take back."""
    named = changed(work).annotate(whom=WHOM).filter(whom__isnull=False)
    homes = sorted({Home(whom, user) for whom, user in named.values_list("whom", "user").distinct()}, key=str)
    waiting = left(work, homes)
    done = len(homes) - len(waiting)
    work.record_progress(done, len(homes), summaries=0, superseded=0, archived=0)
    for block in parts(waiting, HOMES):
        groups, left_out = alike(work.namespace, block)
        old = summaries(work.namespace, block)
        new = [group for group in groups if group.ids not in old.values()]
        wanted = {group.ids for group in groups}
        stale = {summary: members for summary, members in old.items() if members not in wanted}
        prefetch_related_objects([member for one in new for member in one.members], "sources")
        news = [summary_of(one.middle, one.members) for one in new]
        ready = prepare_memories(work.namespace, news) if new else None
        with lock_memories(work.namespace, *stale, by=work.job.by) as hold:
            made = write(work, hold, new, ready) if ready else {}
            replaced = give_way(hold, stale, made)
            done += len(block)
            work.step_result["through"] = str(block[-1])
            work.record_progress(done, len(homes), summaries=len(made), left_out=left_out, **replaced)


def summaries(namespace: Namespace, homes: Sequence[Home]) -> dict[UUID, frozenset[UUID]]:
    """The summaries there are, and the active memories that each is made of."""
    members: dict[UUID, set[UUID]] = {one: set() for one, _ in told_of(namespace, homes, ChunkLevel.SUMMARY)}
    edges = MemoryEdge.objects.within(namespace).filter(kind=EdgeKind.SUMMARY_OF, source_id__in=members)
    for summary, member in edges.values_list("source_id", "target_id"):
        members[summary].add(member)
    return {summary: frozenset(found) for summary, found in members.items()}


def write(work: Work, hold: LockedMemories, groups: Sequence[Group], ready: PreparedMemories) -> Made:
    """Store the summaries of groups whose members are all active still."""
    ready = reembed_if_changed(work.namespace, ready)
    desk = WriteBatch.load(work.namespace, ready, hold.by)
    members = Memory.objects.within(work.namespace).filter(id__in={one for group in groups for one in group.ids})
    active = set(members.filter(status=Status.ACTIVE).values_list("id", flat=True))
    made: dict[UUID, frozenset[UUID]] = {}
    for place, group in enumerate(groups):
        if not group.ids <= active:
            continue
        standing = desk.new_state(place)
        twin = desk.exact_duplicate(standing)
        if twin is None:
            describe(standing.memory, group)
            desk.store(place, standing, Status.ACTIVE, "")
        elif twin.memory.level != ChunkLevel.SUMMARY:
            continue  # somebody stored just this text
        summary = (twin or standing).memory
        made[summary.id] = group.ids
        tell(work, "examples", {"memory": str(summary.id), "content": summary.content, "members": len(group.ids)})
    desk.flush()
    join(work, made)
    return made


def describe(summary: Memory, group: Group) -> None:
    """Give a summary the subject of its members; by name alone it might be somebody else's."""
    summary.level = ChunkLevel.SUMMARY
    summary.subject_id, summary.subject_fallback = group.middle.subject_id, group.middle.subject_fallback


def join(work: Work, made: Made) -> None:
    """Tie summaries to their members, and to those alone."""
    MemoryEdge.objects.within(work.namespace).filter(kind=EdgeKind.SUMMARY_OF, source_id__in=list(made)).delete()
    MemoryEdge.objects.bulk_create(
        MemoryEdge(
            namespace=work.namespace,
            source_id=summary,
            target_id=member,
            kind=EdgeKind.SUMMARY_OF,
            created_at=work.now,
        )
        for summary, members in made.items()
        for member in sorted(members)
    )


def give_way(hold: LockedMemories, stale: Made, made: Made) -> dict[str, int]:
    """Let summaries that hold no longer be superseded by those that took over their members, else be archived."""
    counts: dict[str, int] = {Status.SUPERSEDED: 0, Status.ARCHIVED: 0}
    search_index.hide_memories(hold.namespace, [summary for summary in stale if summary not in made])
    for summary, members in stale.items():
        if summary in made:
            continue
        standing = hold.get(summary)
        heirs = [(len(members & taken), heir) for heir, taken in made.items() if members & taken]
        heir = max(heirs)[1] if heirs else None
        status = Status.SUPERSEDED if heir else Status.ARCHIVED
        reason = "what it sums up has changed" if heir else "what it sums up is alike no longer"
        standing.record(hold.now, status, hold.by, heir, status=status, reason=reason, superseded_by_id=heir)
        counts[status] += 1
    return counts
