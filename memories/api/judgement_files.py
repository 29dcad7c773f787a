"""Judged sets as files over REST, and their pools."""

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.bulk import LinesParser, LinesRenderer, stream_of, together
from memories.api.fields import Choice, Flag, Items, Text, Whole
from memories.api.idempotency import HEADER, idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgement_shapes import LARGEST, KeptSerializer
from memories.api.judgements import counted, set_of
from memories.api.parsers import StrictJSONParser
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.bulk.lines import MEDIA_TYPE
from memories.judging import pairs, pooling, reading, storing, trec
from memories.judging.exporting import SHAPES, exported
from memories.judging.references import METADATA
from memories.models import JudgementSet
from memories.models.choices import Role

PLAIN = "text/plain"
MOST_PAIRS = 200


class ImportQuery(Query):
    """How to import."""

    dry_run = Flag(in_query=True, default=False, help_text="check all of it, keep nothing")


class TrecFiles(Object):
    """Both files of TREC, as text."""

    queries = Text(max_length=LARGEST, trim_whitespace=False, help_text="lines of `qid⇥text`")
    qrels = Text(
        max_length=LARGEST, trim_whitespace=False, allow_blank=True, default="", help_text="`qid 0 docid grade`"
    )
    docid = Text(
        max_length=200, default=trec.ID, help_text="id: a memory's own; metadata.<key>: what stands there in metadata"
    )

    def validate_docid(self, name: str) -> str:
        """Refuse what names no column."""
        key = name.removeprefix(METADATA)
        if name != trec.ID and key in ("", name):
            raise ValidationError(f"must be {trec.ID}, or {METADATA} and a key; got {name}")
        return name


class ExportQuery(Query):
    """In which shape."""

    shape = Choice(choices=list(SHAPES), default=SHAPES[0], help_text="lines of JSON, or one of the two files of TREC")
    current = Flag(in_query=True, default=False, help_text="grades as they hold today, not as they were given")
    words = Flag(in_query=True, default=False, help_text="in JSON: memories by their words, for another namespace")


class PlainRenderer(BaseRenderer):
    """Lines of text; a view writes them itself."""

    media_type = PLAIN
    format = "txt"


class PoolRequest(Object):
    """By which settings to pool."""

    settings = Items(
        child=Text(max_length=120),
        max_length=pooling.MOST_SETTINGS,
        default=list,
        help_text="systems and profiles by name, or name@version; without any, what serves",
    )
    k = Whole(min_value=1, max_value=pooling.MOST_K, default=pooling.K, help_text="how many hits of each")


class PoolQuery(Query):
    """How much of a pool."""

    k = Whole(in_query=True, min_value=1, max_value=pooling.MOST_K, default=pooling.K, help_text="of unjudged@k")
    limit = Whole(in_query=True, min_value=0, max_value=MOST_PAIRS, default=50, help_text="pairs at most")


class ShareSerializer(serializers.Serializer[Any]):
    """How much of what a setting finds nobody has graded."""

    name = serializers.CharField()
    found = serializers.IntegerField(help_text="its first k hits over all queries")
    unjudged = serializers.IntegerField(help_text="of them, those without a grade")
    share = serializers.FloatField(help_text="unjudged@k")


class PairSerializer(serializers.Serializer[Any]):
    """A pair to be judged."""

    query = serializers.UUIDField(source="query_id")
    memory = serializers.UUIDField(source="memory_id")
    ranks = serializers.DictField(child=serializers.IntegerField(), help_text="its place in each setting's answer")


class PoolSerializer(serializers.Serializer[Any]):
    """What a set's last pool found, by the grades of this moment."""

    job = JobSerializer(allow_null=True, help_text="that makes the pool anew right now; null: none does")
    settings = ShareSerializer(many=True)
    left = serializers.IntegerField(help_text="pairs without a grade")
    pairs = PairSerializer(many=True, help_text="what to judge next: found by most settings first")


