"""Preparing a conversation outside the namespace lock: positions, extracted facts, vectors of every route."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from memories.models import Namespace, Turn
from memories.models.choices import Route
from memories.text.extraction import ConversationContext
from memories.text.registry_cache import load_registry
from memories.writing.new_memory import NewMemory
from memories.writing.prepare import PreparedMemories, prepare_memories
from memories.writing.turns.conversation import (
    Conversation,
    PlacedConversation,
    place_conversation,
    redact_conversation,
)
from memories.writing.turns.embedded_texts import EmbeddedTexts
from memories.writing.turns.exchanges import Exchange, prepend_turn, previous_turns, split_exchanges
from memories.writing.turns.extracted_facts import extract_facts
from memories.writing.turns.facet_texts import facet_texts, facts_of_turns, load_stored_facts, stored_or_extracted_facts

CONTEXT_TURNS = 4  # earlier turns given to the extractor as context


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


def draft_conversation(namespace: Namespace, conversation: Conversation, *, extract: bool) -> ConversationDraft:
    """Place the turns, extract facts from new ones, embed the text of every route."""
    placement = place_conversation(
        namespace, redact_conversation(conversation) if namespace.redacts else conversation, namespace.now
    )
    turns = [*placement.stored, *placement.fresh]
    context = ConversationContext(
        conversation.session, conversation.user, placement.session.agent, placement.stored[-CONTEXT_TURNS:]
    )
    # Without extraction, the rules still provide the facets.
    extracted = extract_facts(settings.RECALL_EXTRACTOR if extract else "rules", placement.fresh, context)
    previous = previous_turns(turns)
    contexts = [with_previous_turn(new, previous) for new in extracted] if extract else []
    session_exchanges = split_exchanges(turns)
    routes = changed_route_texts(namespace, session_exchanges, placement.fresh, extracted, context)
    embedded = EmbeddedTexts.embed(
        namespace.embedder, [*contexts, *(text for route_texts in routes.values() for text in route_texts.values())]
    )
    prepared_facts = prepare_memories(namespace, extracted, load_registry(namespace)) if extract and extracted else None
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
