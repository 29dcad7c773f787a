"""Undoing a merge: the absorbed memory becomes active again, the survivor as if they had never been merged."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from memories.models import Memory, MemorySource, MemoryVector, Namespace, ScoreEvent, TokenStates
from memories.models.choices import Status, Verdict
from memories.text.registry_cache import load_registry
from memories.writing import visibility
from memories.writing.belief_history import BeliefStep, score_history, withdraw_evidence
from memories.writing.evidence import EvidenceState
from memories.writing.locked_memories import LockedMemories, lock_memories
from memories.writing.memory_sources import source_key, source_summaries
from memories.writing.merge import add_accesses, confirmation_count, copy_source, source_origins
from memories.writing.merged_attributes import remove_inherited
from memories.writing.new_memory import NewMemory
from memories.writing.prepare import PreparedMemories, prepare_memories, reembed_if_changed
from memories.writing.review import record_verdict
from memories.writing.unmerge import columns_without_merge, confirmed_at_without_merge, evidence_without_merge
from memories.writing.write_errors import NotFoundError, RefusedError, wrong_status_error


def split_memory(namespace: Namespace, memory: UUID, *, by: str) -> tuple[EvidenceState, EvidenceState]:
    """Undo a merge and mark the pair as distinct; return the memory and its former survivor."""
    row = Memory.objects.within(namespace).filter(id=memory).select_related("merged_into").first()
    if row is None or row.status == Status.FORGOTTEN:
        raise NotFoundError(memory)
    if row.status != Status.MERGED or row.merged_into is None:
        raise RefusedError(f"Memory {memory} is {row.status}: there is no merge to undo.", "not_merged")
    prepared_pair = prepare_memories(
        namespace,
        [NewMemory(content=memory_row.content) for memory_row in (row, row.merged_into)],
        load_registry(namespace),
    )
    with lock_memories(namespace, memory, row.merged_into.id, by=by) as locked:
        absorbed, survivor = locked.get(memory, allowed=[Status.MERGED]), locked.known[row.merged_into.id]
        check_splittable(locked, absorbed, survivor)
        prepared_pair = reembed_if_changed(namespace, prepared_pair)
        undo_merge(locked, absorbed, survivor)
        make_searchable(namespace, memory, prepared_pair)
        cosine = float(prepared_pair.vectors[0] @ prepared_pair.vectors[1])
        record_verdict(locked, absorbed, survivor, Verdict.DISTINCT, reason="split", cosine=cosine)
    return absorbed, survivor


def check_splittable(locked: LockedMemories, absorbed: EvidenceState, survivor: EvidenceState) -> None:
    """Refuse if the survivor is itself merged or forgotten, or if the content hash is taken."""
    if survivor.memory.status in (Status.MERGED, Status.FORGOTTEN):
        raise wrong_status_error(survivor.memory)
    active = Memory.objects.within(locked.namespace).filter(status=Status.ACTIVE)
    if (duplicate := active.filter(content_hash=absorbed.memory.content_hash).first()) is not None:
        raise RefusedError(f"Memory {duplicate.id} has the same text by now; only one can be active.", "twin_exists")


def undo_merge(locked: LockedMemories, absorbed: EvidenceState, survivor: EvidenceState) -> None:
    """Revert what the merge contributed: sources, attributes, observations, extractor, belief, accesses."""
    merged = Memory.objects.within(locked.namespace).filter(merged_into=survivor.memory, status=Status.MERGED)
    others = list(merged.exclude(id=absorbed.memory.id).order_by("id").prefetch_related("sources", "tags", "mentions"))
    ids, history = [other.id for other in others], score_history(survivor)
    remaining = remove_merged_sources(survivor, absorbed, others)
    lost_origins, survivor.origins = survivor.origins - source_origins(remaining), source_origins(remaining)
    repetitions = max(survivor.evidence.repetitions - len(lost_origins) - confirmation_count(absorbed), 0)
    confirmed_at, summaries = (
        confirmed_at_without_merge(history, others),
        source_summaries(locked.namespace, ids).values(),
    )
    survivor.evidence = replace(
        evidence_without_merge(survivor, others, history),
        levels=frozenset(row.level for row in remaining).union(*(summary.levels for summary in summaries)),
        absorbed=frozenset().union(*(summary.types for summary in summaries)) - {survivor.evidence.type},
        repetitions=repetitions,
        confirmed=confirmed_at is not None,
    )
    # Independent corroboration stays.
    withdraw_evidence(
        survivor, BeliefStep("corroboration", absorbed.memory.id), len(lost_origins - survivor.corroborators)
    )
    remove_inherited(survivor.memory, [absorbed.memory], others)
    own_columns = columns_without_merge(history, others)
    survivor.record(locked.now, "split", locked.by, absorbed.memory.id, confirmed_at=confirmed_at, **own_columns)
    add_accesses(survivor.memory, -absorbed.memory.access_count)
    absorbed.record(
        locked.now, "split", locked.by, survivor.memory.id, status=Status.ACTIVE, reason="", merged_into_id=None
    )


def remove_merged_sources(
    survivor: EvidenceState, absorbed: EvidenceState, others: Iterable[Memory]
) -> list[MemorySource]:
    """Remove the sources a merge contributed; one that another merged memory has is added again."""
    merges = ScoreEvent.objects.filter(
        namespace_id=absorbed.memory.namespace_id, memory_id=absorbed.memory.id, cause="merged"
    )
    merge = merges.order_by("at", "id").last()
    since = merge.id if merge else absorbed.memory.id
    absorbed_keys = {source_key(row) for row in absorbed.memory.sources.all()}
    rows = list(survivor.memory.sources.all())
    # Rows older than the merge are the survivor's own.
    contributed = [row for row in rows if source_key(row) in absorbed_keys and row.id > since]
    removed_keys = {source_key(row) for row in contributed}
    still_merged = {
        source_key(row): row for other in others for row in other.sources.all() if source_key(row) in removed_keys
    }
    survivor.memory.sources.filter(id__in=[row.id for row in contributed]).delete()
    restored = MemorySource.objects.bulk_create(copy_source(survivor, row) for row in still_merged.values())
    return [*(row for row in rows if row not in contributed), *restored]


def make_searchable(namespace: Namespace, memory: UUID, prepared: PreparedMemories) -> None:
    """Embed and index a memory that is active again; hidden vectors are made visible as they are."""
    vector = MemoryVector(namespace=namespace, memory_id=memory, embedder=prepared.embedder, vector=prepared.vectors[0])
    MemoryVector.objects.bulk_create([vector], ignore_conflicts=True)
    for states in prepared.tokens[:1]:
        row = TokenStates(namespace=namespace, memory_id=memory, embedder=prepared.embedder)
        row.packed, row.tokens, row.scale = states.to_bytes(), states.tokens, states.scale
        TokenStates.objects.bulk_create([row], ignore_conflicts=True)
    visibility.show_memories(namespace, [memory])
