"""Conversations over REST: turns in, and what was made of them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Flag, Items, JsonObject, Moment, Text, Whole
from memories.api.idempotency import idempotent
from memories.api.memories import LONGEST_CONTENT, OutcomeSerializer
from memories.api.names import Name
from memories.api.refusals import Conflict
from memories.api.serializers import Object
from memories.api.times import check_past
from memories.api.views import NamespacedView
from memories.models.choices import ChunkLevel, Role, Route, TurnRole
from memories.turns.conversation import Conversation, NewTurn, PlaceTakenError
from memories.turns.hearing import Heard, hear

MOST_TURNS = 200
LAST_POSITION = 1_000_000_000


class NewTurnSerializer(Object):
    """One utterance."""

    role = Choice(choices=TurnRole.values)
    text = Text(max_length=LONGEST_CONTENT)
    speaker = Name(max_length=200, allow_blank=True, default="", help_text="the name of who speaks")
    said_at = Moment(required=False, help_text="else that of the turn before, else now; “yesterday” is seen from here")
    metadata = JsonObject(default=dict)
    position = Whole(
        min_value=1, max_value=LAST_POSITION, required=False, help_text="counts from 1; else after the last"
    )


class ConversationSerializer(Object):
    """Turns of one session."""

    session = Text(max_length=200, help_text="your name for it; the same name goes on with the same session")
    user = Text(max_length=200, allow_blank=True, default="")
    agent = Text(max_length=200, allow_blank=True, default="")
    title = Text(max_length=200, allow_blank=True, default="")
    turns = Items(child=NewTurnSerializer(), min_length=1, max_length=MOST_TURNS)
    extract = Flag(default=True, help_text="whether memories are made of what is said")


class TurnSerializer(serializers.Serializer[Any]):
    """A turn as it is stored."""

    id = serializers.UUIDField()
    position = serializers.IntegerField()
    role = serializers.CharField()
    speaker = serializers.CharField(allow_blank=True)
    said_at = serializers.DateTimeField()
    already_there = serializers.BooleanField(help_text="it was stored before, and is not stored twice")


class TurnOutcomeSerializer(OutcomeSerializer):
    """What became of a memory that a turn says."""

    turn = serializers.UUIDField()


class ChunkSerializer(serializers.Serializer[Any]):
    """An exchange or a session as a memory."""

    memory = serializers.UUIDField()
    level = serializers.ChoiceField(choices=[ChunkLevel.TURN, ChunkLevel.SESSION])
    turn = serializers.UUIDField(allow_null=True, help_text="the turn it begins with; null for a session")
    routes = serializers.ListField(
        child=serializers.ChoiceField(choices=Route.values), help_text="the vectors that are new"
    )


class HeardSerializer(serializers.Serializer[Any]):
    """What became of a conversation."""

    session = serializers.UUIDField()
    turns = TurnSerializer(many=True)
    memories = TurnOutcomeSerializer(many=True)
    chunks = ChunkSerializer(many=True)


class Turns(NamespacedView):
    """Conversations."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="hear",
        request=ConversationSerializer,
        responses={201: HeardSerializer, 200: HeardSerializer},
        tags=["turns"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Store turns of a session; memories are made of what they say, and chunks of the exchanges and the session."""
        body = ConversationSerializer.of(request)
        for place, turn in enumerate(body["turns"]):
            try:
                check_past(self.namespace, turn, "said_at")
            except ValidationError as error:
                raise ValidationError({"turns": {str(place): error.detail}}) from error
        extract = body.pop("extract")
        said = Conversation(**body | {"turns": [NewTurn(**turn) for turn in body["turns"]]})
        try:
            heard = hear(self.namespace, said, by=self.access.caller, extract=extract)
        except PlaceTakenError as error:
            at = f"turns.{error.place}.position"
            raise Conflict(
                "A turn cannot stand where it wants to.", errors=[{"at": at, "message": str(error)}]
            ) from None
        self.memory_ids = [outcome.memory.id for _, outcome in heard.outcomes]
        self.memory_ids += [chunk.memory.id for chunk in heard.chunks]
        return Response(answer(heard), status=201 if heard.fresh else 200)


def answer(heard: Heard) -> dict[str, Any]:
    """What became of a conversation, as it is served."""
    return {
        "session": str(heard.session.id),
        "turns": [
            TurnSerializer({**vars(turn), "already_there": turn.id not in heard.fresh}).data for turn in heard.turns
        ],
        "memories": [{"turn": str(turn), **OutcomeSerializer(outcome).data} for turn, outcome in heard.outcomes],
        "chunks": [
            {
                "memory": str(chunk.memory.id),
                "level": chunk.memory.level,
                "turn": chunk.memory.turn_id and str(chunk.memory.turn_id),
                "routes": sorted(chunk.vectors),
            }
            for chunk in heard.chunks
        ],
    }
