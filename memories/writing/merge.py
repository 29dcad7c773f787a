"""Merging memories and splitting them again, each the inverse of the other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, TypeAlias, cast
from uuid import UUID

from django.db.models import F

from memories.contracts.new_memory import NewMemory
from memories.db.ids import uuid7
from memories.models import Memory, MemorySource, MemoryTag, MemoryVector, Mention, Namespace, ScoreEvent, TokenStates
from memories.models.choices import Status, Verdict
from memories.writing import search_index
from memories.writing.belief_history import BeliefStep, score_history, withdraw_evidence
from memories.writing.evidence import (
    EvidenceState,
    named_sources,
    observation_count,
    source_key,
    source_origins,
    source_summaries,
)
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import PreparedMemories, prepare_memories, reembed_if_changed
from memories.writing.supersede import cancel_supersession, load_awaiting
from memories.writing.write_errors import NotFoundError, RefusedError, wrong_status_error
from scoring import evidence
from scoring.evidence import Evidence, Grounding

DEFAULTS = NewMemory(content="")
MAX_COLUMNS = ("importance", "quality")
EMPTY_VALUES = (None, "")
# Filled only if all columns of a group are empty.
FILL_GROUPS = (("event_at", "event_until"), ("valid_from", "valid_until"), ("memory_score",))
SAME_TEXT_GROUPS = (("evidence",), ("object",))  # valid only for identical text
MERGED_COLUMNS = (*MAX_COLUMNS, *(name for names in FILL_GROUPS for name in names))
# Columns whose changes are not recorded.
UNRECORDED_COLUMNS = frozenset(["evidence", "object", "metadata", "type_uncertain"])
SOURCE_COLUMNS = ("session_id", "turn_id", "source", "level", "strength", "observed_at")
EXTRACTOR_COLUMNS, GROUNDING_COLUMNS = ("extractor_model", "extractor_logprob"), ("grounding",)
GROUNDINGS: tuple[Grounding, ...] = ("supported", "partial", "unsupported")  # best first

# Attribute values by kind: tags, entity ids, metadata keys.
MemoryAttributes: TypeAlias = dict[str, set[str]]
ATTRIBUTE_KINDS = ("tags", "entities", "metadata")
INHERITED_KEY = "brought"  # stored in merge events


def merge_memories(locked: LockedMemories, survivor: EvidenceState, absorbed: EvidenceState, reason: str) -> None:
    """Merge one memory into another: union of sources and attributes, the stronger of each signal, summed accesses."""
    search_index.hide_memories(locked.namespace, [absorbed.memory.id])
    for waiting in load_awaiting(locked, absorbed.memory.id):
        if waiting is survivor:
            cancel_supersession(locked, waiting)
        else:
            waiting.record(locked.now, "merged", locked.by, survivor.memory.id, superseded_by_id=survivor.memory.id)
    # The event precedes the copied rows, so that a split can tell them from the survivor's own by id.
    columns = {"status": Status.MERGED, "reason": reason, "merged_into_id": survivor.memory.id}
    absorbed.record(locked.now, "merged", locked.by, survivor.memory.id, **columns)
    record_inherited(absorbed.events, memory_attributes(survivor.memory), memory_attributes(absorbed.memory))
    inherit_attributes(survivor.memory, absorbed.memory)
    copies = (copy_source(survivor, row) for row in absorbed.memory.sources.all())
    MemorySource.objects.bulk_create(copies, ignore_conflicts=True)
    # n₁ + n₂ + 1, minus one per shared turn or session: those are not independent observations.
    survivor.observe(absorbed.origins, absorbed.evidence, confirmation_count(absorbed))
    confirmed_at = survivor.memory.confirmed_at or absorbed.memory.confirmed_at
    merged = {**merged_columns(survivor.memory, absorbed.memory), **merged_metadata(survivor.memory, absorbed.memory)}
    survivor.record(locked.now, "merged", locked.by, absorbed.memory.id, confirmed_at=confirmed_at, **merged)
    add_accesses(survivor.memory, absorbed.memory.access_count)


def confirmation_count(state: EvidenceState) -> int:
    """The confirmations of a memory: observations without an origin."""
    # Never negative: turns of one session were once counted together.
    return max(state.evidence.repetitions + 1 - observation_count(state.origins), 0)


def add_accesses(memory: Memory, count: int) -> None:
    """Increment the access count in SQL; retrieval updates it without the namespace lock."""
    if count:
        row = Memory.objects.filter(namespace_id=memory.namespace_id, id=memory.id)
        row.update(access_count=F("access_count") + count)
        memory.access_count += count


def copy_source(state: EvidenceState, row: MemorySource) -> MemorySource:
    """Copy a source row to another memory."""
    columns = {name: getattr(row, name) for name in SOURCE_COLUMNS}
    return MemorySource(namespace_id=row.namespace_id, id=uuid7(), memory_id=state.memory.id, **columns)


def repeated_columns(known: Memory, new: NewMemory) -> dict[str, Any]:
    """The columns that a repetition in the same words changes."""
    return {
        **merged_columns(known, new),
        **fill_empty_columns(known, new, SAME_TEXT_GROUPS),
        **merged_metadata(known, new),
        "type_uncertain": known.type_uncertain and new.type_uncertain,
    }


def merged_columns(known: Any, new: Any) -> dict[str, Any]:
    """The scores and times that a duplicate in any words changes."""
    greater = {
        name: getattr(new, name)
        for name in MAX_COLUMNS
        if getattr(new, name) != getattr(DEFAULTS, name) and getattr(new, name) > getattr(known, name)
    }
    return {**greater, **fill_empty_columns(known, new, FILL_GROUPS)}


def fill_empty_columns(known: Any, new: Any, groups: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """Values for the groups of columns that are empty."""
    return {
        name: getattr(new, name)
        for names in groups
        if all(getattr(known, name) in EMPTY_VALUES for name in names)
        for name in names
    }


def merged_metadata(known: Memory, new: Memory | NewMemory) -> dict[str, Any]:
    """Metadata of both; the known value wins."""
    return {"metadata": new.metadata | known.metadata}


def memory_attributes(memory: Memory) -> MemoryAttributes:
    """A memory's tags, entities and metadata keys."""
    return {
        "tags": {tag.tag for tag in memory.tags.all()},
        "entities": {str(mention.entity_id) for mention in memory.mentions.all()},
        "metadata": {*memory.metadata},
    }


