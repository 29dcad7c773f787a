"""A merge undone: the absorbed memory stands by itself again, and the survivor as if it had never come."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from memories.language.loading import load
from memories.models import Memory, MemorySource, MemoryVector, Namespace, ScoreEvent, TokenStates
from memories.models.choices import Status, Verdict
from memories.writing import visibility
from memories.writing.belief_history import Step, history_of, withdraw
from memories.writing.borrowing import give_back
from memories.writing.held import Held, held
from memories.writing.merging import add_accesses, beyond_origins, copy_for, origins_of
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import Prepared, embedded_for, prepared
from memories.writing.refusal import AbsentError, RefusedError, not_so
from memories.writing.reviewing import note_verdict
from memories.writing.sources import place_of, told_of
from memories.writing.standing import Standing
from memories.writing.unmerged import completed_without, confirmed_without, heard_without


def split(namespace: Namespace, memory: UUID, *, by: str) -> tuple[Standing, Standing]:
    """Undo a merge, and remember the two as distinct; give the memory and the one that had absorbed it."""
    row = Memory.objects.within(namespace).filter(id=memory).select_related("merged_into").first()
    if row is None or row.status == Status.FORGOTTEN:
        raise AbsentError(memory)
    if row.status != Status.MERGED or row.merged_into is None:
        raise RefusedError(f"Memory {memory} is {row.status}: there is no merge to undo.", "not_merged")
    ready = prepared(namespace, [NewMemory(content=one.content) for one in (row, row.merged_into)], load(namespace))
    with held(namespace, memory, row.merged_into.id, by=by) as hold:
        lone, survivor = hold.take(memory, among=[Status.MERGED]), hold.known[row.merged_into.id]
        refuse_where_they_cannot_part(hold, lone, survivor)
        ready = embedded_for(namespace, ready)
        part(hold, lone, survivor)
        let_be_found(namespace, memory, ready)
        cosine = float(ready.vectors[0] @ ready.vectors[1])
        note_verdict(hold, lone, survivor, Verdict.DISTINCT, reason="split", cosine=cosine)
    return lone, survivor


def refuse_where_they_cannot_part(hold: Held, lone: Standing, survivor: Standing) -> None:
    """A survivor that is itself absorbed or forgotten cannot give anything back, and a hash is active once."""
    if survivor.memory.status in (Status.MERGED, Status.FORGOTTEN):
        raise not_so(survivor.memory)
    active = Memory.objects.within(hold.namespace).filter(status=Status.ACTIVE)
    if (twin := active.filter(content_hash=lone.memory.content_hash).first()) is not None:
        raise RefusedError(f"Memory {twin.id} says the same words by now; there can be one of them.", "twin_exists")


def part(hold: Held, lone: Standing, survivor: Standing) -> None:
    """Give back what the merge gave: sources, names, observations, the surer extractor, belief, accesses."""
    rest = Memory.objects.within(hold.namespace).filter(merged_into=survivor.memory, status=Status.MERGED)
    others = list(rest.exclude(id=lone.memory.id).order_by("id").prefetch_related("sources", "tags", "mentions"))
    ids, history = [other.id for other in others], history_of(survivor)
    kept = sources_without(survivor, lone, others)
    lost, survivor.origins = survivor.origins - origins_of(kept), origins_of(kept)
    heard = max(survivor.evidence.repetitions - len(lost) - beyond_origins(lone), 0)
    confirmed_at, told = confirmed_without(history, others), told_of(hold.namespace, ids).values()
    survivor.evidence = replace(
        heard_without(survivor, others, history),
        levels=frozenset(row.level for row in kept).union(*(one.levels for one in told)),
        absorbed=frozenset().union(*(one.types for one in told)) - {survivor.evidence.type},
        repetitions=heard,
        confirmed=confirmed_at is not None,
    )
    # What counts for it by itself keeps counting.
    withdraw(survivor, Step("corroboration", lone.memory.id), len(lost - survivor.backers))
    give_back(survivor.memory, [lone.memory], others)
    told_itself = completed_without(history, others)
    survivor.settle(hold.now, "split", hold.by, lone.memory.id, confirmed_at=confirmed_at, **told_itself)
    add_accesses(survivor.memory, -lone.memory.access_count)
    lone.settle(hold.now, "split", hold.by, survivor.memory.id, status=Status.ACTIVE, reason="", merged_into_id=None)


def sources_without(survivor: Standing, lone: Standing, others: Iterable[Memory]) -> list[MemorySource]:
    """Take from the survivor the sources a merge brought; another merged memory that has one brings it anew."""
    merges = ScoreEvent.objects.filter(namespace_id=lone.memory.namespace_id, memory_id=lone.memory.id, cause="merged")
    merge = merges.order_by("at", "id").last()
    since = merge.id if merge else lone.memory.id
    mine = {place_of(row) for row in lone.memory.sources.all()}
    rows = list(survivor.memory.sources.all())
    # What is older than the merge is the survivor's own.
    brought = [row for row in rows if place_of(row) in mine and row.id > since]
    gone = {place_of(row) for row in brought}
    again = {place_of(row): row for other in others for row in other.sources.all() if place_of(row) in gone}
    survivor.memory.sources.filter(id__in=[row.id for row in brought]).delete()
    fresh = MemorySource.objects.bulk_create(copy_for(survivor, row) for row in again.values())
    return [*(row for row in rows if row not in brought), *fresh]


def let_be_found(namespace: Namespace, memory: UUID, ready: Prepared) -> None:
    """Embed and index a memory that is active again; its hidden vectors come back as they are."""
    vector = MemoryVector(namespace=namespace, memory_id=memory, embedder=ready.embedder, vector=ready.vectors[0])
    MemoryVector.objects.bulk_create([vector], ignore_conflicts=True)
    for states in ready.tokens[:1]:
        row = TokenStates(namespace=namespace, memory_id=memory, embedder=ready.embedder)
        row.packed, row.tokens, row.scale = states.packed, states.tokens, states.scale
        TokenStates.objects.bulk_create([row], ignore_conflicts=True)
    visibility.show(namespace, [memory])
