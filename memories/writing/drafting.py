"""A new memory as the row it would be, before it is known what becomes of it."""

from uuid import UUID

from memories.ids import uuid7
from memories.models import Memory, Namespace
from memories.models.choices import MemoryType
from memories.writing.new_memory import NewMemory
from memories.writing.resolving import Named
from scoring.dedup import content_hash
from scoring.policy import WritePolicy


def drafted(
    namespace: Namespace, policy: WritePolicy, new: NewMemory, whom: Named, session: UUID | None = None
) -> Memory:
    """A row with all that the caller told."""
    now = namespace.now
    return Memory(
        namespace=namespace,
        id=uuid7(),
        type=MemoryType.FACT if new.uncertain else new.type,
        type_uncertain=new.uncertain,
        kind=new.kind,
        content=new.content,
        content_hash=hash_of(new, whom),
        subject_id=whom.subject,
        subject_surface=new.subject,
        subject_fallback=whom.fallback,
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
        turn_id=next((said.turn for said in new.said if said.turn), None),
    )


def hash_of(new: NewMemory, whom: Named) -> bytes:
    """The hash under which a memory is known; an uncertain type counts as a Fact, and who tells it as its subject."""
    type = MemoryType.FACT if new.uncertain else new.type
    implied = f"user {new.user}" if new.user else ""
    return content_hash(type, whom.subject_name or new.subject or implied, new.predicate, new.content)
