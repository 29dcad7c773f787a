"""Ingesting a conversation: draft outside the namespace lock, store under it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memories.contracts.new_memory import NewMemory
from memories.models import MemoryVector, Namespace, Session, Turn
from memories.models.choices import Route
from memories.text.extraction import ConversationContext
from memories.text.rule_extractor import WINDOW
from memories.writing.bulk_copy import copy_rows
from memories.writing.decide import JudgeVerdicts, Outcome
from memories.writing.lock import lock_namespace
from memories.writing.prepare import (
    EmbeddedTexts,
    PreparedMemories,
    embed_distinct,
    prepare_memories,
    reembed_if_changed,
)
from memories.writing.remember import write_batch
from memories.writing.search_index import vector_row
from memories.writing.turns.chunks import ChunkBatch, ConversationChunk
from memories.writing.turns.conversation import (
    Conversation,
    PlacedConversation,
    place_conversation,
    redact_conversation,
)
from memories.writing.turns.exchanges import (
    SPOKEN_ROLES,
    Exchange,
    prepend_turn,
    previous_turns,
    render_turns,
    split_exchanges,
)
from memories.writing.turns.extracted_facts import extract_facts
from memories.writing.turns.route_texts import facet_texts, facts_of_turns, load_stored_facts, stored_or_extracted_facts


@dataclass(frozen=True, eq=False)
class ConversationDraft:
    """A conversation with everything prepared outside the lock."""

    placed: PlacedConversation
    embedder: str
    exchanges: Sequence[Exchange]
    facts: PreparedMemories | None
    route_texts: dict[UUID, dict[Route, str]]  # of each changed exchange, by its first turn
    contexts: Sequence[str]  # the text of each fact with the turn before it
    embedded: EmbeddedTexts


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


def draft_conversation(namespace: Namespace, conversation: Conversation, *, extract: bool) -> ConversationDraft:
    """Place the turns, extract facts from new ones, embed the text of every route."""
    placement = place_conversation(
        namespace, redact_conversation(conversation) if namespace.redacts else conversation, namespace.now
    )
    turns = [*placement.stored, *placement.fresh]
    context = ConversationContext(
        conversation.session,
        conversation.user,
        placement.session.agent,
        [turn for turn in placement.stored if turn.role in SPOKEN_ROLES][-WINDOW:],
        conversation.source,
    )
    # Without extraction, the rules still provide the facets.
    extracted = extract_facts(settings.RECALL_EXTRACTOR if extract else "rules", placement.fresh, context)
    previous = previous_turns(turns)
    contexts = [with_previous_turn(new, previous) for new in extracted] if extract else []
    session_exchanges = split_exchanges(turns)
    routes = changed_route_texts(namespace, session_exchanges, placement.fresh, extracted, context)
    embedded = embed_distinct(
        namespace.embedder, [*contexts, *(text for route_texts in routes.values() for text in route_texts.values())]
    )
    prepared_facts = prepare_memories(namespace, extracted) if extract and extracted else None
    return ConversationDraft(
        placement, namespace.embedder, session_exchanges, prepared_facts, routes, contexts, embedded
    )


def changed_route_texts(
    namespace: Namespace,
    session_exchanges: Sequence[Exchange],
    fresh: Sequence[Turn],
    new_memories: Sequence[NewMemory],
    context: ConversationContext,
) -> dict[UUID, dict[Route, str]]:
    """The route texts of every exchange that new turns change, by joining it or as the user's next turn."""
    new_ids = {turn.id for turn in fresh}
    changed: dict[UUID, dict[Route, str]] = {}
    for index, exchange in enumerate(session_exchanges):
        texts: dict[Route, str] = {}
        if any(turn.id in new_ids for turn in exchange.turns):
            earlier = [turn for turn in exchange.turns if turn.id not in new_ids]
            earlier_facts = (
                stored_or_extracted_facts(earlier, load_stored_facts(namespace, [turn.id for turn in earlier]), context)
                if earlier
                else []
            )
            texts = exchange.route_texts() | facet_texts(
                [*earlier_facts, *facts_of_turns(new_memories, [turn.id for turn in exchange.turns])]
            )
        following = next((after for after in session_exchanges[index + 1 :] if after.opening.strip()), None)
        if following and following.first.id in new_ids:
            texts[Route.NEXT_USER] = following.opening
        if texts:
            changed[exchange.first.id] = texts
    return changed


def with_previous_turn(new: NewMemory, previous: dict[UUID, Turn | None]) -> str:
    """A memory's text with the turn before it."""
    turn = next((previous.get(utterance.turn) for utterance in new.utterances if utterance.turn), None)
    return prepend_turn(turn, new.content)


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
    outcomes: list[Outcome] = []
    if draft.facts:
        facts = reembed_if_changed(namespace, draft.facts)
        outcomes = write_batch(namespace, facts, by, dry_run=False, verdicts=verdicts)
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
