"""Bulk inserts, updates and reads over COPY and unnest."""

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

COPY_HEAD, COPY_TAIL = 19, 2  # bytes of a binary COPY's header and trailer


class CopyPlan(NamedTuple):
    """How the rows of one table are copied."""

    statement: str
    types: list[str]
    get_values: Callable[[Any], tuple[Any, ...]]
    adapters: list[tuple[int, Callable[[Any], Any]]]  # conversions by column index


def copy_rows(table: type[Model], rows: Sequence[Model | SimpleNamespace]) -> None:
    """Insert rows by binary COPY; a multi-row INSERT spends most of its time quoting values."""
    if not rows:
        return
    plan = copy_plan(table)
    with connection.cursor() as cursor, cursor.cursor.copy(plan.statement) as copy:
        copy.set_types(plan.types)
        for row in rows:
            values = list(plan.get_values(row))
            for index, adapt in plan.adapters:
                if values[index] is not None:
                    values[index] = adapt(values[index])
            copy.write_row(values)
    for row in rows:
        if isinstance(row, Model):
            row._state.adding, row._state.db = False, connection.alias


def copy_vectors_out(
    query: str, values: Sequence[Any] | Mapping[str, Any], dimensions: int
) -> tuple[NDArray[np.void], Vectors]:
    """Read ids and vectors of a query by binary COPY, straight into arrays."""
    header = [("fields", ">i2"), ("id_size", ">i4"), ("id", "V16"), ("size", ">i4"), ("head", "V4")]
    row_type = np.dtype([*header, ("vector", ">f4", dimensions)])
    statement = f"COPY ({query}) TO STDOUT (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.cursor.copy(statement, values) as copy:
        data = b"".join(copy)
    rows = np.frombuffer(data[COPY_HEAD:-COPY_TAIL], dtype=row_type)
    return rows["id"], rows["vector"].astype(np.float32)


def bulk_update_columns(rows: Sequence[Namespaced], columns: Sequence[str]) -> None:
    """Update columns of many rows of one namespace from arrays; a CASE per row takes longer to build than to run."""
    if not rows or not columns:
        return
    table, quote = type(rows[0])._meta, connection.ops.quote_name
    by_name = {field.attname: field for field in table.concrete_fields}
    fields = {quote(str(by_name[name].column)): by_name[name] for name in ("id", *columns)}
    arrays = ", ".join(f"%s::{copy_type(field)}[]" for field in fields.values())
    changes = ", ".join(f"{name} = fresh.{name}" for name in list(fields)[1:])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {quote(table.db_table)} AS old SET {changes} FROM unnest({arrays}) AS fresh({', '.join(fields)})"
            " WHERE old.namespace_id = %s AND old.id = fresh.id",
            [*(column_values(rows, field) for field in fields.values()), rows[0].namespace_id],
        )


def column_values(rows: Sequence[Namespaced], field: "Field[Any, Any]") -> list[Any]:
    """One column of many rows, adapted for psycopg."""
    adapt = value_adapter(field)
    values = (getattr(row, field.attname) for row in rows)
    return [value if value is None or adapt is None else adapt(value) for value in values]


def lightweight_row(table: type[Model], **values: Any) -> SimpleNamespace:
    """A row for COPY without the cost of a model instance: given columns, defaults for the rest."""
    constants, factories = column_defaults(table)
    return SimpleNamespace(
        **{**constants, **{name: factory() for name, factory in factories.items() if name not in values}, **values}
    )


@cache
def column_defaults(table: type[Model]) -> tuple[dict[str, Any], dict[str, Callable[[], Any]]]:
    """A table's constant column defaults, and the callables that produce a new value per row."""
    fields = [field for field in table._meta.concrete_fields if field.has_default() or field.null]
    factories = {field.attname: field.default for field in fields if callable(field.default)}
    return {field.attname: field.get_default() for field in fields if field.attname not in factories}, factories


@cache
def copy_plan(table: type[Model]) -> CopyPlan:
    """Derive the COPY plan from a table's fields."""
    fields = table._meta.concrete_fields
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    statement = f"COPY {connection.ops.quote_name(table._meta.db_table)} ({names}) FROM STDIN (FORMAT BINARY)"
    adapters = [(index, adapter) for index, field in enumerate(fields) if (adapter := value_adapter(field)) is not None]
    return CopyPlan(
        statement, [copy_type(field) for field in fields], attrgetter(*(field.attname for field in fields)), adapters
    )


def copy_type(field: "Field[Any, Any]") -> str:
    """The Postgres type psycopg encodes a column as."""
    if isinstance(field, VectorField):
        return "bytea"  # already in binary form
    name, _, _ = (field.db_type(connection) or "").partition("(")
    return "text" if name == "varchar" else name


def value_adapter(field: "Field[Any, Any]") -> Callable[[Any], Any] | None:
    """The conversion a value needs before psycopg can send it, if any."""
    if isinstance(field, VectorField):
        return vector_bytes
    if isinstance(field, JSONField):
        return partial(Jsonb, dumps=dump_json)
    return str if isinstance(field, CharField) and field.choices else None


class SharedJson(dict[str, Any]):
    """A JSON object stored in many rows and serialised once."""

    @cached_property
    def text(self) -> str:
        """Its JSON text, cached."""
        return json.dumps(self)


def dump_json(value: Any) -> str:
    """Serialise a value to JSON."""
    return value.text if isinstance(value, SharedJson) else json.dumps(value)


def vector_bytes(vector: Any) -> bytes:
    """A vector in pgvector's binary format."""
    return bytes(Vector(vector).to_binary())
