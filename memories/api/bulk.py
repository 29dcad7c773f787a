"""A whole namespace out, and many memories in: lines of JSON, streamed both ways."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from memories.api.fields import Flag
from memories.api.idempotency import HEADER
from memories.api.memories import NewMemorySerializer
from memories.api.serializers import Query
from memories.api.views import NamespacedView
from memories.bulk.bookmark import OUTCOMES
from memories.bulk.exporting import exported
from memories.bulk.lines import MEDIA_TYPE, Reader, Stream, batches
from memories.bulk.remembering import remembered
from memories.bulk.statistics import Growth
from memories.models import Namespace
from memories.models.choices import Role

TOGETHER = 500  # lines that are read, embedded and remembered at once
SENT_TOGETHER = 200  # lines
HELD = 1 << 20  # bytes of an answer that wait in memory; more wait on disk


class LinesParser(BaseParser):
    """Lines of JSON; a view reads them itself, one at a time."""

    media_type = MEDIA_TYPE


class LinesRenderer(BaseRenderer):
    """Lines of JSON; a view writes them itself."""

    media_type = MEDIA_TYPE
    format = "ndjson"


class ExportQuery(Query):
    """What to leave out."""

    vectors = Flag(in_query=True, default=True, help_text="0: without vectors; a restore embeds the texts again")


class ExportLineSerializer(serializers.Serializer[Any]):
    """One line: first `{recall, namespace, vectors}`, then rows as `{table, …columns}`, last `{end}`."""

    recall = serializers.IntegerField(required=False, help_text="the format")
    namespace = serializers.DictField(required=False)
    vectors = serializers.BooleanField(required=False, help_text="whether vectors are among the rows")
    table = serializers.CharField(required=False, help_text="its columns stand beside it")
    end = serializers.IntegerField(required=False, help_text="how many rows came; without it the export was cut off")


class ImportLineSerializer(serializers.Serializer[Any]):
    """What became of one line, in the order they came; the last line is the sum, `{end}`."""

    line = serializers.IntegerField(required=False, help_text="counts from 1; empty lines count and have no outcome")
    outcome = serializers.ChoiceField(choices=list(OUTCOMES), required=False)
    memory = serializers.UUIDField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True)
    problems = serializers.ListField(child=serializers.DictField(), required=False, help_text="[{at, message}]")
    end = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="how many lines, and how many of each outcome; without it the import was cut off",
    )


class Export(NamespacedView):
    """Everything of a namespace."""

    roles = {"GET": Role.ADMIN}
    renderer_classes = [LinesRenderer, JSONRenderer]

    @extend_schema(
        operation_id="export",
        parameters=[ExportQuery],
        responses={(200, MEDIA_TYPE): ExportLineSerializer},
        tags=["namespaces"],
    )
    def get(self, request: Request, namespace: str) -> StreamingHttpResponse:
        """Stream everything of a namespace, as it is at one moment; `import_memories` restores it to an equal one.

        Keys, traces and what was kept for repeated requests are left out. The last line is `{"end": rows}`: without it
        the export was cut off.
        """
        vectors = ExportQuery.of(request)["vectors"]
        return StreamingHttpResponse(together(exported(self.namespace, vectors=vectors)), content_type=MEDIA_TYPE)


class Import(NamespacedView):
    """Many memories in."""

    roles = {"POST": Role.WRITE}
    parser_classes = [LinesParser]
    renderer_classes = [LinesRenderer, JSONRenderer]

    @extend_schema(
        operation_id="import",
        request={MEDIA_TYPE: NewMemorySerializer},
        responses={(200, MEDIA_TYPE): ImportLineSerializer},
        tags=["memories"],
    )
    def post(self, request: Request, namespace: str) -> StreamingHttpResponse:
        """Remember one memory for each line, any number of them, each line of at most 1 MB.

        Lines are committed as they are read, a hundred at a time: what was read before a connection broke stays. Sent
        again, it merges with itself and counts nothing twice, so an `Idempotency-Key` is refused. Answers come when all
        is read, one line for each in their order, and last the sum `{"end": {…}}`: without it the import was cut off.
        """
        Query.of(request)
        if HEADER in request.headers:
            raise ValidationError({HEADER: ["must not come with a stream, which is safe to send again; got one"]})
        if self.get_content_negotiator().select_parser(request, self.get_parsers()) is None:
            raise UnsupportedMediaType(request.content_type)
        told = outcomes(self.namespace, stream_of(request), by=self.access.caller)
        return StreamingHttpResponse(answered(told), content_type=MEDIA_TYPE)


def stream_of(request: Request) -> Stream:
    """The body unread; Django itself sees none where the client does not know its length beforehand."""
    meta = request.META
    stream: Stream = meta["wsgi.input"] if meta.get("wsgi.input_terminated") else request._request
    return stream


def outcomes(namespace: Namespace, stream: Stream, *, by: str) -> Iterator[str]:
    """Remember line after line; tell of each, and at last of all."""
    counts: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
    reader, growth = Reader(stream), Growth()
    for some in batches(reader, reader.lines(), TOGETHER):
        for told in remembered(namespace, some.lines, by=by):
            counts[told["outcome"]] += 1
            yield json.dumps(told, ensure_ascii=False)
        growth.grown(len(some.lines))
    yield json.dumps({"end": {"lines": counts.total(), **counts}})


def answered(lines: Iterable[str]) -> Iterator[str]:
    """Hold answers back until the body is read: most clients listen only then, and two who both wait never end."""
    with SpooledTemporaryFile(HELD, "w+", encoding="utf-8", newline="\n") as held:
        failure = None
        try:
            held.writelines(f"{line}\n" for line in lines)
        except Exception as error:
            failure = error
        held.seek(0)
        while some := held.read(HELD):
            yield some
        if failure is not None:
            raise failure


def together(lines: Iterator[str]) -> Iterator[str]:
    """Lines as they are sent, some at a time."""
    while some := list(islice(lines, SENT_TOGETHER)):
        yield "".join(f"{line}\n" for line in some)