class JudgementImport(NamespacedView):
    """A file of judged queries in."""

    roles = {"POST": Role.WRITE}
    parser_classes = [LinesParser, StrictJSONParser]
    body_limit = LARGEST

    @extend_schema(
        operation_id="import_judgements",
        parameters=[ImportQuery],
        request={MEDIA_TYPE: reading.NewJudgedQuery, "application/json": TrecFiles},
        responses=KeptSerializer,
        tags=["judgements"],
    )
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Bring queries in: lines of JSON, one query each, or both files of TREC in one JSON body; all or none.

        Sent again, it finds its own queries and counts nothing twice, so an `Idempotency-Key` is refused.
        """
        dry_run = ImportQuery.of(request)["dry_run"]
        judged = set_of(self.namespace, id)
        if HEADER in request.headers:
            raise ValidationError({HEADER: ["must not come with a file, which is safe to send again; got one"]})
        brought = self.read(request).or_refused()
        if dry_run:
            return Response({"queries": len(brought), "added": 0, "grades": sum(len(one.grades) for one in brought)})
        return Response(counted(storing.keep(judged, brought, by=self.access.caller)))

    def read(self, request: Request) -> reading.Read:
        """What the body brings."""
        parser = self.get_content_negotiator().select_parser(request, self.get_parsers())
        if parser is None:
            raise UnsupportedMediaType(request.content_type)
        if isinstance(parser, LinesParser):
            return reading.lines(self.namespace, stream_of(request))
        return trec.read(self.namespace, **TrecFiles.of(request))


class JudgementExport(NamespacedView):
    """A set as a file."""

    roles = {"GET": Role.READ}
    renderer_classes = [LinesRenderer, PlainRenderer, JSONRenderer]

    @extend_schema(
        operation_id="export_judgements",
        parameters=[ExportQuery],
        responses={
            (200, MEDIA_TYPE): reading.NewJudgedQuery,
            (200, PLAIN): OpenApiResponse(str, "One of TREC's files, with shape=qrels or shape=queries."),
        },
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> StreamingHttpResponse:
        """Give a set as lines of JSON that `import/` takes, or as TREC's judgements and queries."""
        asked = ExportQuery.of(request)
        return streamed(set_of(self.namespace, id), **asked)


class Pool(NamespacedView):
    """What several settings find for a set's queries."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="pool", parameters=[PoolQuery], responses=PoolSerializer, tags=["judgements"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Show a set's pool: how much of each setting's hits is unjudged, and what to judge next."""
        asked, judged = PoolQuery.of(request), set_of(self.namespace, id)
        found = pairs.open_pairs(self.namespace, judged.id, max(asked["limit"], 1))
        told = {
            "job": pooling.running(self.namespace, judged.id),
            "settings": pooling.shares(self.namespace, judged.id, asked["k"]),
            "left": found[0].left if found else 0,
            "pairs": found[: asked["limit"]],
        }
        return Response(PoolSerializer(told).data)

    @extend_schema(operation_id="start_pool", request=PoolRequest, responses={202: JobSerializer}, tags=["judgements"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Have a set pooled anew by a worker: its queries are asked by each setting, without a trace."""
        asked, judged = PoolRequest.of(request), set_of(self.namespace, id)
        try:
            job = pooling.begin(judged, asked["settings"], asked["k"], by=self.access.caller)
        except pooling.SettingsError as error:
            raise ValidationError({"settings": [str(error)]}) from error
        address = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": address})


def streamed(judged: JudgementSet, *, shape: str, current: bool = False, words: bool = False) -> StreamingHttpResponse:
    """A set as a file that a browser saves under the set's name."""
    lines = exported(judged, shape, holding=current, words=words)
    type = MEDIA_TYPE if shape == SHAPES[0] else f"{PLAIN}; charset=utf-8"
    return StreamingHttpResponse(together(lines), content_type=type)
