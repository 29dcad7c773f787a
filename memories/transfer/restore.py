"""Restore of an export: its rows with their ids, timestamps, events and statuses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from psycopg import DataError, IntegrityError

from memories.contracts.json_lines import InvalidLineError, Line, LineBatch, parse_line
from memories.contracts.json_values import quote_value
from memories.models import Entity, EntityAlias, Memory, MemorySource, MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.models.keys import InNamespace
from memories.providers.embedder import ALLOWED, is_known_embedder
from memories.text.name_index import index_names
from memories.transfer.checkpoint import ENDED, RESTORED, ImportStoppedError
from memories.transfer.export import FORMAT_VERSION, LOCAL_FIELDS, decode_row, exported_tables
from memories.writing import search_index
from memories.writing.bulk_copy import copy_rows
from memories.writing.lock import lock_namespace
from memories.writing.rebuild import (
    expected_vectors,
    insert_vectors,
    mean_session_vectors,
    memories_without_vector,
    reembed_vectors,
)

# Raised by a value that does not fit its column, or by the database during COPY.
ROW_ERRORS = (ValueError, TypeError, OverflowError, ValidationError, DataError, IntegrityError)
EMBED_SIZE = 200  # memories per transaction
NAMED = Entity | EntityAlias
MAX_MESSAGE_CHARS = 400  # the database repeats whole rows
# Exports of earlier versions leave the source to the session, or to the owner of a memory without one.
NAME_SOURCES_SQL = """
    UPDATE memories_memorysource s SET source = named.source FROM (
        SELECT o.id, coalesce(
            nullif(c."user", ''), nullif(t.speaker, ''), nullif(c.agent, ''),
            CASE WHEN o.session_id IS NULL AND m.session_id IS NULL THEN coalesce(nullif(m."user", ''), m.agent) END, ''
        ) AS source
        FROM memories_memorysource o
        JOIN memories_memory m ON m.namespace_id = o.namespace_id AND m.id = o.memory_id
        LEFT JOIN memories_session c ON c.namespace_id = o.namespace_id AND c.id = o.session_id
        LEFT JOIN memories_turn t ON t.namespace_id = o.namespace_id AND t.id = o.turn_id
        WHERE o.namespace_id = %(namespace)s AND o.id = ANY(%(ids)s) AND m.level IN ('fact', 'summary')
    ) AS named
    WHERE s.namespace_id = %(namespace)s AND s.id = named.id AND NOT EXISTS (
        SELECT FROM memories_memorysource other
        WHERE other.namespace_id = s.namespace_id AND other.memory_id = s.memory_id AND other.source = named.source
            AND other.session_id IS NOT DISTINCT FROM s.session_id AND other.turn_id IS NULL AND s.turn_id IS NULL
    )
"""


class ExportLineError(ImportStoppedError):
    """A line of an export that cannot be restored."""

    def __init__(self, number: int, message: Any) -> None:
        super().__init__(f"line {number}: {message}")


def apply_header(namespace: Namespace, line: Line) -> bool:
    """Set the columns of an empty namespace from the header; returns whether vectors follow."""
    header = parse_object(line)
    if header["recall"] != FORMAT_VERSION:
        raise ExportLineError(line.number, f"recall must be {FORMAT_VERSION}; got {quote_value(header['recall'])}")
    columns = header.get("namespace")
    settable = [field.name for field in Namespace._meta.fields if field.name not in (*LOCAL_FIELDS, "slug")]
    if not isinstance(columns, dict) or set(columns) - {*settable, "slug"}:
        raise ExportLineError(
            line.number, f"namespace must hold slug, {', '.join(settable)}; got {quote_value(columns)}"
        )
    if not is_known_embedder(columns.get("embedder", namespace.embedder)):
        raise ExportLineError(line.number, f"embedder must be one of {ALLOWED}; got {quote_value(columns['embedder'])}")
    config = columns.get("text_config", namespace.text_config)
    if config not in text_search_configs():
        allowed = ", ".join(text_search_configs())
        raise ExportLineError(line.number, f"text_config must be one of {allowed}; got {quote_value(config)}")
    for name in settable:
        setattr(namespace, name, columns.get(name, getattr(namespace, name)))
    try:
        namespace.full_clean()
    except ValidationError as error:
        messages = [f"{column}: {' '.join(problems)}" for column, problems in error.message_dict.items()]
        raise ExportLineError(line.number, "; ".join(messages)) from error
    namespace.save()
    return bool(header.get("vectors", True))


def text_search_configs() -> list[str]:
    """The text search configurations of this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")
        return [name for (name,) in cursor.fetchall()]


def filled_table(namespace: Namespace) -> str:
    """A table in which a namespace has rows; empty if none."""
    tables = exported_tables().items()
    return next((name for name, table in tables if table.objects.within(namespace).exists()), "")


