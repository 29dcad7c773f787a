"""Summaries of similar memories about one subject; the members stay, and a summary is replaced when they change."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import prefetch_related_objects

from memories.contracts.work import Work
from memories.maintenance.reflection_scope import changed_facts, in_batches, record_example, remaining
from memories.maintenance.summaries import (
    ABOUT,
    SummaryGroup,
    SummaryScope,
    active_in_scopes,
    find_groups,
    new_summary,
)
from memories.models import Memory, MemoryEdge, Namespace
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.writing import search_index
from memories.writing.batch import WriteBatch
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import PreparedMemories, prepare_memories, reembed_if_changed
from memories.writing.write_policy import current_write_policy

SCOPES_PER_BATCH = 50
SummaryMembers = Mapping[UUID, frozenset[UUID]]  # by summary


def consolidate(work: Work) -> None:
    """Add, replace and archive the summaries of every subject with changed facts."""
    about = changed_facts(work).annotate(about=ABOUT).filter(about__isnull=False)
    scopes = sorted({SummaryScope(*row) for row in about.values_list("about", "user").distinct()}, key=str)
    waiting = remaining(work, scopes)
    done = len(scopes) - len(waiting)
    work.record_progress(done, len(scopes), summaries=0, superseded=0, archived=0)
    for batch in in_batches(waiting, SCOPES_PER_BATCH):
        groups, left_out = find_groups(work.namespace, batch, current_write_policy(work.namespace))
        stored = stored_summaries(work.namespace, batch)
        new = [group for group in groups if group.ids not in stored.values()]
        group_ids = {group.ids for group in groups}
        stale = {summary: members for summary, members in stored.items() if members not in group_ids}
        prefetch_related_objects([member for group in new for member in group.members], "sources")
        texts = [new_summary(group.medoid, group.members) for group in new]
        prepared = prepare_memories(work.namespace, texts) if new else None
        with lock_memories(work.namespace, *stale, by=work.job.by) as locked:
            written = write_summaries(work, locked, new, prepared) if prepared else {}
            replaced = retire_summaries(locked, stale, written)
            done += len(batch)
            work.step_result["through"] = str(batch[-1])
            work.record_progress(done, len(scopes), summaries=len(written), left_out=left_out, **replaced)


def stored_summaries(namespace: Namespace, scopes: Sequence[SummaryScope]) -> dict[UUID, frozenset[UUID]]:
    """The active summaries of some scopes, with their members."""
    members: dict[UUID, set[UUID]] = {
        summary: set() for summary, _ in active_in_scopes(namespace, scopes, ChunkLevel.SUMMARY)
    }
    edges = MemoryEdge.objects.within(namespace).filter(kind=EdgeKind.SUMMARY_OF, source_id__in=members)
    for summary, member in edges.values_list("source_id", "target_id"):
        members[summary].add(member)
    return {summary: frozenset(ids) for summary, ids in members.items()}


def write_summaries(
    work: Work, locked: LockedMemories, groups: Sequence[SummaryGroup], prepared: PreparedMemories
) -> SummaryMembers:
    """Store the summaries of groups whose members are all still active."""
    prepared = reembed_if_changed(work.namespace, prepared)
    batch = WriteBatch.load(work.namespace, prepared, locked.by)
    members = Memory.objects.within(work.namespace).filter(id__in={id for group in groups for id in group.ids})
    active = set(members.filter(status=Status.ACTIVE).values_list("id", flat=True))
    written: dict[UUID, frozenset[UUID]] = {}
    for index, group in enumerate(groups):
        if not group.ids <= active:
            continue
        state = batch.new_state(index)
        duplicate = batch.exact_duplicate(state)
        if duplicate is None:
            set_summary_subject(state.memory, group)
            batch.store(index, state, Status.ACTIVE, "")
        elif duplicate.memory.level != ChunkLevel.SUMMARY:
            continue  # the same text is stored as a fact
        summary = (duplicate or state).memory
        written[summary.id] = group.ids
        example = {"memory": str(summary.id), "content": summary.content, "members": len(group.ids)}
        record_example(work, "examples", example)
    batch.flush()
    link_members(work, written)
    return written


def set_summary_subject(summary: Memory, group: SummaryGroup) -> None:
    """Give a summary the subject of its members; resolved by name it might be another entity."""
    summary.level = ChunkLevel.SUMMARY
    summary.subject_id, summary.subject_fallback = group.medoid.subject_id, group.medoid.subject_fallback


def link_members(work: Work, summaries: SummaryMembers) -> None:
    """Replace the edges from summaries to their members."""
    MemoryEdge.objects.within(work.namespace).filter(kind=EdgeKind.SUMMARY_OF, source_id__in=list(summaries)).delete()
    MemoryEdge.objects.bulk_create(
        MemoryEdge(
            namespace=work.namespace,
            source_id=summary,
            target_id=member,
            kind=EdgeKind.SUMMARY_OF,
            created_at=work.now,
        )
        for summary, members in summaries.items()
        for member in sorted(members)
    )


def retire_summaries(locked: LockedMemories, stale: SummaryMembers, written: SummaryMembers) -> dict[str, int]:
    """Supersede stale summaries by the one that took over most of their members; archive the others."""
    counts: dict[str, int] = {Status.SUPERSEDED: 0, Status.ARCHIVED: 0}
    search_index.hide_memories(locked.namespace, [summary for summary in stale if summary not in written])
    for summary, members in stale.items():
        if summary in written:
            continue
        state = locked.get(summary)
        overlaps = [
            (len(members & new_members), successor)
            for successor, new_members in written.items()
            if members & new_members
        ]
        successor = max(overlaps)[1] if overlaps else None
        status = Status.SUPERSEDED if successor else Status.ARCHIVED
        reason = "its members changed" if successor else "its members are no longer similar"
        state.record(locked.now, status, locked.by, successor, status=status, reason=reason, superseded_by_id=successor)
        counts[status] += 1
    return counts
