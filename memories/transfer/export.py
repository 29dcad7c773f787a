"""A namespace as JSON Lines: a header, every row as `{table, …columns}`, and a last line that counts the rows.

The tables and columns follow from the models; bytes and vectors are base64.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import BinaryField, Field, Model
from pgvector.django import VectorField

from memories.db.pipeline import snapshot
from memories.models import (
    ApiKey,
    Document,
    IdempotencyRecord,
    Job,
    MemoryVector,
    NameKey,
    Namespace,
    PooledMemory,
    Posting,
    PostingBlock,
    PredicatePosting,
    TermStatistic,
    TokenStates,
    Trace,
    TracedQuery,
    TracedSet,
    Upload,
)
from memories.models.keys import InNamespace
from memories.models.references import Reference

FORMAT_VERSION = 1
FETCH_SIZE = 500  # rows
LOCAL_FIELDS = ("id",)  # of the namespace: a restored one has its own
# Secrets, transient records, and what can be rebuilt from the memories or by tracing again.
OMITTED_TABLES: tuple[type[Model], ...] = (
    ApiKey,
    Document,
    IdempotencyRecord,
    Job,
    Trace,
    NameKey,
    PooledMemory,
    Posting,
    PostingBlock,
    PredicatePosting,
    TermStatistic,
    TracedQuery,
    TracedSet,
    Upload,
)
VECTOR_TABLES: tuple[type[Model], ...] = (MemoryVector, TokenStates)
LOCAL_COLUMNS = ("namespace_id", "written", "indexed")  # set by the restoring database
MAX_CHAIN = 10_000  # rows that refer to each other; rows in a cycle come last, and a restore refuses them


def export_namespace(namespace: Namespace, *, vectors: bool = True) -> Iterator[str]:
    """Yield the lines of an export, all from one snapshot."""
    count = 0
    with snapshot():
        yield header_line(namespace, vectors=vectors)
        for table in exported_tables().values():
            if vectors or table not in VECTOR_TABLES:
                with connection.chunked_cursor() as cursor:
                    cursor.execute(rows_sql(table), {"namespace": namespace.id})
                    while rows := cursor.fetchmany(FETCH_SIZE):
                        count += len(rows)
                        yield from (line for (line,) in rows)
        yield json.dumps({"end": count})


def header_line(namespace: Namespace, *, vectors: bool) -> str:
    """The first line: the format version and the namespace itself."""
    stored = Namespace.objects.get(id=namespace.id)
    fields: dict[str, Any] = {
        field.name: getattr(stored, field.name) for field in Namespace._meta.fields if field.name not in LOCAL_FIELDS
    }
    header = {"recall": FORMAT_VERSION, "namespace": fields, "vectors": vectors}
    return json.dumps(header, ensure_ascii=False, cls=MicrosecondEncoder)


class MicrosecondEncoder(DjangoJSONEncoder):
    """Keeps microseconds, which Django's encoder cuts to milliseconds."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if hasattr(o, "isoformat") else super().default(o)


@cache
def exported_tables() -> dict[str, type[InNamespace]]:
    """The tables of an export by name, each after those it refers to."""
    models = [model for model in apps.get_models() if issubclass(model, InNamespace) and model not in OMITTED_TABLES]
    needed: dict[Any, Any] = {
        model: [target for target in referenced_tables(model) if target is not model] for model in models
    }
    return {str(model._meta.model_name): model for model in TopologicalSorter(needed).static_order()}


def referenced_tables(table: type[Model]) -> dict[type[Model], list[str]]:
    """The tables that a table refers to, and the referring columns."""
    columns: dict[Any, list[str]] = {}
    for field in table._meta.fields:
        if isinstance(field, Reference):
            columns.setdefault(field.related_model, []).append(field.id_name)
    return columns


def exported_columns(table: type[Model]) -> dict[str, "Field[Any, Any]"]:
    """The exported columns of a table."""
    return {field.attname: field for field in table._meta.concrete_fields if field.attname not in LOCAL_COLUMNS}


def rows_sql(table: type[Model]) -> str:
    """The SQL for a namespace's rows as JSON, each after the rows of its own table that it refers to."""
    quote = connection.ops.quote_name
    name = quote(table._meta.db_table)
    values = ", ".join(f"{encoded_sql(field)} AS {quote(column)}" for column, field in exported_columns(table).items())
    key = ", ".join(f"t.{quote(str(field.column))}" for field in table._meta.pk_fields)
    self_references = [quote(column) for column in referenced_tables(table).get(table, ())]
    with_sql, join, order = "", "", key
    if self_references:
        refers = " OR ".join(f"t.{column} IS NOT NULL" for column in self_references)
        follows = " OR ".join(f"t.{column} = c.id" for column in self_references)
        with_sql = f"""
            WITH RECURSIVE chain(id, depth) AS (
                SELECT t.id, 1 FROM {name} t WHERE t.namespace_id = %(namespace)s AND ({refers})
                UNION
                SELECT t.id, c.depth + 1 FROM chain c JOIN {name} t ON {follows}
                WHERE t.namespace_id = %(namespace)s AND c.depth < {MAX_CHAIN}
            ), placed AS (SELECT id, max(depth) AS depth FROM chain GROUP BY id)
        """
        join, order = "LEFT JOIN placed p ON p.id = t.id", f"coalesce(p.depth, 0), {key}"
    return f"""
        {with_sql} SELECT row_to_json(line)::text FROM {name} t {join}
        CROSS JOIN LATERAL (SELECT '{table._meta.model_name}' AS "table", {values}) line
        WHERE t.namespace_id = %(namespace)s ORDER BY {order}
    """


def encoded_sql(field: "Field[Any, Any]") -> str:
    """A column as JSON can hold it: bytes as base64, a vector as the base64 of its big-endian 32-bit floats."""
    column = f"t.{connection.ops.quote_name(str(field.column))}"
    if isinstance(field, VectorField):
        # The first four bytes hold the number of dimensions, which follows from the length.
        column = f"substring(vector_send({column}) from 5)"
    elif not isinstance(field, BinaryField):
        return column
    return f"translate(encode({column}, 'base64'), E'\\n', '')"


def decode_row(table: type[InNamespace], values: Mapping[str, Any]) -> InNamespace:
    """A row from the values of its line; raises ValueError, TypeError or ValidationError."""
    columns = exported_columns(table)
    if unknown := sorted(set(values) - set(columns)):
        raise ValueError(f"{unknown[0]} is no column of {table._meta.model_name}; known are {', '.join(columns)}")
    return table(**{column: decode_value(columns[column], value) for column, value in values.items()})


def decode_value(field: "Field[Any, Any]", value: Any) -> Any:
    """A column's value from JSON."""
    if value is None:
        return None
    if not isinstance(field, VectorField | BinaryField):
        return field.to_python(value)
    raw = b64decode(value, validate=True)
    return np.frombuffer(raw, dtype=">f4").astype(np.float32) if isinstance(field, VectorField) else raw
