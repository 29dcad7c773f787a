"""Conversations as request bodies."""

from typing import Any

from rest_framework.exceptions import ValidationError

from memories.contracts.text_limits import MAX_CONTENT_CHARS, MAX_TURNS
from memories.models import Namespace
from memories.models.choices import TurnRole
from memories.web.entity_name import EntityName
from memories.web.fields import DateTime, Flag, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.memory_body import SOURCE_HELP
from memories.web.serializers import StrictObject
from memories.web.timestamp_checks import check_not_future
from memories.writing.turns.conversation import Conversation, NewTurn

MAX_POSITION = 1_000_000_000


class NewTurnSerializer(StrictObject):
    """One utterance."""

    role = OneOf(choices=TurnRole.values)
    text = Text(max_length=MAX_CONTENT_CHARS)
    speaker = EntityName(max_length=200, allow_blank=True, default="", help_text="name of the speaker")
    said_at = DateTime(
        required=False, help_text="default: as the turn before, else now; anchors relative dates like “yesterday”"
    )
    metadata = JsonObject(default=dict)
    position = Integer(
        min_value=1, max_value=MAX_POSITION, required=False, help_text="from 1; default: after the last turn"
    )


class ConversationSerializer(StrictObject):
    """Turns of one session."""

    session = Text(max_length=200, help_text="the caller's id of the session; the same id continues it")
    user = Text(max_length=200, allow_blank=True, default="")
    agent = Text(max_length=200, allow_blank=True, default="")
    title = Text(max_length=200, allow_blank=True, default="")
    source = Text(max_length=200, allow_blank=True, default="", help_text=SOURCE_HELP)  # type: ignore[assignment]
    turns = ListOf(child=NewTurnSerializer(), min_length=1, max_length=MAX_TURNS)
    extract = Flag(default=True, help_text="whether to extract memories from the turns")


def conversation_from_body(namespace: Namespace, body: dict[str, Any]) -> Conversation:
    """A Conversation from a validated body; turns of the future are rejected."""
    for index, turn in enumerate(body["turns"]):
        try:
            check_not_future(namespace, turn, "said_at")
        except ValidationError as error:
            raise ValidationError({"turns": {str(index): error.detail}}) from error
    values = {name: value for name, value in body.items() if name != "extract"}
    return Conversation(**values | {"turns": [NewTurn(**turn) for turn in body["turns"]]})
