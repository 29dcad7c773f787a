"""Lines streamed to the caller in chunks."""

from collections.abc import Iterator
from itertools import islice

from django.http import StreamingHttpResponse

from memories.contracts.json_lines import MEDIA_TYPE
from memories.models import JudgementSet
from memories.tuning.judgement_export import EXPORT_FORMATS, export_judgements

PLAIN_TEXT = "text/plain"
LINES_PER_CHUNK = 200  # lines per chunk of the response


def join_lines(lines: Iterator[str]) -> Iterator[str]:
    """Join lines into chunks for streaming."""
    while chunk := list(islice(lines, LINES_PER_CHUNK)):
        yield "".join(f"{line}\n" for line in chunk)


def stream_judgement_set(
    judgement_set: JudgementSet, *, shape: str, current: bool = False, by_content: bool = False
) -> StreamingHttpResponse:
    """Stream a judgement set in one of its export formats."""
    lines = export_judgements(judgement_set, shape, resolved=current, by_content=by_content)
    content_type = MEDIA_TYPE if shape == EXPORT_FORMATS[0] else f"{PLAIN_TEXT}; charset=utf-8"
    return StreamingHttpResponse(join_lines(lines), content_type=content_type)
