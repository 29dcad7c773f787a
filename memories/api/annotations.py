"""Annotations over REST: what people say of memories, many at a time."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import at_place
from memories.api.fields import Choice, Flag, Identifier, Items, Real, Text
from memories.api.idempotency import idempotent
from memories.api.paging import PageQuery, page, paged
from memories.api.serializers import Object
from memories.api.views import NamespacedView
from memories.models import Annotation
from memories.models.choices import MemoryType, Role, Status
from memories.tuning.annotating import NewAnnotation, annotate
from memories.writing.refusal import AbsentError

TOGETHER = 1_000


class AnnotationQuery(PageQuery):
    """Which annotations."""

    annotator = Text(max_length=200, required=False)
    memory = Identifier(required=False)


class NewAnnotationSerializer(Object):
    """One annotator's word on a memory."""

    memory = Identifier()
    annotator = Text(max_length=200, help_text="who says so; agreement is told between names")
    type = Choice(choices=MemoryType.values, help_text="the type the annotator would give it")
    right = Flag(help_text="whether it is so")
    confidence = Real(min_value=0, max_value=1, help_text="the confidence the annotator would give it")


class AnnotationsSerializer(Object):
    """Annotations to be kept."""

    annotations = Items(child=NewAnnotationSerializer(), max_length=TOGETHER, min_length=1)


class AnnotationSerializer(serializers.Serializer[Annotation]):
    """One annotator's word on a memory."""

    id = serializers.UUIDField()
    memory = serializers.UUIDField(source="memory_id")
    annotator = serializers.CharField()
    type = serializers.ChoiceField(choices=MemoryType.choices)
    right = serializers.BooleanField()
    confidence = serializers.FloatField()
    created_at = serializers.DateTimeField()


class AnnotatedSerializer(serializers.Serializer[Any]):
    """What became of annotations."""

    added = serializers.IntegerField()
    replaced = serializers.IntegerField(help_text="earlier words of the same annotator on the same memory")


class Annotations(NamespacedView):
    """The annotations of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="annotations",
        parameters=[AnnotationQuery],
        responses=paged("AnnotationPage", AnnotationSerializer),
        tags=["calibration"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List annotations, newest first."""
        query = AnnotationQuery.of(request)
        chosen = {name: query[name] for name in ("annotator",) if name in query}
        chosen |= {"memory_id": query["memory"]} if "memory" in query else {}
        known = Annotation.objects.within(self.namespace).exclude(memory__status=Status.FORGOTTEN)
        return Response(page(request, self.namespace, known.filter(**chosen), query).answer(AnnotationSerializer))

    @extend_schema(
        operation_id="annotate",
        request=AnnotationsSerializer,
        responses=AnnotatedSerializer,
        tags=["calibration"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Keep up to 1,000 annotations, all or none; what an annotator says again replaces what was said before."""
        asked = AnnotationsSerializer.of(request)["annotations"]
        news = [NewAnnotation(**one) for one in asked]
        try:
            kept = annotate(self.namespace, news)
        except AbsentError as error:
            raise absent(error, news) from error
        self.memory_ids = [new.memory for new in news]
        return Response(AnnotatedSerializer(kept._asdict()).data)


def absent(error: AbsentError, news: list[NewAnnotation]) -> ValidationError:
    """Say which of the annotations speaks of a memory that nobody knows."""
    place = next(place for place, new in enumerate(news) if new.memory == error.id)
    return at_place(error, f"annotations.{place}.memory")
