"""Pairs of memories too close to call: listed for a person, and decided."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import ActingView
from memories.api.fields import Choice
from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer
from memories.api.paging import PageQuery, page, paged
from memories.api.serializers import Object
from memories.models import Namespace, ReviewItem
from memories.models.choices import Role, Status, Verdict
from memories.models.keys import NamespacedQuerySet
from memories.writing.reviewing import decide


class ReviewQuery(PageQuery):
    """Which pairs."""

    state = Choice(
        choices=Verdict.values,
        default=Verdict.PENDING,
        help_text="pending: undecided, and both memories active; else what was decided",
    )


class DecisionSerializer(Object):
    """What a person makes of a pair."""

    verdict = Choice(choices=[one for one in Verdict.values if one != Verdict.PENDING])


class ReviewSerializer(serializers.Serializer[ReviewItem]):
    """A pair of memories, and what became of it."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Verdict.choices)
    cosine = serializers.FloatField()
    why = serializers.CharField(
        source="reason", allow_blank=True, help_text="why a person should look, or why it was decided"
    )
    first = MemorySerializer(help_text="the earlier one, which a duplicate is merged into")
    second = MemorySerializer()
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(allow_blank=True)


class Reviews(ActingView):
    """The pairs that wait for a person."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="reviews",
        parameters=[ReviewQuery],
        responses=paged("ReviewPage", ReviewSerializer),
        tags=["reviews"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List pairs of memories too close to call, newest first; a pair rests while one of them is not active."""
        query = ReviewQuery.of(request)
        return Response(
            page(request, self.namespace, pairs(self.namespace, query["state"]), query).answer(ReviewSerializer)
        )


class Decide(ActingView):
    """A person's verdict on a pair."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="decide", request=DecisionSerializer, responses=ReviewSerializer, tags=["reviews"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Decide a pair: a duplicate is merged into the earlier one, distinct ones stay, a contradiction costs both."""
        verdict = Verdict(DecisionSerializer.of(request)["verdict"])
        item = decide(self.namespace, id, verdict, by=self.access.caller)
        self.memory_ids = [item.first_id, item.second_id]
        return Response(ReviewSerializer(with_memories(self.namespace).get(id=id)).data)


def with_memories(namespace: Namespace) -> NamespacedQuerySet[ReviewItem]:
    """Give pairs with both memories and their tags, three questions for all."""
    items = ReviewItem.objects.within(namespace).select_related("first", "second")
    return items.prefetch_related("first__tags", "second__tags")


def pairs(namespace: Namespace, state: str) -> NamespacedQuerySet[ReviewItem]:
    """Give the pairs of a state; among those that wait, only what can be decided."""
    chosen: dict[str, Any] = {"state": state}
    if state == Verdict.PENDING:
        chosen |= {"first__status": Status.ACTIVE, "second__status": Status.ACTIVE}
    return with_memories(namespace).filter(**chosen)
