"""Ingesting the turns of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import MemoryVector, Namespace, Session, Turn
from memories.models.choices import Route
from memories.writing.bulk_copy import copy_rows
from memories.writing.judge_verdicts import JudgeVerdicts
from memories.writing.remember import Outcome, lock_namespace, write_batch
from memories.writing.turns.chunks import ChunkBatch, ConversationChunk, vector_row
from memories.writing.turns.conversation import Conversation
from memories.writing.turns.conversation_draft import ConversationDraft, draft_conversation
from memories.writing.turns.exchanges import SPOKEN_ROLES, render_turns


@dataclass(frozen=True)
class IngestResult:
    """The result of ingesting a conversation."""

    session: Session
    turns: Sequence[Turn]
    fresh: frozenset[UUID]
    outcomes: Sequence[tuple[UUID, Outcome]]
    chunks: Sequence[ConversationChunk]


def ingest(namespace: Namespace, conversation: Conversation, *, by: str, extract: bool = True) -> IngestResult:
    """Store the turns, remember their facts, and update the session's chunks, all or nothing."""
    while True:
        draft = draft_conversation(namespace, conversation, extract=extract)
        verdicts = JudgeVerdicts.collect(namespace, draft.facts) if draft.facts else None
        with transaction.atomic():
            lock_namespace(namespace)
            # The writer that changed the session has committed, so a retry makes progress.
            if is_draft_current(namespace, draft):
                return store_draft(namespace, draft, by, verdicts)


def is_draft_current(namespace: Namespace, draft: ConversationDraft) -> bool:
    """Whether neither the session nor the embedder has changed since the draft was prepared."""
    session = draft.placed.session
    if session._state.adding:
        unchanged = not Session.objects.within(namespace).filter(user=session.user, key=session.key).exists()
    else:
        turns = Turn.objects.within(namespace).filter(session_id=session.id).order_by("position")
        unchanged = list(turns.values_list("id", "text")) == [(turn.id, turn.text) for turn in draft.placed.stored]
    return unchanged and namespace.embedder == draft.embedder


def store_draft(
    namespace: Namespace, draft: ConversationDraft, by: str, verdicts: JudgeVerdicts | None
) -> IngestResult:
    """Write a draft; the caller holds the lock."""
    placement, now = draft.placed, namespace.now
    fresh = placement.fresh
    placement.session.save()
    copy_rows(Turn, fresh)
    outcomes = write_batch(namespace, draft.facts, by, dry_run=False, verdicts=verdicts) if draft.facts else []
    copy_rows(MemoryVector, context_vectors(namespace, draft, outcomes))
    chunks = store_chunks(namespace, draft, by, now) if fresh else []
    new_memories = draft.facts.new_memories if draft.facts else []
    turn_ids = [next(utterance.turn for utterance in new.utterances if utterance.turn) for new in new_memories]
    return IngestResult(
        placement.session,
        placement.turns,
        frozenset(turn.id for turn in fresh),
        list(zip(turn_ids, outcomes, strict=True)),
        chunks,
    )


def context_vectors(namespace: Namespace, draft: ConversationDraft, outcomes: Sequence[Outcome]) -> list[MemoryVector]:
    """Vectors of new facts with the turn before each."""
    return [
        vector_row(namespace, outcome.memory.id, Route.CONTEXT, draft.embedded.vector(text))
        for outcome, text in zip(outcomes, draft.contexts, strict=True)
        if outcome.outcome in ("stored", "escalated")
    ]


def store_chunks(namespace: Namespace, draft: ConversationDraft, by: str, now: datetime) -> list[ConversationChunk]:
    """Create or update the chunks of changed exchanges and of the session."""
    batch = ChunkBatch.load(namespace, draft.placed.session, by, now)
    for exchange in draft.exchanges:
        if texts := draft.route_texts.get(exchange.first.id):
            vectors = {route: draft.embedded.vector(text) for route, text in texts.items()}
            batch.add_exchange(
                exchange, vectors, draft.embedded.states(texts[Route.FULL]) if Route.FULL in texts else None
            )
    if not draft.exchanges:
        return []
    spoken = [turn for turn in [*draft.placed.stored, *draft.placed.fresh] if turn.role in SPOKEN_ROLES]
    batch.add_session(render_turns(spoken))
    batch.flush()
    return batch.chunks
