"""Many rows at once, the way Postgres takes them fastest."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from django.db import connection
from django.db.models import CharField, Field, JSONField, Model
from numpy.typing import NDArray
from pgvector import Vector
from pgvector.django import VectorField
from psycopg.types.json import Jsonb

from memories.models.keys import Namespaced

Vectors: TypeAlias = NDArray[np.float32]
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

COPY_HEAD, COPY_TAIL = 19, 2  # bytes around the rows of a binary COPY


class Plan(NamedTuple):
    """How the rows of a table are copied."""

    statement: str
    types: list[str]
    read: Callable[[Any], tuple[Any, ...]]
    made: list[tuple[int, Callable[[Any], Any]]]  # the values that are sent as something else, by their place


def copied(table: type[Model], rows: Sequence[Model | SimpleNamespace]) -> None:
    """Insert rows by a binary COPY: an INSERT of many rows spends most of its time on quoting their values."""
    if not rows:
        return
    plan = plan_of(table)
    with connection.cursor() as cursor, cursor.cursor.copy(plan.statement) as copy:
        copy.set_types(plan.types)
        for row in rows:
            values = list(plan.read(row))
            for place, make in plan.made:
                if values[place] is not None:
                    values[place] = make(values[place])
            copy.write_row(values)
    for row in rows:
        if isinstance(row, Model):
            row._state.adding, row._state.db = False, connection.alias


def vectors_out(
    query: str, values: Sequence[Any] | Mapping[str, Any], dimensions: int
) -> tuple[NDArray[np.void], Vectors]:
    """Ids and vectors that a question gives, by a binary COPY straight into arrays."""
    sizes = [("fields", ">i2"), ("id_size", ">i4"), ("id", "V16"), ("size", ">i4"), ("head", "V4")]
    row = np.dtype([*sizes, ("vector", ">f4", dimensions)])
    statement = f"COPY ({query}) TO STDOUT (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.cursor.copy(statement, values) as copy:
        data = b"".join(copy)
    rows = np.frombuffer(data[COPY_HEAD:-COPY_TAIL], dtype=row)
    return rows["id"], rows["vector"].astype(np.float32)


def updated(rows: Sequence[Namespaced], columns: Sequence[str]) -> None:
    """Write some columns of rows of one namespace, as arrays: a CASE for each row takes longer to spell than to run."""
    if not rows or not columns:
        return
    table, quoted = type(rows[0])._meta, connection.ops.quote_name
    known = {field.attname: field for field in table.concrete_fields}
    fields = {quoted(str(known[name].column)): known[name] for name in ("id", *columns)}
    arrays = ", ".join(f"%s::{type_of(field)}[]" for field in fields.values())
    moved = ", ".join(f"{name} = fresh.{name}" for name in list(fields)[1:])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {quoted(table.db_table)} AS old SET {moved} FROM unnest({arrays}) AS fresh({', '.join(fields)})"
            " WHERE old.namespace_id = %s AND old.id = fresh.id",
            [*(values_of(rows, field) for field in fields.values()), rows[0].namespace_id],
        )


def values_of(rows: Sequence[Namespaced], field: "Field[Any, Any]") -> list[Any]:
    """One column of many rows, as psycopg takes it."""
    make = sent_as(field)
    values = (getattr(row, field.attname) for row in rows)
    return [value if value is None or make is None else make(value) for value in values]


def bare(table: type[Model], **values: Any) -> SimpleNamespace:
    """A row to be copied, without the weight of a model: its columns as given, the rest by their defaults."""
    settled, made = defaults_of(table)
    return SimpleNamespace(
        **{**settled, **{name: make() for name, make in made.items() if name not in values}, **values}
    )


@cache
def defaults_of(table: type[Model]) -> tuple[dict[str, Any], dict[str, Callable[[], Any]]]:
    """The columns of a table that have one value unless told, and those that are made anew for each row."""
    fields = [field for field in table._meta.concrete_fields if field.has_default() or field.null]
    made = {field.attname: field.default for field in fields if callable(field.default)}
    return {field.attname: field.get_default() for field in fields if field.attname not in made}, made


@cache
def plan_of(table: type[Model]) -> Plan:
    """Derive from a table's fields how it is copied."""
    fields = table._meta.concrete_fields
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    statement = f"COPY {connection.ops.quote_name(table._meta.db_table)} ({names}) FROM STDIN (FORMAT BINARY)"
    made = [(place, make) for place, field in enumerate(fields) if (make := sent_as(field)) is not None]
    return Plan(statement, [type_of(field) for field in fields], attrgetter(*(field.attname for field in fields)), made)


def type_of(field: "Field[Any, Any]") -> str:
    """Name the type under which psycopg packs a column."""
    if isinstance(field, VectorField):
        return "bytea"  # packed already
    name, _, _ = (field.db_type(connection) or "").partition("(")
    return "text" if name == "varchar" else name


def sent_as(field: "Field[Any, Any]") -> Callable[[Any], Any] | None:
    """What a value is turned into where psycopg cannot know it."""
    if isinstance(field, VectorField):
        return packed
    if isinstance(field, JSONField):
        return partial(Jsonb, dumps=spelt)
    return str if isinstance(field, CharField) and field.choices else None


class Repeated(dict[str, Any]):
    """An object that stands in many rows, and is spelt once."""

    @cached_property
    def spelt(self) -> str:
        """Its JSON."""
        return json.dumps(self)


def spelt(value: Any) -> str:
    """A value as JSON."""
    return value.spelt if isinstance(value, Repeated) else json.dumps(value)


def packed(vector: Any) -> bytes:
    """A vector as Postgres sends and receives it."""
    return bytes(Vector(vector).to_binary())
