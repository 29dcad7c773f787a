"""Annotations over REST: annotators' labels of memories, in batches."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.models import Annotation
from memories.models.annotation import MAX_DOMAIN_LENGTH
from memories.models.choices import MemoryType, Role, Status
from memories.tuning.annotation_records import NewAnnotation, annotate
from memories.web.annotation_bodies import AnnotationBatchSerializer
from memories.web.fields import Identifier, Text
from memories.web.http_errors import unknown_memory_error
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.writing.write_errors import NotFoundError


class AnnotationQuery(PageQuery):
    """Filters of the annotation list."""

    annotator = Text(max_length=200, required=False)
    memory = Identifier(required=False)
    domain = Text(max_length=MAX_DOMAIN_LENGTH, required=False)


class AnnotationSerializer(serializers.Serializer[Annotation]):
    """One annotator's label of a memory."""

    id = serializers.UUIDField()
    memory = serializers.UUIDField(source="memory_id")
    annotator = serializers.CharField()
    type = serializers.ChoiceField(choices=MemoryType.choices)
    right = serializers.BooleanField()
    confidence = serializers.FloatField()
    domain = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class AnnotationCountsSerializer(serializers.Serializer[Any]):
    """How many annotations were stored."""

    added = serializers.IntegerField()
    replaced = serializers.IntegerField(help_text="earlier annotations of the same memory by the same annotator")


class AnnotationsView(NamespacedView):
    """The annotations of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="annotations",
        parameters=[AnnotationQuery],
        responses=page_schema("AnnotationPage", AnnotationSerializer),
        tags=["calibration"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List annotations, newest first."""
        query = AnnotationQuery.from_request(request)
        columns = {"annotator": "annotator", "memory": "memory_id", "domain": "domain"}
        filters = {column: query[name] for name, column in columns.items() if name in query}
        rows = Annotation.objects.within(self.namespace).exclude(memory__status=Status.FORGOTTEN)
        return Response(paginate(request, self.namespace, rows.filter(**filters), query).to_dict(AnnotationSerializer))

    @extend_schema(
        operation_id="annotate",
        request=AnnotationBatchSerializer,
        responses=AnnotationCountsSerializer,
        tags=["calibration"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Store up to 1,000 annotations, all or none; an annotator's new label of a memory replaces the earlier one."""
        items = AnnotationBatchSerializer.from_request(request)["annotations"]
        annotations = [NewAnnotation(**item) for item in items]
        try:
            counts = annotate(self.namespace, annotations)
        except NotFoundError as error:
            raise annotation_memory_error(error, annotations) from error
        self.memory_ids = [annotation.memory for annotation in annotations]
        return Response(AnnotationCountsSerializer(counts._asdict()).data)


def annotation_memory_error(error: NotFoundError, annotations: list[NewAnnotation]) -> ValidationError:
    """A validation error at the annotation whose memory does not exist."""
    index = next(index for index, annotation in enumerate(annotations) if annotation.memory == error.id)
    return unknown_memory_error(error, f"annotations.{index}.memory")
