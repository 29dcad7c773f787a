"""What a namespace is and holds."""

from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Flag, Text
from memories.api.idempotency import idempotent
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import Entity, EntityEdge, Memory, Namespace, ReviewItem, Session
from memories.models.choices import STATEMENTS, Mode, Role, Status, Verdict


class HoldingsSerializer(serializers.Serializer[Any]):
    """How much a namespace holds."""

    memories = serializers.DictField(child=serializers.IntegerField(), help_text="by status")
    chunks = serializers.IntegerField(help_text="exchanges and sessions that can be found")
    entities = serializers.IntegerField()
    edges = serializers.IntegerField(help_text="between entities")
    sessions = serializers.IntegerField()
    reviews = serializers.IntegerField(help_text="pairs that wait for a person")


class NamespaceSerializer(serializers.Serializer[Any]):
    """A namespace, as its caller sees it."""

    slug = serializers.CharField()
    title = serializers.CharField()
    mode = serializers.ChoiceField(choices=Mode.choices)
    embedder = serializers.CharField()
    redacts = serializers.BooleanField(help_text="whether keys, card numbers and e-mail addresses are blacked out")
    clock = serializers.DateTimeField(allow_null=True, help_text="the moment it takes for now; null: real time")
    created_at = serializers.DateTimeField()
    role = serializers.ChoiceField(choices=Role.choices, help_text="what you may do in it")
    counts = HoldingsSerializer()


class NamespaceChange(Object):
    """What may change of a namespace; what is not named stays."""

    title = Text(max_length=200, required=False)
    mode = Choice(choices=Mode.values, required=False)
    redacts = Flag(required=False, help_text="from now on; what is stored stays as it is")


class NamespaceFacts(NamespacedView):
    """A namespace's facts."""

    roles = {"GET": Role.READ, "PATCH": Role.ADMIN}

    @extend_schema(operation_id="namespace", responses=NamespaceSerializer, tags=["namespaces"])
    def get(self, request: Request, namespace: str) -> Response:
        """Tell what a namespace is and how much it holds."""
        Query.of(request)
        return Response(self._facts())

    @extend_schema(
        operation_id="change_namespace", request=NamespaceChange, responses=NamespaceSerializer, tags=["namespaces"]
    )
    @idempotent
    def patch(self, request: Request, namespace: str) -> Response:
        """Change a namespace's title, what it is for, or whether it blacks out secrets."""
        change = NamespaceChange.of(request)
        for name, value in change.items():
            setattr(self.namespace, name, value)
        if change:
            self.namespace.save(update_fields=change)
        return Response(self._facts())

    def _facts(self) -> Any:
        facts = vars(self.namespace) | {"role": self.access.role, "counts": counts(self.namespace)}
        return NamespaceSerializer(facts).data


def counts(namespace: Namespace) -> dict[str, Any]:
    """Count what a namespace holds, one question for each table."""
    stated = Q(level__in=STATEMENTS)
    by_status = {status: Count("id", filter=stated & Q(status=status)) for status in Status.values}
    counted = Memory.objects.within(namespace).aggregate(
        **by_status, chunks=Count("id", filter=~stated & Q(status=Status.ACTIVE))
    )
    return {
        "chunks": counted.pop("chunks"),
        "memories": counted,
        "entities": Entity.objects.within(namespace).count(),
        "edges": EntityEdge.objects.within(namespace).count(),
        "sessions": Session.objects.within(namespace).count(),
        "reviews": ReviewItem.objects.within(namespace).filter(state=Verdict.PENDING).count(),
    }