def union_attributes(attribute_sets: Iterable[MemoryAttributes]) -> MemoryAttributes:
    """The union of several sets of attributes."""
    union: MemoryAttributes = {kind: set() for kind in ATTRIBUTE_KINDS}
    for names in attribute_sets:
        for kind in ATTRIBUTE_KINDS:
            union[kind] |= set(names.get(kind, ()))
    return union


def record_inherited(events: Iterable[ScoreEvent], survivor: MemoryAttributes, absorbed: MemoryAttributes) -> None:
    """Record in the merge event which attributes the absorbed memory adds to its survivor."""
    added = {
        kind: sorted(absorbed[kind] - survivor[kind]) for kind in ATTRIBUTE_KINDS if absorbed[kind] - survivor[kind]
    }
    merge = next(event for event in events if event.cause == "merged")
    merge.parts = {**merge.parts, INHERITED_KEY: added} if added else merge.parts


def inherit_attributes(survivor: Memory, absorbed: Memory) -> None:
    """Copy the tags and entities of an absorbed memory to its survivor."""
    target = {"namespace_id": survivor.namespace_id, "memory_id": survivor.id}
    tags = [MemoryTag(**target, tag=tag.tag) for tag in absorbed.tags.all()]
    MemoryTag.objects.bulk_create(tags, ignore_conflicts=True)
    mentions = [
        Mention(**target, id=uuid7(), entity_id=mention.entity_id, confidence=mention.confidence)
        for mention in absorbed.mentions.all()
    ]
    Mention.objects.bulk_create(mentions, ignore_conflicts=True)


