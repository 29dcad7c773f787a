"""Lines of JSON, read one at a time from a stream of any length."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol

from rest_framework.exceptions import ValidationError

from memories.api.parsers import parse_json
from memories.web.http_errors import MalformedBody
from memories.web.storable import is_storable, storage_errors
from memories.web.validation_errors import MAX_ERRORS, WHOLE_BODY

MEDIA_TYPE = "application/x-ndjson"
LONGEST = 1_000_000  # bytes
PIECE = 1 << 20  # bytes


class Stream(Protocol):
    """Bytes to be read once."""

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


class Line(NamedTuple):
    """One line, counted from 1; of one that is too long only the beginning."""

    number: int
    raw: bytes
    length: int


class Batch(NamedTuple):
    """Some lines, the number of the last, and how much was read when they were."""

    lines: list[Line]
    number: int
    place: Mapping[str, Any]


@dataclass
class Reader:
    """A stream, and what tells all that was read of it from any other."""

    stream: Stream
    number: int = 0
    size: int = 0  # bytes
    hash: Any = field(default_factory=hashlib.sha256)

    @property
    def place(self) -> dict[str, Any]:
        """How much was read, and its mark."""
        return {"bytes": self.size, "sha256": self.hash.hexdigest()}

    def lines(self) -> Iterator[Line]:
        """Give the lines that hold anything."""
        while raw := self._taken(self.stream.readline(LONGEST + 1)):
            self.number += 1
            length, last = len(raw), raw
            while len(last) == LONGEST + 1 and not last.endswith(b"\n"):
                last = self._taken(self.stream.readline(LONGEST + 1))
                length += len(last)
            if raw.strip():
                yield Line(self.number, raw.rstrip(b"\r\n"), length - last.endswith(b"\n"))

    def pass_over(self, count: int, number: int) -> None:
        """Go on behind what was read before: so many bytes, up to this line."""
        while self.size < count and self._taken(self.stream.read(min(PIECE, count - self.size))):
            pass
        self.number = number

    def _taken(self, raw: bytes) -> bytes:
        self.hash.update(raw)
        self.size += len(raw)
        return raw


def batches(reader: Reader, lines: Iterator[Line], size: int) -> Iterator[Batch]:
    """Give a reader's lines some at a time; nothing is read before it is asked for."""
    while some := list(islice(lines, size)):
        yield Batch(some, reader.number, reader.place)


def value(line: Line) -> Any:
    """The JSON of a line; what cannot be read or stored is refused."""
    if line.length > LONGEST:
        raise ValidationError({WHOLE_BODY: [f"must have at most {LONGEST} bytes; got {line.length}"]})
    try:
        body = parse_json(line.raw)
    except MalformedBody as error:
        raise ValidationError({WHOLE_BODY: [reason(error)]}) from error
    if not is_storable(body):
        raise ValidationError(
            {place or WHOLE_BODY: [wrong] for place, wrong in islice(storage_errors(body), MAX_ERRORS)}
        )
    return body


def reason(error: MalformedBody) -> str:
    """Why a line is no JSON; a body's own count of lines would only confuse here."""
    if isinstance(cause := error.__cause__, json.JSONDecodeError):
        return f"must be JSON; at column {cause.colno}: {cause.msg}"
    return str(error.errors[0]["message"])
