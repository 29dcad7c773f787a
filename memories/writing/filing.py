"""The rows that a batch adds, gathered while it is decided and written together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

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
from memories.models.choices import EdgeKind, Route
from memories.writing.copying import bare, copied, updated
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import Prepared
from memories.writing.resolving import Named
from memories.writing.sources import Observation, Place, place_of
from memories.writing.standing import Standing
from scoring.policy import WritePolicy

# A row comes after those it refers to.
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
class Filing:
    """Rows of one namespace, table by table."""

    namespace: Namespace
    policy: WritePolicy
    now: datetime
    rows: dict[type[Any], list[Any]] = field(default_factory=dict)
    sources: dict[tuple[UUID, Place], Any] = field(default_factory=dict)
    absorbed: dict[tuple[UUID, Place], Any] = field(default_factory=dict)  # the same, of memories that went into others
    again: dict[type[Any], list[Any]] = field(default_factory=dict)  # rows that may be there already

    def add(self, row: Any) -> None:
        """Take a row in."""
        row.namespace = self.namespace
        self.rows.setdefault(type(row), []).append(row)

    def put(self, table: type[Any], *, again: bool = False, **values: Any) -> None:
        """Take in what nobody looks at before it is written."""
        rows = self.again if again else self.rows
        rows.setdefault(table, []).append(bare(table, namespace_id=self.namespace.id, **values))

    def add_memory(self, memory: Memory, new: NewMemory, whom: Named) -> None:
        """A new memory, its tags and the entities it names."""
        self.add(memory)
        memory.given_tags = set(new.tags)
        self.add_names(memory, new, whom)

    def add_names(self, memory: Memory, new: NewMemory, whom: Named, *, again: bool = False) -> None:
        """What a memory is called by: tags and entities."""
        for tag in sorted(set(new.tags)):
            self.put(MemoryTag, tag=tag, memory_id=memory.id, again=again)
        for entity, sure in whom.entities.items():
            self.put(Mention, memory_id=memory.id, entity_id=entity, confidence=sure, again=again)

    def add_again(self, memory: Memory, new: NewMemory, whom: Named) -> None:
        """The tags, entities and relation that the same words bring when they are said again."""
        self.add_names(memory, new, whom, again=True)
        self.add_relation(memory, whom, again=True)
        if memory.given_tags is not None:
            memory.given_tags = {*memory.given_tags, *new.tags}

    def add_vector(self, memory: Memory, ready: Prepared, place: int) -> None:
        """What it is found by: the vector of its text, and its tokens' states where the embedder has them."""
        known: dict[str, Any] = {"memory_id": memory.id, "embedder": ready.embedder}
        vector = {"vector": ready.vectors[place], "written": self.namespace.writing}
        self.put(MemoryVector, level=memory.level, route=Route.FULL, **known, **vector)
        if ready.tokens:
            states = ready.tokens[place]
            self.put(TokenStates, packed=states.packed, tokens=states.tokens, scale=states.scale, **known)

    def add_relation(self, memory: Memory, whom: Named, *, again: bool = False) -> None:
        """The edge between the two entities that a triple names, where both are known."""
        if (related := whom.relation(memory.predicate)) is not None:
            told = {"memory_id": memory.id, "predicate": memory.predicate, "created_at": self.now}
            source, target, sure = related
            self.put(EntityEdge, source_id=source, target_id=target, confidence=sure, again=again, **told)

    def add_sources(self, memory: UUID, heard: Sequence[Observation], *, absorbed: bool = False) -> None:
        """The sources of a memory, each turn or session once."""
        for said, (session, source) in heard:
            told = {"memory_id": memory, "session_id": session, "turn_id": said.turn, "source": source}
            told["level"] = level = said.level
            strength = float(self.policy[f"source_{level}"].value)
            row = bare(MemorySource, namespace_id=self.namespace.id, strength=strength, observed_at=self.now, **told)
            known = (self.absorbed if absorbed else self.sources).setdefault((memory, place_of(row)), row)
            if known.strength < strength:
                known.level, known.strength = level, strength

    def join(self, one: Standing, other: Standing, cosine: float | None, kind: EdgeKind) -> None:
        """An edge from the later of two memories to the earlier."""
        later, earlier = sorted((one.memory.id, other.memory.id), reverse=True)
        edge = MemoryEdge(source_id=later, target_id=earlier, kind=kind, created_at=self.now)
        edge.cosine = None if cosine is None else min(cosine, 1.0)
        self.add(edge)

    def write(self) -> None:
        """Write everything, table by table."""
        fresh = {memory.id for memory in self.rows.get(Memory, [])}
        # What was absorbed has sources of its own, which tell how directly it was said: here they add places alone.
        said = {**self.absorbed, **self.sources}.values()
        self.rows[MemorySource] = [row for row in said if row.memory_id in fresh]
        for table in TABLES:
            copied(table, self.rows.get(table, []))
        # A turn or session that said a known memory before is no further source of it.
        self.again[MemorySource] = [row for row in said if row.memory_id not in fresh]
        for table, rows in self.again.items():
            table.objects.bulk_create((table(**vars(row)) for row in rows), ignore_conflicts=True)
        self.strengthen({row.memory_id for row in self.again[MemorySource]})

    def strengthen(self, memories: set[UUID]) -> None:
        """Let a turn or session that says a known memory more directly than before count as that."""
        stronger = []
        for row in MemorySource.objects.within(self.namespace).filter(memory_id__in=memories):
            said = self.sources.get((row.memory_id, place_of(row)))
            if said and said.strength > self.policy[f"source_{row.level}"].value:
                row.level, row.strength = said.level, said.strength
                stronger.append(row)
        updated(stronger, ["level", "strength"])
