"""Lines of an export back to rows: ids, times, events and statuses as they were."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from psycopg import DataError, IntegrityError
from rest_framework.exceptions import ValidationError as Refused

from memories.bulk.bookmark import ENDED, RESTORED, StoppedError
from memories.bulk.exporting import FORMAT, NOT_TOLD
from memories.bulk.lines import Batch, Line, value
from memories.bulk.tables import tables, unpacked
from memories.models import Memory, MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.models.keys import InNamespace
from memories.providers.embedder import ALLOWED, is_known_embedder
from memories.web.storable import quote_value
from memories.web.validation_errors import flatten_errors as flat
from memories.writing import posting_index
from memories.writing.bulk_copy import copy_rows
from memories.writing.rebuild_vectors import (
    expected_vectors,
    insert_vectors,
    mean_session_vectors,
    memories_without_vector,
    reembed_vectors,
)
from memories.writing.remember import lock_namespace

# What makes no value of a column, and what the database itself refuses of a COPY.
WRONG = (ValueError, TypeError, OverflowError, ValidationError, DataError, IntegrityError)
TOGETHER = 200  # memories that are embedded in one transaction
LONGEST_REASON = 400  # characters; the database repeats a whole row


class LineError(StoppedError):
    """A line of an export that cannot be restored."""

    def __init__(self, number: int, why: Any) -> None:
        super().__init__(f"line {number}: {why}")


def founded(namespace: Namespace, line: Line) -> bool:
    """Make an empty namespace what the header says; tell whether vectors follow."""
    header = body(line)
    if header["recall"] != FORMAT:
        raise LineError(line.number, f"recall must be {FORMAT}; got {quote_value(header['recall'])}")
    given = header.get("namespace")
    settable = [field.name for field in Namespace._meta.fields if field.name not in (*NOT_TOLD, "slug")]
    if not isinstance(given, dict) or set(given) - {*settable, "slug"}:
        raise LineError(line.number, f"namespace must hold slug, {', '.join(settable)}; got {quote_value(given)}")
    if not is_known_embedder(given.get("embedder", namespace.embedder)):
        raise LineError(line.number, f"embedder must be one of {ALLOWED}; got {quote_value(given['embedder'])}")
    config = given.get("text_config", namespace.text_config)
    if config not in text_configs():
        raise LineError(
            line.number, f"text_config must be one of {', '.join(text_configs())}; got {quote_value(config)}"
        )
    for name in settable:
        setattr(namespace, name, given.get(name, getattr(namespace, name)))
    try:
        namespace.full_clean()
    except ValidationError as error:
        told = [f"{at}: {' '.join(wrong)}" for at, wrong in error.message_dict.items()]
        raise LineError(line.number, "; ".join(told)) from error
    namespace.save()
    return bool(header.get("vectors", True))


def text_configs() -> list[str]:
    """Name the text search configurations that this database has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")
        return [name for (name,) in cursor.fetchall()]


def holding(namespace: Namespace) -> str:
    """Name a table in which a namespace has rows already, or nothing."""
    return next((name for name, table in tables().items() if table.objects.within(namespace).exists()), "")


@dataclass
class Restore:
    """The rows of an export on their way into a namespace."""

    namespace: Namespace
    vectors: bool
    rows: int  # restored so far
    ended: bool = False

    def __call__(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Callable[[], list[dict[str, Any]]]]]:
        """Give each batch with what stores it."""
        return ((some, partial(self.stored, some.lines)) for some in batches)

    def stored(self, lines: Sequence[Line]) -> list[dict[str, Any]]:
        """Store the rows of some lines, and let what is active be found; in the transaction of a batch."""
        lock_namespace(self.namespace)
        rows = [(line.number, row) for line in lines if (row := self.row(line)) is not None]
        try:
            with transaction.atomic():
                store([row for _, row in rows])
        except WRONG as error:
            raise (culprit(rows) or error) from error
        active = [row.id for _, row in rows if isinstance(row, Memory) and row.status == Status.ACTIVE]
        posting_index.index_postings(self.namespace, active)
        told = [{"line": number, "outcome": RESTORED} for number, _ in rows]
        return [*told, {"line": lines[-1].number, "outcome": ENDED}] if self.ended else told

    def row(self, line: Line) -> InNamespace | None:
        """The row that a line holds; the last line holds none, but how many came before it."""
        values = body(line)
        if self.ended:
            raise LineError(line.number, "must not come after the end")
        if "end" in values:
            self.end(line, values["end"])
            return None
        name = values.pop("table", None)
        if name not in tables():
            raise LineError(line.number, f"table must be one of {', '.join(tables())}; got {quote_value(name)}")
        try:
            row = unpacked(tables()[name], values)
        except WRONG as error:
            raise LineError(line.number, why(error)) from error
        row.namespace = self.namespace
        if isinstance(row, MemoryVector):
            row.written = self.namespace.writing
        self.rows += 1
        return row

    def end(self, line: Line, rows: Any) -> None:
        """See that nothing is missing."""
        if rows != self.rows:
            raise LineError(
                line.number, f"end must be {self.rows}, the number of rows before it; got {quote_value(rows)}"
            )
        self.ended = True

    def embedded(self) -> Iterator[int]:
        """Make the vectors that an export left out, piece by piece; whatever stops it, the next attempt goes on.

        What a conversation says is told by its turns, so they come after all rows, and a session after its exchanges.
        """
        if self.vectors:
            return
        namespace, rows = self.namespace, memories_without_vector(self.namespace).order_by("id")
        spoken, whole = rows.exclude(level=ChunkLevel.SESSION), rows.filter(level=ChunkLevel.SESSION)
        for make, memories in ((reembed_vectors, spoken), (mean_session_vectors, whole), (reembed_vectors, whole)):
            last = UUID(int=0)
            while piece := list(memories.filter(id__gt=last)[:TOGETHER]):
                last, likes = piece[-1].id, expected_vectors(piece)
                made = make(namespace, namespace.embedder, likes)
                with transaction.atomic():
                    lock_namespace(namespace)
                    insert_vectors(namespace, namespace.embedder, likes, made)
                yield len(piece)


def body(line: Line) -> dict[str, Any]:
    """What a line of an export holds."""
    try:
        values = value(line)
    except Refused as error:
        told = [f"{one['at']}: {one['message']}" for one in flat(error.detail)]
        raise LineError(line.number, "; ".join(told)) from error
    if not isinstance(values, dict):
        raise LineError(line.number, f"must be an object; got {quote_value(values)}")
    return values


def store(rows: Sequence[InNamespace]) -> None:
    """Insert rows in their order, those of one table together."""
    for table, together in groupby(rows, type):
        copy_rows(table, list(together))


def culprit(rows: Sequence[tuple[int, InNamespace]]) -> LineError | None:
    """Find the row that the database refuses, one by one: many at once do not tell."""
    for number, row in rows:
        try:
            with transaction.atomic():
                store([row])
        except WRONG as error:
            return LineError(number, why(error))
    return None


def why(error: Exception) -> str:
    """An error in one line: the database's own sentences, where it is one of the database's."""
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    said = error.diag if isinstance(error, DataError | IntegrityError) else None
    told = ". ".join(filter(None, [said.message_primary, said.message_detail])) if said else ""
    return (told or str(error))[:LONGEST_REASON]
