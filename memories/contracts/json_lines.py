"""JSON Lines, read one line at a time from a stream of any length."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol

from memories.contracts.json_values import InvalidJsonError, is_storable, parse_json, storage_errors

MEDIA_TYPE = "application/x-ndjson"
MAX_LINE_BYTES = 1_000_000
READ_BYTES = 1 << 20  # per read when skipping
MAX_PROBLEMS = 50  # reported per line
MAX_PLACE_CHARS = 200  # a place consists of the caller's own field names
WHOLE_LINE = "body"  # the place of a problem that belongs to no single field


class Stream(Protocol):
    """Bytes that can be read once."""

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


class Line(NamedTuple):
    """A line, numbered from 1; of an overlong one only the beginning."""

    number: int
    raw: bytes
    length: int


class LineBatch(NamedTuple):
    """Some lines, the number of the last, and the reader's position after it."""

    lines: list[Line]
    number: int
    position: Mapping[str, Any]


class InvalidLineError(Exception):
    """A line that is not storable JSON; `problems` holds the messages by place."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{place}: {' '.join(messages)}" for place, messages in problems.items()))
        self.problems = problems


@dataclass
class LineReader:
    """A stream of lines, and a fingerprint of everything read so far."""

    stream: Stream
    number: int = 0
    size: int = 0  # bytes
    hash: Any = field(default_factory=hashlib.sha256)

    @property
    def position(self) -> dict[str, Any]:
        """The number of bytes read, and their hash."""
        return {"bytes": self.size, "sha256": self.hash.hexdigest()}

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not blank."""
        while raw := self._count(self.stream.readline(MAX_LINE_BYTES + 1)):
            self.number += 1
            length, chunk = len(raw), raw
            while len(chunk) == MAX_LINE_BYTES + 1 and not chunk.endswith(b"\n"):
                chunk = self._count(self.stream.readline(MAX_LINE_BYTES + 1))
                length += len(chunk)
            if raw.strip():
                yield Line(self.number, raw.rstrip(b"\r\n"), length - chunk.endswith(b"\n"))

    def skip(self, size: int, number: int) -> None:
        """Skip the `size` bytes, up to line `number`, that were read before."""
        while self.size < size and self._count(self.stream.read(min(READ_BYTES, size - self.size))):
            pass
        self.number = number

    def _count(self, raw: bytes) -> bytes:
        self.hash.update(raw)
        self.size += len(raw)
        return raw


def line_batches(reader: LineReader, lines: Iterator[Line], size: int) -> Iterator[LineBatch]:
    """Yield a reader's lines in batches, read lazily."""
    while batch := list(islice(lines, size)):
        yield LineBatch(batch, reader.number, reader.position)


def parse_line(line: Line) -> Any:
    """The JSON value of a line; raises InvalidLineError."""
    if line.length > MAX_LINE_BYTES:
        raise InvalidLineError({WHOLE_LINE: [f"must have at most {MAX_LINE_BYTES} bytes; got {line.length}"]})
    try:
        value = parse_json(line.raw)
    except InvalidJsonError as error:
        raise InvalidLineError({WHOLE_LINE: [line_message(error)]}) from error
    if not is_storable(value):
        errors = islice(storage_errors(value), MAX_PROBLEMS)
        raise InvalidLineError({place[:MAX_PLACE_CHARS] or WHOLE_LINE: [message] for place, message in errors})
    return value


def line_message(error: InvalidJsonError) -> str:
    """Why a line is not JSON, without the parser's line number, which is always 1."""
    if isinstance(cause := error.__cause__, json.JSONDecodeError):
        return f"must be JSON; at column {cause.colno}: {cause.msg}"
    return str(error)
