"""A namespace over REST: its properties and row counts."""

from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.models import Entity, EntityEdge, Memory, Namespace, ReviewItem, Session
from memories.models.choices import STATEMENTS, Mode, Role, Status, Verdict
from memories.retrieval.config import serving_description
from memories.web.namespace_bodies import NamespaceChange
from memories.web.serializers import QueryString
from memories.writing.write_policy import current_write_policy


class NamespaceCountsSerializer(serializers.Serializer[Any]):
    """Row counts of a namespace."""

    memories = serializers.DictField(child=serializers.IntegerField(), help_text="by status")
    chunks = serializers.IntegerField(help_text="retrievable exchanges and sessions")
    entities = serializers.IntegerField()
    edges = serializers.IntegerField(help_text="relations between entities")
    sessions = serializers.IntegerField()
    reviews = serializers.IntegerField(help_text="pairs pending review")


class NamespaceSerializer(serializers.Serializer[Any]):
    """A namespace, and the caller's role in it."""

    slug = serializers.CharField()
    title = serializers.CharField()
    mode = serializers.ChoiceField(
        choices=Mode.choices, help_text="what it serves until a profile is published, and contextdb's preset"
    )
    serving = serializers.CharField(help_text="the profile version that is served, or the system and its preset")
    embedder = serializers.CharField()
    thresholds_for = serializers.CharField(
        help_text="the embedder that the served cosine thresholds were set for; another than `embedder`: a policy was"
        " tuned for it, or none were measured for this one"
    )
    redacts = serializers.BooleanField(help_text="whether keys, card numbers and e-mail addresses are redacted")
    clock = serializers.DateTimeField(allow_null=True, help_text="its fixed current time; null: real time")
    created_at = serializers.DateTimeField()
    role = serializers.ChoiceField(choices=Role.choices, help_text="role of the caller")
    counts = NamespaceCountsSerializer()


class NamespaceView(NamespacedView):
    """The properties of a namespace."""

    roles = {"GET": Role.READ, "PATCH": Role.ADMIN}

    @extend_schema(operation_id="namespace", responses=NamespaceSerializer, tags=["namespaces"])
    def get(self, request: Request, namespace: str) -> Response:
        """Read a namespace's properties and row counts."""
        QueryString.from_request(request)
        return Response(self._to_dict())

    @extend_schema(
        operation_id="change_namespace", request=NamespaceChange, responses=NamespaceSerializer, tags=["namespaces"]
    )
    @idempotent
    def patch(self, request: Request, namespace: str) -> Response:
        """Change a namespace's title, mode or redaction of secrets."""
        change = NamespaceChange.from_request(request)
        for name, value in change.items():
            setattr(self.namespace, name, value)
        if change:
            self.namespace.save(update_fields=change)
        return Response(self._to_dict())

    def _to_dict(self) -> Any:
        values = vars(self.namespace) | {
            "thresholds_for": current_write_policy(self.namespace).thresholds_for,
            "role": self.access.role,
            "serving": serving_description(self.namespace),
            "counts": namespace_counts(self.namespace),
        }
        return NamespaceSerializer(values).data


def namespace_counts(namespace: Namespace) -> dict[str, Any]:
    """Row counts of a namespace, one SQL query per table."""
    is_statement = Q(level__in=STATEMENTS)
    by_status = {status: Count("id", filter=is_statement & Q(status=status)) for status in Status.values}
    memory_counts = Memory.objects.within(namespace).aggregate(
        **by_status, chunks=Count("id", filter=~is_statement & Q(status=Status.ACTIVE))
    )
    return {
        "chunks": memory_counts.pop("chunks"),
        "memories": memory_counts,
        "entities": Entity.objects.within(namespace).count(),
        "edges": EntityEdge.objects.within(namespace).count(),
        "sessions": Session.objects.within(namespace).count(),
        "reviews": ReviewItem.objects.within(namespace).filter(state=Verdict.PENDING).count(),
    }
