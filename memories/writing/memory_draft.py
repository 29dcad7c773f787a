"""A new memory as an unsaved row, before its outcome is decided."""

from uuid import UUID

from memories.db.ids import uuid7
from memories.models import Memory, Namespace
from memories.models.choices import MemoryType
from memories.writing.new_memory import NewMemory
from memories.writing.resolve_entities import ResolvedEntities
from scoring.dedup import content_hash
from scoring.policy import WritePolicyParams


def draft_memory(
    namespace: Namespace,
    policy: WritePolicyParams,
    new: NewMemory,
    resolved: ResolvedEntities,
    session: UUID | None = None,
) -> Memory:
    """Build the row from the caller's input."""
    now = namespace.now
    return Memory(
        namespace=namespace,
        id=uuid7(),
        type=MemoryType.FACT if new.type_uncertain else new.type,
        type_uncertain=new.type_uncertain,
        kind=new.kind,
        content=new.content,
        content_hash=memory_hash(new, resolved),
        subject_id=resolved.subject,
        subject_surface=new.subject,
        subject_fallback=resolved.fallback,
        predicate=new.predicate,
        object=new.object,
        evidence=new.evidence,
        metadata=new.metadata,
        belief=policy.belief_start,
        importance=new.importance,
        quality=new.quality,
        memory_score=new.memory_score,
        provenance_depth=new.provenance_depth,
        created_at=new.created_at or now,
        happened_at=new.happened_at or new.created_at or now,
        event_at=new.event_at,
        event_until=new.event_until,
        valid_from=new.valid_from,
        valid_until=new.valid_until,
        user=new.user,
        agent=new.agent,
        session_id=session,
        turn_id=next((utterance.turn for utterance in new.utterances if utterance.turn), None),
    )


def memory_hash(new: NewMemory, resolved: ResolvedEntities) -> bytes:
    """The content hash for exact deduplication; an uncertain type counts as Fact, a missing subject as the user."""
    type = MemoryType.FACT if new.type_uncertain else new.type
    fallback_subject = f"user {new.user}" if new.user else ""
    return content_hash(type, resolved.subject_name or new.subject or fallback_subject, new.predicate, new.content)
