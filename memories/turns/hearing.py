"""From the turns of a conversation to what is stored of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import MemoryVector, Namespace, Session, Turn
from memories.models.choices import Route
from memories.turns.chunks import Chunk, Shelf, vector_row
from memories.turns.conversation import Conversation
from memories.turns.draft import Draft, drafted
from memories.turns.exchanges import SPOKEN, shown
from memories.writing.copying import copied
from memories.writing.judging import Opinions
from memories.writing.remember import Outcome, lock, written


@dataclass(frozen=True)
class Heard:
    """What became of a conversation."""

    session: Session
    turns: Sequence[Turn]
    fresh: frozenset[UUID]
    outcomes: Sequence[tuple[UUID, Outcome]]
    chunks: Sequence[Chunk]


def hear(namespace: Namespace, said: Conversation, *, by: str, extract: bool = True) -> Heard:
    """Store the turns, remember what they say, and keep the chunks of their session current; all of it or nothing."""
    while True:
        draft = drafted(namespace, said, extract=extract)
        opinions = Opinions.on(namespace, draft.facts) if draft.facts else None
        with transaction.atomic():
            lock(namespace)
            # Whoever wrote to the session meanwhile has finished, so trying again gets on.
            if stands(namespace, draft):
                return stored(namespace, draft, by, opinions)


def stands(namespace: Namespace, draft: Draft) -> bool:
    """Whether nobody has written to the session, erased of it, or changed the embedder, since the draft was made."""
    session = draft.placed.session
    if session._state.adding:
        same = not Session.objects.within(namespace).filter(user=session.user, key=session.key).exists()
    else:
        said = Turn.objects.within(namespace).filter(session_id=session.id).order_by("position")
        same = list(said.values_list("id", "text")) == [(turn.id, turn.text) for turn in draft.placed.stored]
    return same and namespace.embedder == draft.embedder


def stored(namespace: Namespace, draft: Draft, by: str, opinions: Opinions | None) -> Heard:
    """Write what was drafted; the caller holds the lock."""
    place, now = draft.placed, namespace.now
    fresh = place.fresh
    place.session.save()
    copied(Turn, fresh)
    outcomes = written(namespace, draft.facts, by, dry_run=False, opinions=opinions) if draft.facts else []
    copied(MemoryVector, contexts(namespace, draft, outcomes))
    chunks = shelved(namespace, draft, by, now) if fresh else []
    news = draft.facts.news if draft.facts else []
    said = [next(one.turn for one in new.said if one.turn) for new in news]
    return Heard(
        place.session,
        place.told,
        frozenset(turn.id for turn in fresh),
        list(zip(said, outcomes, strict=True)),
        chunks,
    )


def contexts(namespace: Namespace, draft: Draft, outcomes: Sequence[Outcome]) -> list[MemoryVector]:
    """The vectors of new facts with the turn before each."""
    return [
        vector_row(namespace, outcome.memory.id, Route.CONTEXT, draft.embedded.vector(text))
        for outcome, text in zip(outcomes, draft.contexts, strict=True)
        if outcome.outcome in ("stored", "escalated")
    ]


def shelved(namespace: Namespace, draft: Draft, by: str, now: datetime) -> list[Chunk]:
    """Make or change the chunks that new turns touch, and that of their session."""
    shelf = Shelf.of(namespace, draft.placed.session, by, now)
    for one in draft.exchanges:
        if texts := draft.routes.get(one.first.id):
            vectors = {route: draft.embedded.vector(text) for route, text in texts.items()}
            shelf.exchange(one, vectors, draft.embedded.states(texts[Route.FULL]) if Route.FULL in texts else None)
    if not draft.exchanges:
        return []
    spoken = [turn for turn in [*draft.placed.stored, *draft.placed.fresh] if turn.role in SPOKEN]
    shelf.whole(shown(spoken))
    shelf.file()
    return shelf.chunks
