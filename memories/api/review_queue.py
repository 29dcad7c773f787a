"""The review queue over REST: near-duplicate pairs for a person to decide."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer
from memories.api.write_errors import WriteView
from memories.models import ReviewItem
from memories.models.choices import Role, Verdict
from memories.web.fields import OneOf
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.review_items import DecisionSerializer, review_items, review_items_with_memories
from memories.writing.review import decide_review


class ReviewQuery(PageQuery):
    """Filters of the review list."""

    state = OneOf(
        choices=Verdict.values,
        default=Verdict.PENDING,
        help_text="pending: undecided and both memories active; otherwise the verdict",
    )


class ReviewSerializer(serializers.Serializer[ReviewItem]):
    """A pair of memories and its verdict."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Verdict.choices)
    cosine = serializers.FloatField()
    why = serializers.CharField(
        source="reason", allow_blank=True, help_text="why it needs a review, or why it was decided"
    )
    first = MemorySerializer(help_text="the earlier memory; a duplicate is merged into it")
    second = MemorySerializer()
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(allow_blank=True)


class ReviewsView(WriteView):
    """The review queue."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="reviews",
        parameters=[ReviewQuery],
        responses=page_schema("ReviewPage", ReviewSerializer),
        tags=["reviews"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List near-duplicate pairs, newest first; a pair is hidden while one of its memories is not active."""
        query = ReviewQuery.from_request(request)
        return Response(
            paginate(request, self.namespace, review_items(self.namespace, query["state"]), query).to_dict(
                ReviewSerializer
            )
        )


class DecideView(WriteView):
    """A person's verdict on a pair."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="decide", request=DecisionSerializer, responses=ReviewSerializer, tags=["reviews"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Decide a pair: duplicates are merged into the earlier one, distinct ones stay, contradictions lose belief."""
        verdict = Verdict(DecisionSerializer.from_request(request)["verdict"])
        item = decide_review(self.namespace, id, verdict, by=self.access.caller)
        self.memory_ids = [item.first_id, item.second_id]
        return Response(ReviewSerializer(review_items_with_memories(self.namespace).get(id=id)).data)
