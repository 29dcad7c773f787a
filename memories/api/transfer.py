"""Export of a namespace and import of memories: NDJSON, streamed both ways."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from memories.api.base_view import NamespacedView
from memories.api.idempotency import HEADER
from memories.contracts.json_lines import MEDIA_TYPE, LineReader, Stream, line_batches
from memories.models import Namespace
from memories.models.choices import Role
from memories.transfer.checkpoint import OUTCOMES
from memories.transfer.export import export_namespace
from memories.transfer.import_lines import import_lines
from memories.transfer.planner_statistics import StatisticsRefresh
from memories.web.fields import Flag
from memories.web.line_stream import join_lines
from memories.web.memory_body import NewMemorySerializer, validate_memories
from memories.web.serializers import QueryString

IMPORT_BATCH_SIZE = 500  # lines read, embedded and remembered per batch
SPOOL_MAX_BYTES = 1 << 20  # bytes of a response buffered in memory; the rest is spooled to disk


class NdjsonParser(BaseParser):
    """NDJSON; the view reads the stream itself, line by line."""

    media_type = MEDIA_TYPE


class NdjsonRenderer(BaseRenderer):
    """NDJSON; the view writes the stream itself."""

    media_type = MEDIA_TYPE
    format = "ndjson"


class NamespaceExportQuery(QueryString):
    """Export options."""

    vectors = Flag(in_query=True, default=True, help_text="0: without vectors; a restore re-embeds the texts")


class ExportLineSerializer(serializers.Serializer[Any]):
    """One line: first `{recall, namespace, vectors}`, then rows as `{table, …columns}`, last `{end}`."""

    recall = serializers.IntegerField(required=False, help_text="format version")
    namespace = serializers.DictField(required=False)
    vectors = serializers.BooleanField(required=False, help_text="whether vectors are included")
    table = serializers.CharField(required=False, help_text="table name; its columns are the other keys")
    end = serializers.IntegerField(required=False, help_text="number of rows; if it is missing, the export was cut off")


class ImportLineSerializer(serializers.Serializer[Any]):
    """The outcome of one line, in input order; the last line is the summary, `{end}`."""

    line = serializers.IntegerField(required=False, help_text="from 1; empty lines count and have no outcome")
    outcome = serializers.ChoiceField(choices=list(OUTCOMES), required=False)
    memory = serializers.UUIDField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True)
    problems = serializers.ListField(child=serializers.DictField(), required=False, help_text="[{at, message}]")
    end = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="number of lines, and of each outcome; if it is missing, the import was cut off",
    )


class NamespaceExportView(NamespacedView):
    """Export of a whole namespace."""

    roles = {"GET": Role.ADMIN}
    renderer_classes = [NdjsonRenderer, JSONRenderer]

    @extend_schema(
        operation_id="export",
        parameters=[NamespaceExportQuery],
        responses={(200, MEDIA_TYPE): ExportLineSerializer},
        tags=["namespaces"],
    )
    def get(self, request: Request, namespace: str) -> StreamingHttpResponse:
        """Stream all data of a namespace from one snapshot; `import_memories` restores an identical copy.

        API keys, traces and idempotency records are left out. The last line is `{"end": rows}`: if it is missing, the
        export was cut off.
        """
        vectors = NamespaceExportQuery.from_request(request)["vectors"]
        lines = export_namespace(self.namespace, vectors=vectors)
        return StreamingHttpResponse(join_lines(lines), content_type=MEDIA_TYPE)


class MemoryImportView(NamespacedView):
    """Import of many memories."""

    roles = {"POST": Role.WRITE}
    parser_classes = [NdjsonParser]
    renderer_classes = [NdjsonRenderer, JSONRenderer]

    @extend_schema(
        operation_id="import",
        request={MEDIA_TYPE: NewMemorySerializer},
        responses={(200, MEDIA_TYPE): ImportLineSerializer},
        tags=["memories"],
    )
    def post(self, request: Request, namespace: str) -> StreamingHttpResponse:
        """Remember one memory per line: any number of lines, each of at most 1 MB.

        Lines are committed in batches as they are read: what was read before a connection broke stays. A repeated
        import merges with itself and counts nothing twice, so an `Idempotency-Key` is rejected. The response starts
        once the body is read: one line per input line, in order, then the summary `{"end": {…}}`; if that is missing,
        the import was cut off.
        """
        QueryString.from_request(request)
        if HEADER in request.headers:
            raise ValidationError({HEADER: ["must not be sent with a stream, which is safe to retry; got one"]})
        if self.get_content_negotiator().select_parser(request, self.get_parsers()) is None:
            raise UnsupportedMediaType(request.content_type)
        lines = import_outcome_lines(self.namespace, request_stream(request), by=self.access.caller)
        return StreamingHttpResponse(buffer_until_read(lines), content_type=MEDIA_TYPE)


def request_stream(request: Request) -> Stream:
    """The unread body; Django's own stream is empty if the client sends no Content-Length (chunked encoding)."""
    meta = request.META
    stream: Stream = meta["wsgi.input"] if meta.get("wsgi.input_terminated") else request._request
    return stream


def import_outcome_lines(namespace: Namespace, stream: Stream, *, by: str) -> Iterator[str]:
    """Remember batch by batch; yield one outcome per line, then the summary."""
    counts: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
    reader, statistics = LineReader(stream), StatisticsRefresh()
    for batch in line_batches(reader, reader.lines(), IMPORT_BATCH_SIZE):
        for outcome in import_lines(namespace, batch.lines, validate_memories, by=by):
            counts[outcome["outcome"]] += 1
            yield json.dumps(outcome, ensure_ascii=False)
        statistics.add(len(batch.lines))
    yield json.dumps({"end": {"lines": counts.total(), **counts}})


def buffer_until_read(lines: Iterable[str]) -> Iterator[str]:
    """Buffer the response until the body is read: most clients read only then, so streaming earlier could deadlock."""
    with SpooledTemporaryFile(SPOOL_MAX_BYTES, "w+", encoding="utf-8", newline="\n") as buffer:
        failure = None
        try:
            buffer.writelines(f"{line}\n" for line in lines)
        except Exception as error:
            failure = error
        buffer.seek(0)
        while chunk := buffer.read(SPOOL_MAX_BYTES):
            yield chunk
        if failure is not None:
            raise failure
