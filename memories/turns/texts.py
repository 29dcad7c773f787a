"""What each route of stored memories says, read again from the turns they come from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from memories.models import Memory, MemorySource, Namespace, Turn
from memories.models.choices import ChunkLevel, Route, TurnRole
from memories.models.keys import NamespacedQuerySet
from memories.providers.extractor import Context
from memories.turns.exchanges import SPOKEN, Exchange, in_context
from memories.turns.facets import FACETS, Read, facets, read_of, stored_of

# The text of a memory's route, by (memory, route).
Texts: TypeAlias = dict[tuple[UUID, Route], str]


def texts_of(namespace: Namespace, wanted: Iterable[tuple[UUID, str]]) -> Texts:
    """The texts of some routes; a route of which a memory says nothing has none."""
    routes: dict[UUID, set[Route]] = defaultdict(set)
    for memory, route in wanted:
        routes[memory].add(Route(route))
    memories = list(placed(namespace).filter(id__in=routes).select_related("session"))
    shelf = Spoken.of(namespace, memories)
    return {
        (memory.id, route): text
        for memory in memories
        for route, text in shelf.texts(memory, routes[memory.id]).items()
        if route in routes[memory.id]
    }


def placed(namespace: Namespace) -> NamespacedQuerySet[Any]:
    """Memories with the turns around each: the one said before it, and what the user says next."""
    said = Turn.objects.within(namespace).filter(session_id=OuterRef("turn__session_id"))
    before = said.filter(role__in=SPOKEN, position__lt=OuterRef("turn__position")).order_by("-position")
    following = said.filter(role=TurnRole.USER, position__gt=OuterRef("turn__position"), text__regex=r"\S")
    return Memory.objects.within(namespace).annotate(
        before_id=Subquery(before.values("id")[:1]),
        following_id=Subquery(following.order_by("position").values("id")[:1]),
    )


@dataclass(frozen=True)
class Spoken:
    """The turns that some memories come from, those around them, and the facts that were read out of them."""

    turns: dict[UUID, Turn]
    parts: dict[UUID, list[Turn]]  # of each chunk, in the order they were said
    stored: Read

    @classmethod
    def of(cls, namespace: Namespace, memories: Sequence[Any]) -> Self:
        """Read what was said; three questions."""
        owners = {memory.turn_id: memory.id for memory in memories if memory.level == ChunkLevel.TURN}
        sessions = {memory.session_id: memory.id for memory in memories if memory.level == ChunkLevel.SESSION}
        around = {id for memory in memories for id in (memory.before_id, memory.following_id) if id}
        sources = MemorySource.objects.within(namespace).filter(memory_id__in=owners.values(), turn_id__isnull=False)
        owners |= {turn: memory for memory, turn in sources.values_list("memory_id", "turn_id")}
        wanted = Q(id__in={*around, *owners}) | Q(session_id__in=sessions, role__in=SPOKEN)
        turns = list(Turn.objects.within(namespace).filter(wanted).order_by("session_id", "position"))
        parts: dict[UUID, list[Turn]] = defaultdict(list)
        for turn in turns:
            for memory in (owners.get(turn.id), sessions.get(turn.session_id)):
                if memory:
                    parts[memory].append(turn)
        said = [turn.id for spoken in parts.values() for turn in spoken]
        return cls({turn.id: turn for turn in turns}, parts, stored_of(namespace, said) if said else {})

    def texts(self, memory: Any, routes: set[Route]) -> dict[Route, str]:
        """What a memory's routes say; facets are read where they are asked for."""
        before = self.turns.get(memory.before_id)
        if memory.level not in (ChunkLevel.TURN, ChunkLevel.SESSION):
            whole = {Route.FULL: memory.content}
            return whole | {Route.CONTEXT: in_context(before, memory.content)} if memory.turn_id else whole
        one = Exchange(tuple(self.parts.get(memory.id, ())), before)
        if not one.turns:
            return {}
        texts = one.texts()
        if following := self.turns.get(memory.following_id):
            texts[Route.NEXT_USER] = following.text
        return texts | self._facets(memory, one, routes.intersection(FACETS.values()))

    def _facets(self, memory: Any, one: Exchange, routes: set[Route]) -> dict[Route, str]:
        if not routes:
            return {}
        context = Context(memory.session.key, memory.user, memory.agent, [one.before] if one.before else [])
        found = facets(read_of(one.turns, self.stored, context))
        # The fact that a facet was made of may be erased, while its turn is not.
        return found if routes <= found.keys() else facets(read_of(one.turns, {}, context)) | found