def remove_inherited(survivor: Memory, split_off: Sequence[Memory], others: Sequence[Memory]) -> None:
    """Remove inherited attributes from a survivor unless another memory still merged into it has them."""
    merges = ScoreEvent.objects.filter(namespace_id=survivor.namespace_id, cause="merged", other_id=survivor.id)
    inherited = union_attributes(parts.get(INHERITED_KEY, {}) for parts in merges.values_list("parts", flat=True))
    removed = union_attributes(map(memory_attributes, split_off))
    remaining = union_attributes(map(memory_attributes, others))
    dropped = {kind: (inherited[kind] & removed[kind]) - remaining[kind] for kind in ATTRIBUTE_KINDS}
    survivor.tags.filter(tag__in=dropped["tags"]).delete()
    survivor.mentions.filter(entity_id__in=map(UUID, dropped["entities"])).delete()
    metadata = {name: value for other in others for name, value in other.metadata.items()}
    shared = inherited["metadata"] & removed["metadata"]
    survivor.metadata = {
        name: metadata[name] if name in shared else value
        for name, value in survivor.metadata.items()
        if name not in dropped["metadata"]
    }


def split_memory(namespace: Namespace, memory: UUID, *, by: str) -> tuple[EvidenceState, EvidenceState]:
    """Undo a merge and mark the pair as distinct; return the memory and its former survivor."""
    row = Memory.objects.within(namespace).filter(id=memory).select_related("merged_into").first()
    if row is None or row.status == Status.FORGOTTEN:
        raise NotFoundError(memory)
    if row.status != Status.MERGED or row.merged_into is None:
        raise RefusedError(f"Memory {memory} is {row.status}: there is no merge to undo.", "not_merged")
    pair = [NewMemory(content=member.content) for member in (row, row.merged_into)]
    prepared = prepare_memories(namespace, pair)
    with lock_memories(namespace, memory, row.merged_into.id, by=by) as locked:
        absorbed, survivor = locked.get(memory, allowed=[Status.MERGED]), locked.known[row.merged_into.id]
        check_splittable(locked, absorbed, survivor)
        prepared = reembed_if_changed(namespace, prepared)
        undo_merge(locked, absorbed, survivor)
        insert_first_vector(namespace, memory, prepared)
        search_index.show_memories(namespace, [memory])
        cosine = float(prepared.vectors[0] @ prepared.vectors[1])
        locked.record_verdict(absorbed, survivor, Verdict.DISTINCT, reason="split", cosine=cosine)
    return absorbed, survivor


def check_splittable(locked: LockedMemories, absorbed: EvidenceState, survivor: EvidenceState) -> None:
    """Refuse if the survivor is itself merged or forgotten, or if the content hash is taken."""
    if survivor.memory.status in (Status.MERGED, Status.FORGOTTEN):
        raise wrong_status_error(survivor.memory)
    active = Memory.objects.within(locked.namespace).filter(status=Status.ACTIVE)
    if (duplicate := active.filter(content_hash=absorbed.memory.content_hash).first()) is not None:
        raise RefusedError(
            f"Memory {duplicate.id} has the same text by now; only one can be active.", "duplicate_exists"
        )


