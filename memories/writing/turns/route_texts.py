"""The text of each route: of an exchange's facets, and of stored memories rebuilt from their turns."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from memories.contracts.new_memory import NewMemory
from memories.models import Memory, MemorySource, Namespace, Turn
from memories.models.choices import ChunkLevel, MemoryType, Route, TurnRole
from memories.models.keys import NamespacedQuerySet
from memories.text.extraction import ConversationContext
from memories.writing.turns.exchanges import SPOKEN_ROLES, Exchange, prepend_turn
from memories.writing.turns.extracted_facts import extract_facts

FACETS = {
    MemoryType.EVENT: Route.EVENTS,
    MemoryType.PREFERENCE: Route.PREFERENCES,
    MemoryType.ENTITY: Route.PERSONAL_INFO,
    MemoryType.FACT: Route.PERSONAL_INFO,
    MemoryType.RELATION: Route.PERSONAL_INFO,
}
# Texts by (memory, route).
RouteTexts: TypeAlias = dict[tuple[UUID, Route], str]
# Facts by turn.
FactsByTurn: TypeAlias = dict[UUID, list[NewMemory]]


def facet_texts(memories: Iterable[NewMemory]) -> dict[Route, str]:
    """Extracted memories joined by facet; empty facets are left out."""
    texts_by_route: dict[Route, list[str]] = {}
    for memory in memories:
        route = Route.PERSONAL_INFO if memory.type_uncertain else FACETS[MemoryType(memory.type)]
        texts_by_route.setdefault(route, []).append(memory.content)
    return {route: "\n".join(texts) for route, texts in texts_by_route.items()}


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


def load_route_texts(namespace: Namespace, keys: Iterable[tuple[UUID, str]]) -> RouteTexts:
    """The texts of some routes; routes without text are left out."""
    routes: dict[UUID, set[Route]] = defaultdict(set)
    for memory, route in keys:
        routes[memory].add(Route(route))
    memories = list(memories_with_turns(namespace).filter(id__in=routes).select_related("session"))
    source_turns = SourceTurns.load(namespace, memories)
    return {
        (memory.id, route): text
        for memory in memories
        for route, text in source_turns.route_texts(memory, routes[memory.id]).items()
        if route in routes[memory.id]
    }


def memories_with_turns(namespace: Namespace) -> NamespacedQuerySet[Any]:
    """Memories annotated with the previous turn and the user's next turn."""
    turns = Turn.objects.within(namespace).filter(session_id=OuterRef("turn__session_id"))
    previous = turns.filter(role__in=SPOKEN_ROLES, position__lt=OuterRef("turn__position")).order_by("-position")
    following = turns.filter(role=TurnRole.USER, position__gt=OuterRef("turn__position"), text__regex=r"\S")
    return Memory.objects.within(namespace).annotate(
        before_id=Subquery(previous.values("id")[:1]),
        following_id=Subquery(following.order_by("position").values("id")[:1]),
    )


@dataclass(frozen=True)
class SourceTurns:
    """The turns behind some memories, those around them, and the facts extracted from them."""

    turns: dict[UUID, Turn]
    chunk_turns: dict[UUID, list[Turn]]  # of each chunk, in order
    stored_facts: FactsByTurn

    @classmethod
    def load(cls, namespace: Namespace, memories: Sequence[Any]) -> Self:
        """Load the turns in three SQL queries."""
        owners = {memory.turn_id: memory.id for memory in memories if memory.level == ChunkLevel.TURN}
        sessions = {memory.session_id: memory.id for memory in memories if memory.level == ChunkLevel.SESSION}
        around = {id for memory in memories for id in (memory.before_id, memory.following_id) if id}
        sources = MemorySource.objects.within(namespace).filter(memory_id__in=owners.values(), turn_id__isnull=False)
        owners |= {turn: memory for memory, turn in sources.values_list("memory_id", "turn_id")}
        condition = Q(id__in={*around, *owners}) | Q(session_id__in=sessions, role__in=SPOKEN_ROLES)
        turns = list(Turn.objects.within(namespace).filter(condition).order_by("session_id", "position"))
        turns_of: dict[UUID, list[Turn]] = defaultdict(list)
        for turn in turns:
            for memory in (owners.get(turn.id), sessions.get(turn.session_id)):
                if memory:
                    turns_of[memory].append(turn)
        turn_ids = [turn.id for chunk_turns in turns_of.values() for turn in chunk_turns]
        return cls(
            {turn.id: turn for turn in turns}, turns_of, load_stored_facts(namespace, turn_ids) if turn_ids else {}
        )

    def route_texts(self, memory: Any, routes: set[Route]) -> dict[Route, str]:
        """A memory's texts by route; facets only if requested."""
        previous = self.turns.get(memory.before_id)
        if memory.level not in (ChunkLevel.TURN, ChunkLevel.SESSION):
            full = {Route.FULL: memory.content}
            return full | {Route.CONTEXT: prepend_turn(previous, memory.content)} if memory.turn_id else full
        exchange = Exchange(tuple(self.chunk_turns.get(memory.id, ())), previous)
        if not exchange.turns:
            return {}
        texts = exchange.route_texts()
        if following := self.turns.get(memory.following_id):
            texts[Route.NEXT_USER] = following.text
        return texts | self._facet_texts(memory, exchange, routes.intersection(FACETS.values()))

    def _facet_texts(self, memory: Any, exchange: Exchange, routes: set[Route]) -> dict[Route, str]:
        if not routes:
            return {}
        context = ConversationContext(
            memory.session.key, memory.user, memory.agent, [exchange.previous] if exchange.previous else []
        )
        stored_facets = facet_texts(stored_or_extracted_facts(exchange.turns, self.stored_facts, context))
        # The fact behind a facet may be erased while its turn is not.
        return (
            stored_facets
            if routes <= stored_facets.keys()
            else facet_texts(stored_or_extracted_facts(exchange.turns, {}, context)) | stored_facets
        )
