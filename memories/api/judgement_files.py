"""Judgement sets as files over REST (NDJSON and TREC), and their pools."""

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

from memories.api.base_view import NamespacedView
from memories.api.idempotency import HEADER, idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgement_serializers import StoredCountsSerializer
from memories.api.judgement_sets import stored_counts
from memories.api.parsers import StrictJSONParser
from memories.api.transfer import NdjsonParser, NdjsonRenderer, request_stream
from memories.contracts.json_lines import MEDIA_TYPE
from memories.jobs import tuning_jobs
from memories.models.choices import Role
from memories.tuning import judgement_pooling, judgement_store, judging_queue, trec
from memories.tuning.parsed_judgements import ParsedJudgements
from memories.web.fields import Flag, Integer
from memories.web.judgement_bodies import MAX_BODY_BYTES, JudgementExportQuery, PoolRequest, TrecFiles
from memories.web.judgement_import import NewJudgedQuery, parse_judgement_lines, valid_queries
from memories.web.judgement_lookups import judgement_set_or_404
from memories.web.line_stream import PLAIN_TEXT, stream_judgement_set
from memories.web.serializers import QueryString

MAX_PAIRS = 200


class JudgementImportQuery(QueryString):
    """Import options."""

    dry_run = Flag(in_query=True, default=False, help_text="validate only, store nothing")


class PlainTextRenderer(BaseRenderer):
    """Plain text; the view writes the stream itself."""

    media_type = PLAIN_TEXT
    format = "txt"


class PoolQuery(QueryString):
    """How much of a pool to return."""

    k = Integer(
        in_query=True,
        min_value=1,
        max_value=judgement_pooling.MAX_K,
        default=judgement_pooling.DEFAULT_K,
        help_text="cutoff of unjudged@k",
    )
    limit = Integer(in_query=True, min_value=0, max_value=MAX_PAIRS, default=50, help_text="maximum number of pairs")


class UnjudgedShareSerializer(serializers.Serializer[Any]):
    """Unjudged results of one configuration."""

    name = serializers.CharField()
    found = serializers.IntegerField(help_text="its top k results over all queries")
    unjudged = serializers.IntegerField(help_text="of them, results without a grade")
    share = serializers.FloatField(help_text="unjudged@k")


class PoolPairSerializer(serializers.Serializer[Any]):
    """A query-memory pair to judge."""

    query = serializers.UUIDField(source="query_id")
    memory = serializers.UUIDField(source="memory_id")
    ranks = serializers.DictField(child=serializers.IntegerField(), help_text="its rank under each configuration")


class PoolSerializer(serializers.Serializer[Any]):
    """The last pool of a judgement set, with the current grades."""

    job = JobSerializer(allow_null=True, help_text="the job that is rebuilding the pool; null: none")
    configs = UnjudgedShareSerializer(many=True)
    left = serializers.IntegerField(help_text="pairs without a grade")
    pairs = PoolPairSerializer(many=True, help_text="what to judge next: found by most configurations first")


class JudgementImportView(NamespacedView):
    """Import of judged queries."""

    roles = {"POST": Role.WRITE}
    parser_classes = [NdjsonParser, StrictJSONParser]
    body_limit = MAX_BODY_BYTES

    @extend_schema(
        operation_id="import_judgements",
        parameters=[JudgementImportQuery],
        request={MEDIA_TYPE: NewJudgedQuery, "application/json": TrecFiles},
        responses=StoredCountsSerializer,
        tags=["judgements"],
    )
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Import queries: NDJSON, one query per line, or both TREC files in one JSON body; all or none.

        A repeated import finds its own queries and counts nothing twice, so an `Idempotency-Key` is rejected.
        """
        dry_run = JudgementImportQuery.from_request(request)["dry_run"]
        judgement_set = judgement_set_or_404(self.namespace, id)
        if HEADER in request.headers:
            raise ValidationError({HEADER: ["must not be sent with a file, which is safe to retry; got one"]})
        queries = valid_queries(self.parse_queries(request))
        if dry_run:
            return Response(
                {"queries": len(queries), "added": 0, "grades": sum(len(query.grades) for query in queries)}
            )
        return Response(stored_counts(judgement_store.store_queries(judgement_set, queries, by=self.access.caller)))

    def parse_queries(self, request: Request) -> ParsedJudgements:
        """Parse the body by its content type."""
        parser = self.get_content_negotiator().select_parser(request, self.get_parsers())
        if parser is None:
            raise UnsupportedMediaType(request.content_type)
        if isinstance(parser, NdjsonParser):
            return parse_judgement_lines(self.namespace, request_stream(request))
        return trec.read_trec(self.namespace, **TrecFiles.from_request(request))


class JudgementExportView(NamespacedView):
    """Export of a judgement set."""

    roles = {"GET": Role.READ}
    renderer_classes = [NdjsonRenderer, PlainTextRenderer, JSONRenderer]

    @extend_schema(
        operation_id="export_judgements",
        parameters=[JudgementExportQuery],
        responses={
            (200, MEDIA_TYPE): NewJudgedQuery,
            (200, PLAIN_TEXT): OpenApiResponse(str, "A TREC file, with shape=qrels or shape=queries."),
        },
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> StreamingHttpResponse:
        """Export a judgement set as NDJSON that `import/` accepts, or as TREC qrels and queries."""
        options = JudgementExportQuery.from_request(request)
        return stream_judgement_set(judgement_set_or_404(self.namespace, id), **options)


class PoolView(NamespacedView):
    """The pooled results of several configurations for a judgement set."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="pool", parameters=[PoolQuery], responses=PoolSerializer, tags=["judgements"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Return a pool: the unjudged share of each configuration's results, and what to judge next."""
        query, judgement_set = PoolQuery.from_request(request), judgement_set_or_404(self.namespace, id)
        unjudged = judging_queue.unjudged_pairs(self.namespace, judgement_set.id, max(query["limit"], 1))
        pool = {
            "job": judgement_pooling.unfinished_pool_job(self.namespace, judgement_set.id),
            "configs": judgement_pooling.unjudged_shares(self.namespace, judgement_set.id, query["k"]),
            "left": unjudged[0].left if unjudged else 0,
            "pairs": unjudged[: query["limit"]],
        }
        return Response(PoolSerializer(pool).data)

    @extend_schema(operation_id="start_pool", request=PoolRequest, responses={202: JobSerializer}, tags=["judgements"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Rebuild a pool as a job: every configuration runs every query, without traces."""
        body, judgement_set = PoolRequest.from_request(request), judgement_set_or_404(self.namespace, id)
        try:
            job = tuning_jobs.submit_pool_job(judgement_set, body["configs"], body["k"], by=self.access.caller)
        except judgement_pooling.UnknownConfigError as error:
            raise ValidationError({"configs": [str(error)]}) from error
        location = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})
