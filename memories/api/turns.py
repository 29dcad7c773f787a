"""Conversations over REST: ingest turns, return the memories and chunks made from them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.memories import OutcomeSerializer
from memories.models.choices import ChunkLevel, Role, Route
from memories.web.http_errors import Conflict
from memories.web.turns_body import ConversationSerializer, conversation_from_body
from memories.writing.turns.conversation import PositionTakenError
from memories.writing.turns.ingest import IngestResult, ingest


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
        conversation, extract = conversation_from_body(self.namespace, body), body["extract"]
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
