"""What an exchange says of a person, by facet: the texts of three of memsense's routes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from memories.models import MemorySource, Namespace, Turn
from memories.models.choices import ChunkLevel, MemoryType, Route
from memories.providers.extractor import Context, extractor
from memories.turns.exchanges import joined
from memories.writing.new_memory import NewMemory

FACETS = {
    MemoryType.EVENT: Route.EVENTS,
    MemoryType.PREFERENCE: Route.PREFERENCES,
    MemoryType.ENTITY: Route.PERSONAL_INFO,
    MemoryType.FACT: Route.PERSONAL_INFO,
    MemoryType.RELATION: Route.PERSONAL_INFO,
}

# The memories that turns say, by turn.
Read: TypeAlias = dict[UUID, list[NewMemory]]


def facets(memories: Iterable[NewMemory]) -> dict[Route, str]:
    """The memories read out of an exchange, joined by facet; a facet of which it says nothing has no text."""
    found: dict[Route, list[str]] = {}
    for memory in memories:
        route = Route.PERSONAL_INFO if memory.uncertain else FACETS[MemoryType(memory.type)]
        found.setdefault(route, []).append(memory.content)
    return {route: joined(texts) for route, texts in found.items()}


def by_turn(memories: Sequence[NewMemory], turns: Iterable[object]) -> list[NewMemory]:
    """Those memories that some turns say."""
    wanted = set(turns)
    return [memory for memory in memories if any(said.turn in wanted for said in memory.said)]


def stored_of(namespace: Namespace, turns: Collection[UUID]) -> Read:
    """The facts that were read out of some turns, whatever became of them since."""
    sources = MemorySource.objects.within(namespace).filter(turn_id__in=turns, memory__level=ChunkLevel.FACT)
    rows = list(sources.select_related("memory").order_by("memory_id"))
    # A survivor has the turns of what it absorbed, and those said it in other words.
    absorbed = {(row.turn_id, row.memory.merged_into_id) for row in rows}
    found: Read = {}
    for row in rows:
        if row.turn_id and (row.turn_id, row.memory_id) not in absorbed:
            type = "" if row.memory.type_uncertain else row.memory.type
            found.setdefault(row.turn_id, []).append(NewMemory(content=row.memory.content, type=type))
    return found


def read_of(turns: Sequence[Turn], stored: Mapping[UUID, Sequence[NewMemory]], context: Context) -> list[NewMemory]:
    """What stored turns say: the facts that were kept of each, else what the rules read in it."""
    ruled = extractor("rules").extract(turns, context)
    return [new for turn in turns for new in stored.get(turn.id) or by_turn(ruled, [turn.id])]
