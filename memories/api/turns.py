"""Conversations over REST: ingest turns, return the memories and chunks made from them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.memories import OutcomeSerializer
from memories.contracts.text_limits import MAX_CONTENT_CHARS
from memories.models.choices import ChunkLevel, Role, Route, TurnRole
from memories.web.entity_name import EntityName
from memories.web.fields import DateTime, Flag, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.http_errors import Conflict
from memories.web.memory_body import SOURCE_HELP
from memories.web.serializers import StrictObject
from memories.web.timestamp_checks import check_not_future
from memories.writing.turns.conversation import Conversation, NewTurn, PositionTakenError
from memories.writing.turns.ingest import IngestResult, ingest

MAX_TURNS = 200
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


class TurnSerializer(serializers.Serializer[Any]):
    """A stored turn."""

    id = serializers.UUIDField()
    position = serializers.IntegerField()
    role = serializers.CharField()
    speaker = serializers.CharField(allow_blank=True)
    said_at = serializers.DateTimeField()
    already_there = serializers.BooleanField(help_text="it was stored before and is not stored again")


class TurnOutcomeSerializer(OutcomeSerializer):
    """The outcome of a memory extracted from a turn."""

    turn = serializers.UUIDField()


class ChunkSerializer(serializers.Serializer[Any]):
    """An exchange or a session stored as a memory."""

    memory = serializers.UUIDField()
    level = serializers.ChoiceField(choices=[ChunkLevel.TURN, ChunkLevel.SESSION])
    turn = serializers.UUIDField(allow_null=True, help_text="its first turn; null for a session")
    vectors = serializers.ListField(child=serializers.ChoiceField(choices=Route.values), help_text="the new vectors")


class IngestOutcomeSerializer(serializers.Serializer[Any]):
    """The outcome of an ingested conversation."""

    session = serializers.UUIDField()
    turns = TurnSerializer(many=True)
    memories = TurnOutcomeSerializer(many=True)
    chunks = ChunkSerializer(many=True)


class TurnsView(NamespacedView):
    """Ingestion of conversations."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="ingest_turns",
        request=ConversationSerializer,
        responses={201: IngestOutcomeSerializer, 200: IngestOutcomeSerializer},
        tags=["turns"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Store turns of a session; extract memories from them, and build chunks of the exchanges and the session."""
        body = ConversationSerializer.from_request(request)
        for index, turn in enumerate(body["turns"]):
            try:
                check_not_future(self.namespace, turn, "said_at")
            except ValidationError as error:
                raise ValidationError({"turns": {str(index): error.detail}}) from error
        extract = body.pop("extract")
        conversation = Conversation(**body | {"turns": [NewTurn(**turn) for turn in body["turns"]]})
        try:
            ingested = ingest(self.namespace, conversation, by=self.access.caller, extract=extract)
        except PositionTakenError as error:
            at = f"turns.{error.index}.position"
            raise Conflict(
                "The position of a turn is already taken.", errors=[{"at": at, "message": str(error)}]
            ) from None
        self.memory_ids = [outcome.memory.id for _, outcome in ingested.outcomes]
        self.memory_ids += [chunk.memory.id for chunk in ingested.chunks]
        return Response(ingest_outcome_to_dict(ingested), status=201 if ingested.fresh else 200)


def ingest_outcome_to_dict(ingested: IngestResult) -> dict[str, Any]:
    """The outcome of an ingested conversation as JSON."""
    return {
        "session": str(ingested.session.id),
        "turns": [
            TurnSerializer({**vars(turn), "already_there": turn.id not in ingested.fresh}).data
            for turn in ingested.turns
        ],
        "memories": [{"turn": str(turn), **OutcomeSerializer(outcome).data} for turn, outcome in ingested.outcomes],
        "chunks": [
            {
                "memory": str(chunk.memory.id),
                "level": chunk.memory.level,
                "turn": chunk.memory.turn_id and str(chunk.memory.turn_id),
                "vectors": sorted(chunk.vectors),
            }
            for chunk in ingested.chunks
        ],
    }