@dataclass
class Restore:
    """The restore of an export's rows into a namespace."""

    namespace: Namespace
    vectors: bool
    rows: int  # restored so far
    ended: bool = False

    def __call__(self, batches: Iterator[LineBatch]) -> Iterator[tuple[LineBatch, Callable[[], list[dict[str, Any]]]]]:
        """Yield each batch with a function that stores it."""
        return ((batch, partial(self.store_lines, batch.lines)) for batch in batches)

    def store_lines(self, lines: Sequence[Line]) -> list[dict[str, Any]]:
        """Store the rows of some lines and index active memories, in the transaction of a batch."""
        lock_namespace(self.namespace)
        rows = [(line.number, row) for line in lines if (row := self.decode_line(line)) is not None]
        try:
            with transaction.atomic():
                insert_rows([row for _, row in rows])
        except ROW_ERRORS as error:
            raise (find_rejected_row(rows) or error) from error
        named = {row.id if isinstance(row, Entity) else row.entity_id for _, row in rows if isinstance(row, NAMED)}
        index_names(self.namespace, named)
        self.name_sources([row.id for _, row in rows if isinstance(row, MemorySource) and not row.source])
        active = [row.id for _, row in rows if isinstance(row, Memory) and row.status == Status.ACTIVE]
        search_index.index_postings(self.namespace, active)
        outcomes = [{"line": number, "outcome": RESTORED} for number, _ in rows]
        return [*outcomes, {"line": lines[-1].number, "outcome": ENDED}] if self.ended else outcomes

    def name_sources(self, unnamed: Sequence[UUID]) -> None:
        """Name the sources that an earlier version exported without a name, as far as their rows tell."""
        if unnamed:
            with connection.cursor() as cursor:
                cursor.execute(NAME_SOURCES_SQL, {"namespace": self.namespace.id, "ids": list(unnamed)})

    def decode_line(self, line: Line) -> InNamespace | None:
        """The row of a line; None for the last line, which holds the number of rows."""
        values = parse_object(line)
        if self.ended:
            raise ExportLineError(line.number, "must not come after the end")
        if "end" in values:
            self.check_end(line, values["end"])
            return None
        name = values.pop("table", None)
        tables = exported_tables()
        if name not in tables:
            raise ExportLineError(line.number, f"table must be one of {', '.join(tables)}; got {quote_value(name)}")
        try:
            row = decode_row(tables[name], values)
        except ROW_ERRORS as error:
            raise ExportLineError(line.number, row_error_message(error)) from error
        row.namespace = self.namespace
        if isinstance(row, MemoryVector):
            row.written = self.namespace.writing
        self.rows += 1
        return row

    def check_end(self, line: Line, rows: Any) -> None:
        """Check that no row is missing."""
        if rows != self.rows:
            raise ExportLineError(
                line.number, f"end must be {self.rows}, the number of rows before it; got {quote_value(rows)}"
            )
        self.ended = True

    def embed_missing(self) -> Iterator[int]:
        """Compute the vectors an export left out, batch by batch; an interrupted attempt is resumed by the next.

        Chunks need their turns, so this follows all rows; a session's vector follows those of its exchanges.
        """
        if self.vectors:
            return
        namespace, rows = self.namespace, memories_without_vector(self.namespace).order_by("id")
        others, sessions = rows.exclude(level=ChunkLevel.SESSION), rows.filter(level=ChunkLevel.SESSION)
        for embed, memories in (
            (reembed_vectors, others),
            (mean_session_vectors, sessions),
            (reembed_vectors, sessions),
        ):
            last = UUID(int=0)
            while batch := list(memories.filter(id__gt=last)[:EMBED_SIZE]):
                last, expected = batch[-1].id, expected_vectors(batch)
                vectors = embed(namespace, namespace.embedder, expected)
                with transaction.atomic():
                    lock_namespace(namespace)
                    insert_vectors(namespace, namespace.embedder, expected, vectors)
                yield len(batch)


def parse_object(line: Line) -> dict[str, Any]:
    """The JSON object of a line of an export."""
    try:
        value = parse_line(line)
    except InvalidLineError as error:
        raise ExportLineError(line.number, error) from error
    if not isinstance(value, dict):
        raise ExportLineError(line.number, f"must be an object; got {quote_value(value)}")
    return value


def insert_rows(rows: Sequence[InNamespace]) -> None:
    """Insert rows in order, consecutive rows of one table together."""
    for table, group in groupby(rows, type):
        copy_rows(table, list(group))


def find_rejected_row(rows: Sequence[tuple[int, InNamespace]]) -> ExportLineError | None:
    """The row the database rejects, found by inserting one by one: COPY does not say which it was."""
    for number, row in rows:
        try:
            with transaction.atomic():
                insert_rows([row])
        except ROW_ERRORS as error:
            return ExportLineError(number, row_error_message(error))
    return None


def row_error_message(error: Exception) -> str:
    """An error in one line, in the database's own words if it comes from there."""
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    diagnostic = error.diag if isinstance(error, DataError | IntegrityError) else None
    parts = [diagnostic.message_primary, diagnostic.message_detail] if diagnostic else []
    return (". ".join(filter(None, parts)) or str(error))[:MAX_MESSAGE_CHARS]
