"""RowBuffer: the rows a batch adds, collected while it is decided and flushed together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.contracts.new_memory import NewMemory
from memories.db.ids import uuid7
from memories.models import (
    EntityEdge,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    ReviewItem,
    ScoreEvent,
    TokenStates,
)
from memories.models.choices import EdgeKind, MemoryType, Route
from memories.writing.bulk_copy import bulk_update_columns, copy_rows, lightweight_row
from memories.writing.evidence import EvidenceState, SourceKey, source_key
from memories.writing.prepare import PreparedMemories
from memories.writing.resolve import Observation, ResolvedEntities
from scoring.dedup import content_hash
from scoring.policy import WritePolicyParams

# In foreign key order.
TABLES: tuple[type[Any], ...] = (
    Memory,
    MemoryVector,
    TokenStates,
    MemoryTag,
    Mention,
    EntityEdge,
    MemoryEdge,
    MemorySource,
    ReviewItem,
    ScoreEvent,
)


@dataclass
class RowBuffer:
    """Buffered rows of one namespace by table."""

    namespace: Namespace
    policy: WritePolicyParams
    now: datetime
    rows: dict[type[Any], list[Any]] = field(default_factory=dict)
    sources: dict[tuple[UUID, SourceKey], Any] = field(default_factory=dict)
    absorbed: dict[tuple[UUID, SourceKey], Any] = field(default_factory=dict)  # sources that survivors inherit
    insert_if_new: dict[type[Any], list[Any]] = field(default_factory=dict)  # inserted with ON CONFLICT DO NOTHING

    def add(self, row: Any) -> None:
        """Buffer a model instance."""
        row.namespace = self.namespace
        self.rows.setdefault(type(row), []).append(row)

    def add_values(self, table: type[Any], *, if_new: bool = False, **values: Any) -> None:
        """Buffer a row by its values, for tables nobody reads before the flush."""
        rows = self.insert_if_new if if_new else self.rows
        rows.setdefault(table, []).append(lightweight_row(table, namespace_id=self.namespace.id, **values))

    def add_memory(self, memory: Memory, new: NewMemory, resolved: ResolvedEntities) -> None:
        """Buffer a new memory with its tags and entity mentions."""
        self.add(memory)
        memory.given_tags = set(new.tags)
        self.add_tags_and_mentions(memory, new, resolved)

    def add_tags_and_mentions(
        self, memory: Memory, new: NewMemory, resolved: ResolvedEntities, *, if_new: bool = False
    ) -> None:
        """Buffer a memory's tags and entity mentions."""
        for tag in sorted(set(new.tags)):
            self.add_values(MemoryTag, tag=tag, memory_id=memory.id, if_new=if_new)
        for entity, confidence in resolved.entities.items():
            self.add_values(Mention, memory_id=memory.id, entity_id=entity, confidence=confidence, if_new=if_new)

    def add_repeat(self, memory: Memory, new: NewMemory, resolved: ResolvedEntities) -> None:
        """Buffer the tags, mentions and relation of a repeated observation in the same words."""
        self.add_tags_and_mentions(memory, new, resolved, if_new=True)
        self.add_relation(memory, resolved, if_new=True)
        if memory.given_tags is not None:
            memory.given_tags = {*memory.given_tags, *new.tags}

    def add_vector(self, memory: Memory, prepared: PreparedMemories, index: int) -> None:
        """Buffer the vector of the full text, and its token states if the embedder provides them."""
        common: dict[str, Any] = {"memory_id": memory.id, "embedder": prepared.embedder}
        vector = {"vector": prepared.vectors[index], "written": self.namespace.writing}
        self.add_values(MemoryVector, level=memory.level, route=Route.FULL, **common, **vector)
        if prepared.tokens:
            states = prepared.tokens[index]
            self.add_values(TokenStates, packed=states.to_bytes(), tokens=states.tokens, scale=states.scale, **common)

    def add_relation(self, memory: Memory, resolved: ResolvedEntities, *, if_new: bool = False) -> None:
        """Buffer the edge between the two entities of a triple, if both are resolved."""
        if (relation := resolved.relation(memory.predicate)) is not None:
            common = {"memory_id": memory.id, "predicate": memory.predicate, "created_at": self.now}
            source, target, confidence = relation
            self.add_values(
                EntityEdge, source_id=source, target_id=target, confidence=confidence, if_new=if_new, **common
            )

    def add_sources(self, memory: UUID, observations: Sequence[Observation], *, absorbed: bool = False) -> None:
        """Buffer a memory's sources, one per turn, else per session and source."""
        for utterance, session, source in observations:
            values = {"memory_id": memory, "session_id": session, "turn_id": utterance.turn, "source": source}
            values["level"] = level = utterance.level
            strength = float(self.policy[f"source_{level}"].value)
            row = lightweight_row(
                MemorySource, namespace_id=self.namespace.id, strength=strength, observed_at=self.now, **values
            )
            known = (self.absorbed if absorbed else self.sources).setdefault((memory, source_key(row)), row)
            if known.strength < strength:
                known.level, known.strength = level, strength

    def add_edge(self, state: EvidenceState, other: EvidenceState, cosine: float | None, kind: EdgeKind) -> None:
        """Buffer an edge from the later of two memories to the earlier."""
        later, earlier = sorted((state.memory.id, other.memory.id), reverse=True)
        edge = MemoryEdge(source_id=later, target_id=earlier, kind=kind, created_at=self.now)
        edge.cosine = None if cosine is None else min(cosine, 1.0)
        self.add(edge)

    def flush(self) -> None:
        """Insert everything, table by table."""
        new_ids = {memory.id for memory in self.rows.get(Memory, [])}
        # A merged memory keeps its own source levels; the survivor gets only the turns and sessions.
        source_rows = {**self.absorbed, **self.sources}.values()
        self.rows[MemorySource] = [row for row in source_rows if row.memory_id in new_ids]
        for table in TABLES:
            copy_rows(table, self.rows.get(table, []))
        # A turn or session that is already a source of a known memory is not added again.
        self.insert_if_new[MemorySource] = [row for row in source_rows if row.memory_id not in new_ids]
        for table, rows in self.insert_if_new.items():
            table.objects.bulk_create((table(**vars(row)) for row in rows), ignore_conflicts=True)
        self.raise_source_levels({row.memory_id for row in self.insert_if_new[MemorySource]})

    def raise_source_levels(self, memories: set[UUID]) -> None:
        """Raise the level of stored sources that now state a memory more directly."""
        raised = []
        for row in MemorySource.objects.within(self.namespace).filter(memory_id__in=memories):
            observed = self.sources.get((row.memory_id, source_key(row)))
            if observed and observed.strength > self.policy[f"source_{row.level}"].value:
                row.level, row.strength = observed.level, observed.strength
                raised.append(row)
        bulk_update_columns(raised, ["level", "strength"])


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
