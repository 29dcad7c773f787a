"""The forms of the Add data page as request bodies."""

import re
from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from memories.contracts.new_memory import NewMemory
from memories.models import Namespace
from memories.transfer.columns import COLUMN_NAMES
from memories.transfer.transcript import UnreadableTranscriptError, parse_transcript
from memories.web.memory_body import NewMemorySerializer, new_memory_from_body
from memories.web.turns_body import ConversationSerializer, conversation_from_body
from memories.writing.decide import Outcome
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation

MEMORY_FIELDS = ("content", "type", "subject", "user")


def memory_body(form: QueryDict) -> dict[str, Any]:
    """The form of one memory as a body; it is stated directly."""
    body: dict[str, Any] = {name: text for name in MEMORY_FIELDS if (text := form.get(name, "").strip())}
    tags = [tag.strip() for tag in re.split(r"[,;]", form.get("tags", "")) if tag.strip()]
    return body | ({"tags": tags} if tags else {}) | {"source_level": "direct"}


def remember_one(namespace: Namespace, body: dict[str, Any], *, by: str) -> Outcome:
    """Store one memory (ValidationError)."""
    new: NewMemory = new_memory_from_body(namespace, NewMemorySerializer.validate_input(body), set())
    [outcome] = remember(namespace, [new], by=by)
    return outcome


def conversation_body(form: QueryDict) -> dict[str, Any]:
    """The form of a conversation as a body (ValidationError)."""
    try:
        turns = parse_transcript(form.get("transcript", ""))
    except UnreadableTranscriptError as error:
        raise ValidationError({"conversation": [str(error)]}) from error
    named = {name: text for name in ("session", "user") if (text := form.get(name, "").strip())}
    return {**named, "turns": turns}


def valid_conversation(namespace: Namespace, body: dict[str, Any]) -> Conversation:
    """The conversation of a body (ValidationError)."""
    return conversation_from_body(namespace, ConversationSerializer.validate_input(body))


def selected_columns(form: QueryDict) -> dict[str, str]:
    """The column of each field of a memory, as selected."""
    return {field: column for field in COLUMN_NAMES if (column := form.get(f"column.{field}", ""))}
