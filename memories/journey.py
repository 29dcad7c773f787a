"""Several questions to the database in one journey, with answers that come as they are stored."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import psycopg
from django.db import connection
from pgvector import Vector
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format


class Statement(NamedTuple):
    """One question, or an order that is answered by nothing."""

    sql: str
    values: Mapping[str, Any] = {}
    answered: bool = True


@dataclass
class Answers:
    """The rows of each question up to the first that failed, and why that one did."""

    rows: list[list[Any]] = field(default_factory=list)
    error: psycopg.Error | None = None


class VectorDumper(Dumper):
    """A vector as Postgres keeps it: to spell its numbers takes longer than to compare them."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        """Its bytes; the statement says what they are, by `::vector`."""
        packed: bytes = obj.to_binary()
        return packed


class Cursor(psycopg.Cursor[Any]):
    """A cursor whose values travel beside the statement, so that the database can keep its plan where that is set."""

    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        super().__init__(raw)
        self.format = Format.BINARY
        self.adapters.register_dumper(Vector, VectorDumper)


def asked(statements: Sequence[Statement]) -> Answers:
    """Put questions one after another without waiting for answers in between."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    raw = connection.connection
    answers, cursors = Answers(), list[Cursor]()
    if connection.queries_logged:
        connection.queries_log.extend({"sql": spelt(raw, one), "time": "0"} for one in statements)
    # What follows a failure is refused, and that is told once more when the pipeline ends.
    with connection.wrap_database_errors, suppress(psycopg.errors.PipelineAborted), raw.pipeline() as pipeline:
        try:
            for statement in statements:
                cursors.append(cursor := Cursor(raw))
                cursor.execute(statement.sql, statement.values)
            pipeline.sync()
        except psycopg.Error as error:
            answers.error = error
    for cursor, statement in zip(cursors, statements, strict=False):
        if statement.answered and cursor.pgresult:
            answers.rows.append(cursor.fetchall())
    return answers


def spelt(raw: "psycopg.Connection[Any]", statement: Statement) -> str:
    """A statement with its values, as Django's own log of questions has them."""
    return psycopg.ClientCursor(raw).mogrify(statement.sql, plain(statement.values))


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they can be read."""
    return {name: value.to_text() if isinstance(value, Vector) else value for name, value in values.items()}


def answered(statements: Sequence[Statement]) -> list[list[Any]]:
    """The rows of questions that must all be answered."""
    answers = asked(statements)
    if answers.error is not None:
        raised(answers.error)
    return answers.rows


def raised(error: psycopg.Error) -> NoReturn:
    """Raise an error as Django does, which then looks whether the connection still serves."""
    with connection.wrap_database_errors:
        raise error
