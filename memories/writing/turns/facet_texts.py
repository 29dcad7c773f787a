"""What an exchange says about a person, by facet: the texts of three memsense routes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from memories.models import MemorySource, Namespace, Turn
from memories.models.choices import ChunkLevel, MemoryType, Route
from memories.text.extraction import ConversationContext
from memories.writing.new_memory import NewMemory
from memories.writing.turns.exchanges import join_lines
from memories.writing.turns.extracted_facts import extract_facts

FACETS = {
    MemoryType.EVENT: Route.EVENTS,
    MemoryType.PREFERENCE: Route.PREFERENCES,
    MemoryType.ENTITY: Route.PERSONAL_INFO,
    MemoryType.FACT: Route.PERSONAL_INFO,
    MemoryType.RELATION: Route.PERSONAL_INFO,
}

# Facts by turn.
FactsByTurn: TypeAlias = dict[UUID, list[NewMemory]]


def facet_texts(memories: Iterable[NewMemory]) -> dict[Route, str]:
    """Extracted memories joined by facet; empty facets are left out."""
    texts_by_route: dict[Route, list[str]] = {}
    for memory in memories:
        route = Route.PERSONAL_INFO if memory.type_uncertain else FACETS[MemoryType(memory.type)]
        texts_by_route.setdefault(route, []).append(memory.content)
    return {route: join_lines(texts) for route, texts in texts_by_route.items()}


def facts_of_turns(memories: Sequence[NewMemory], turns: Iterable[object]) -> list[NewMemory]:
    """The memories stated in some turns."""
    turn_ids = set(turns)
    return [memory for memory in memories if any(utterance.turn in turn_ids for utterance in memory.utterances)]


def load_stored_facts(namespace: Namespace, turns: Collection[UUID]) -> FactsByTurn:
    """The stored facts of some turns, whatever their status."""
    sources = MemorySource.objects.within(namespace).filter(turn_id__in=turns, memory__level=ChunkLevel.FACT)
    rows = list(sources.select_related("memory").order_by("memory_id"))
    # A survivor inherits the turns of merged memories, which state it in other words.
    absorbed = {(row.turn_id, row.memory.merged_into_id) for row in rows}
    by_turn_id: FactsByTurn = {}
    for row in rows:
        if row.turn_id and (row.turn_id, row.memory_id) not in absorbed:
            type = "" if row.memory.type_uncertain else row.memory.type
            by_turn_id.setdefault(row.turn_id, []).append(NewMemory(content=row.memory.content, type=type))
    return by_turn_id


def stored_or_extracted_facts(
    turns: Sequence[Turn], stored: Mapping[UUID, Sequence[NewMemory]], context: ConversationContext
) -> list[NewMemory]:
    """The facts of stored turns: those stored, else those the rules extract."""
    extracted = extract_facts("rules", turns, context)
    return [new for turn in turns for new in stored.get(turn.id) or facts_of_turns(extracted, [turn.id])]
