"""Extracted memories as memories to store."""

from collections.abc import Sequence
from dataclasses import asdict

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Turn
from memories.providers.extractor import extractor
from memories.text.extraction import ConversationContext, ExtractedMemory


def extract_facts(name: str, turns: Sequence[Turn], context: ConversationContext) -> list[NewMemory]:
    """The memories that an extractor finds in some turns."""
    return [to_new_memory(extracted, context) for extracted in extractor(name).extract(turns, context)]


def to_new_memory(extracted: ExtractedMemory, context: ConversationContext) -> NewMemory:
    """An extracted memory with its source and its conversation."""
    values = asdict(extracted)
    utterance = Utterance(values.pop("level"), values.pop("turn_id"))
    return NewMemory(
        **values,
        utterances=(utterance,),
        user=context.user,
        agent=context.agent,
        session=context.session,
        source=context.source,
    )