def undo_merge(locked: LockedMemories, absorbed: EvidenceState, survivor: EvidenceState) -> None:
    """Revert what the merge contributed: sources, attributes, observations, extractor, belief, accesses."""
    merged = Memory.objects.within(locked.namespace).filter(merged_into=survivor.memory, status=Status.MERGED)
    others = list(merged.exclude(id=absorbed.memory.id).order_by("id").prefetch_related("sources", "tags", "mentions"))
    ids, history = [other.id for other in others], score_history(survivor)
    remaining = remove_merged_sources(survivor, absorbed, others)
    before, survivor.origins = survivor.origins, source_origins(remaining)
    lost = observation_count(before) - observation_count(survivor.origins)
    repetitions = max(survivor.evidence.repetitions - lost - confirmation_count(absorbed), 0)
    confirmed_at = confirmed_at_without_merge(history, others)
    summaries = source_summaries(locked.namespace, ids).values()
    survivor.evidence = replace(
        evidence_without_merge(survivor, others, history),
        levels=frozenset(row.level for row in remaining).union(*(summary.levels for summary in summaries)),
        absorbed=frozenset().union(*(summary.types for summary in summaries)) - {survivor.evidence.type},
        repetitions=repetitions,
        confirmed=confirmed_at is not None,
    )
    # Independent corroboration stays.
    lost_sources = named_sources(before) - survivor.sources - survivor.corroborators
    withdraw_evidence(survivor, BeliefStep("corroboration", absorbed.memory.id), len(lost_sources))
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


def insert_first_vector(namespace: Namespace, memory: UUID, prepared: PreparedMemories) -> None:
    """Insert the first prepared vector for a memory merged on arrival; a hidden vector stays as it is."""
    vector = MemoryVector(namespace=namespace, memory_id=memory, embedder=prepared.embedder, vector=prepared.vectors[0])
    MemoryVector.objects.bulk_create([vector], ignore_conflicts=True)
    states = (
        search_index.token_states_row(namespace, memory, prepared.embedder, matrix) for matrix in prepared.tokens[:1]
    )
    TokenStates.objects.bulk_create(states, ignore_conflicts=True)


def evidence_without_merge(
    survivor: EvidenceState, others: Iterable[Memory], history: Sequence[ScoreEvent]
) -> Evidence:
    """The best extractor and grounding that remain."""
    extractors = [
        *own_values(history, EXTRACTOR_COLUMNS),
        *((other.extractor_model, other.extractor_logprob) for other in others),
    ]
    groundings = [
        *(value for (value,) in own_values(history, GROUNDING_COLUMNS)),
        *(other.grounding for other in others),
    ]
    if any(event.cause == "confirmed" for event in history):
        groundings.append("supported")

    def extractor_score(extractor: tuple[Any, ...]) -> float:
        model, logprob = extractor
        return float(evidence.extractor_signal(Evidence(model=model, logprob=logprob), survivor.policy).value)

    current = survivor.evidence
    model, logprob = max(extractors, key=extractor_score, default=(current.model, current.logprob))
    grounding = min(cast("list[Grounding]", groundings), key=GROUNDINGS.index, default=current.grounding)
    return replace(current, model=model, logprob=logprob, grounding=grounding)


def own_values(history: Iterable[ScoreEvent], names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The values of some columns after each change that was not a merge."""
    state: dict[str, Any] = dict.fromkeys(names)
    for event in history:
        changed = {name: event.after[name] for name in names if name in event.after}
        state |= changed
        if changed and is_own_event(event):
            yield tuple(state.values())


def is_own_event(event: ScoreEvent) -> bool:
    """Whether an event concerns the memory alone: its first, or any but a merge or split."""
    return not event.before or event.cause not in ("merged", "split")


def columns_without_merge(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> dict[str, Any]:
    """The survivor's own scores and times, completed by the memories still merged into it."""
    values: dict[str, Any] = {}
    for event in filter(is_own_event, history):
        values |= {name: event.after[name] for name in MERGED_COLUMNS if name in event.after}
    if values.keys() != set(MERGED_COLUMNS):
        return {}  # the history is incomplete
    survivor = SimpleNamespace(
        **{name: datetime.fromisoformat(value) if isinstance(value, str) else value for name, value in values.items()}
    )
    for other in others:
        vars(survivor).update(merged_columns(survivor, other))
    return vars(survivor)


def confirmed_at_without_merge(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> datetime | None:
    """The last confirmation of the survivor itself, else of a memory still merged into it."""
    own_times = [event.at for event in history if event.cause == "confirmed"]
    merged_times = [other.confirmed_at for other in others if other.confirmed_at]
    return max(own_times or merged_times, default=None)
