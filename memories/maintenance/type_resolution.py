"""Facts of uncertain type, classified later: by the configured language model, else by the rules of the extractor."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memories.contracts.work import Work
from memories.maintenance.reconnection import merge_exact_duplicates
from memories.maintenance.reflection_scope import in_batches, record_example, remaining
from memories.models import Memory, Namespace, ScoreEvent, Turn
from memories.models.choices import ChunkLevel, MemoryType, Status, TurnRole
from memories.models.keys import NamespacedQuerySet
from memories.providers.extractor import extractor
from memories.text.rule_extractor import MODEL as RULES
from memories.text.type_rules import statement_type
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.lock import LockedMemories, lock_memories
from scoring.dedup import content_hash


def uncertain_facts(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The active facts whose type is unknown."""
    return Memory.objects.within(namespace).filter(type_uncertain=True, level=ChunkLevel.FACT, status=Status.ACTIVE)


def resolve_types(work: Work) -> None:
    """Classify the facts of uncertain type; what cannot be decided stays uncertain."""
    ids = list(uncertain_facts(work.namespace).order_by("id").values_list("id", flat=True))
    waiting = remaining(work, ids)
    done = len(ids) - len(waiting)
    work.record_progress(done, len(ids), looked_at=0, resolved=0, merged=0)
    for batch in in_batches(waiting):
        facts = list(uncertain_facts(work.namespace).filter(id__in=batch).select_related("subject").order_by("id"))
        # Outside the lock: a model may take its time.
        types = classify_facts(facts, settings.RECALL_EXTRACTOR)
        with transaction.atomic():
            resolved, merged = assign_types(work, types)
            done += len(batch)
            work.step_result["through"] = str(batch[-1])
            work.record_progress(done, len(ids), looked_at=len(batch), resolved=resolved, merged=merged)


def classify_facts(facts: Sequence[Memory], name: str) -> dict[UUID, tuple[MemoryType, str]]:
    """The type of each fact that is decided, and by whom: an extractor that is a model, else the rules."""
    modelled = {} if name == RULES else model_types(facts, name)
    types: dict[UUID, tuple[MemoryType, str]] = {}
    for fact in facts:
        if fact.id in modelled:
            types[fact.id] = modelled[fact.id], name
        elif type := statement_type(fact.content, subject_name(fact), fact.predicate):
            types[fact.id] = type, RULES
    return types


def model_types(facts: Sequence[Memory], name: str) -> dict[UUID, MemoryType]:
    """The types a model gives to facts, each read as a turn; none where it finds several or nothing."""
    turns = [
        Turn(id=fact.id, role=TurnRole.USER, text=fact.content, said_at=fact.happened_at or fact.created_at)
        for fact in facts
    ]
    found: dict[UUID, set[str]] = {}
    for memory in extractor(name).extract(turns):
        found.setdefault(memory.turn_id, set()).add(memory.type)
    return {
        fact: MemoryType(next(iter(types)))
        for fact, types in found.items()
        if len(types) == 1 and types <= set(MemoryType.values)
    }


def assign_types(work: Work, types: Mapping[UUID, tuple[MemoryType, str]]) -> tuple[int, int]:
    """Set types and recompute confidences; returns how many were resolved, and how many of these merged thereby."""
    resolved: list[Memory] = []
    with lock_memories(work.namespace, *types, by=work.job.by) as locked:
        for id, (type, by) in types.items():
            state = locked.known.get(id)
            if state is None or state.memory.status != Status.ACTIVE or not state.memory.type_uncertain:
                continue
            state.memory.type, state.memory.type_uncertain = type, False
            state.evidence = replace(state.evidence, type=type, absorbed=state.evidence.absorbed - {type})
            state.record(locked.now, "type resolved", locked.by)
            # An event even where the priors of both types are equal.
            event = state.events[-1] if state.events else new_event(state.memory, locked)
            event.before, event.after = {**event.before, "type": "uncertain"}, {**event.after, "type": type}
            event.parts = {**event.parts, "reason": f"by {by}"}
            state.events[-1:] = [event]
            resolved.append(state.memory)
            record_example(work, "examples", {"memory": str(id), "type": type, "by": by})
    bulk_update_columns(resolved, ["type", "type_uncertain"])
    rows = Memory.objects.within(work.namespace).filter(id__in=[memory.id for memory in resolved])
    hashes = {memory.id: typed_hash(memory) for memory in rows.select_related("subject")}
    return len(resolved), merge_exact_duplicates(work, hashes, "says the same as another memory of its type")


def new_event(memory: Memory, locked: LockedMemories) -> ScoreEvent:
    """An event of a memory whose numbers stay."""
    return ScoreEvent(
        namespace_id=memory.namespace_id, memory_id=memory.id, at=locked.now, cause="type resolved", by=locked.by
    )


def subject_name(memory: Memory) -> str:
    """The name of a memory's subject, resolved or as written."""
    return memory.subject.name if memory.subject else memory.subject_surface


def typed_hash(memory: Memory) -> bytes:
    """The content hash of a memory under its type; without a subject it is about its user."""
    subject = subject_name(memory) or (f"user {memory.user}" if memory.user else "")
    return content_hash(memory.type, subject, memory.predicate, memory.content)
