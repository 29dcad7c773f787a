"""The tables and columns of an export, as the models declare them, and their values as JSON holds them."""

from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from django.apps import apps
from django.db import connection
from django.db.models import BinaryField, Field, Model
from pgvector.django import VectorField

from memories.models import (
    ApiKey,
    IdempotencyRecord,
    Job,
    MemoryVector,
    PooledMemory,
    Posting,
    TermStatistic,
    TokenStates,
    Trace,
    TracedQuery,
    TracedSet,
)
from memories.models.keys import InNamespace
from memories.models.references import Reference

# Secrets, what passes, and what the words of the memories and asking again give anew.
LEFT_OUT: tuple[type[Model], ...] = (
    ApiKey,
    IdempotencyRecord,
    Job,
    Trace,
    PooledMemory,
    Posting,
    TermStatistic,
    TracedQuery,
    TracedSet,
)
VECTORS: tuple[type[Model], ...] = (MemoryVector, TokenStates)
OF_THE_PLACE = ("namespace_id", "written", "indexed")  # which another database gives anew
LONGEST_CHAIN = 10_000  # rows that refer to each other; rows in a circle come last, and a restore refuses them


@cache
def tables() -> dict[str, type[InNamespace]]:
    """Every table of an export by its name, each after those it refers to."""
    models = [model for model in apps.get_models() if issubclass(model, InNamespace) and model not in LEFT_OUT]
    needed: dict[Any, Any] = {model: [to for to in referred(model) if to is not model] for model in models}
    return {str(model._meta.model_name): model for model in TopologicalSorter(needed).static_order()}


def referred(table: type[Model]) -> dict[type[Model], list[str]]:
    """The tables that a table refers to, with the columns it does so by."""
    found: dict[Any, list[str]] = {}
    for field in table._meta.fields:
        if isinstance(field, Reference):
            found.setdefault(field.related_model, []).append(field.id_name)
    return found


def columns(table: type[Model]) -> dict[str, "Field[Any, Any]"]:
    """The columns of a table's rows; in which namespace they lie is said once, by the header."""
    return {field.attname: field for field in table._meta.concrete_fields if field.attname not in OF_THE_PLACE}


def question(table: type[Model]) -> str:
    """The SQL that tells a namespace's rows as JSON, each after those of its own table that it refers to."""
    quoted = connection.ops.quote_name
    name = quoted(table._meta.db_table)
    values = ", ".join(f"{packed(field)} AS {quoted(column)}" for column, field in columns(table).items())
    key = ", ".join(f"t.{quoted(str(field.column))}" for field in table._meta.pk_fields)
    own = [quoted(column) for column in referred(table).get(table, ())]
    begin, join, order = "", "", key
    if own:
        refers = " OR ".join(f"t.{column} IS NOT NULL" for column in own)
        follows = " OR ".join(f"t.{column} = c.id" for column in own)
        begin = f"""
            WITH RECURSIVE chain(id, depth) AS (
                SELECT t.id, 1 FROM {name} t WHERE t.namespace_id = %(namespace)s AND ({refers})
                UNION
                SELECT t.id, c.depth + 1 FROM chain c JOIN {name} t ON {follows}
                WHERE t.namespace_id = %(namespace)s AND c.depth < {LONGEST_CHAIN}
            ), placed AS (SELECT id, max(depth) AS depth FROM chain GROUP BY id)
        """
        join, order = "LEFT JOIN placed p ON p.id = t.id", f"coalesce(p.depth, 0), {key}"
    return f"""
        {begin} SELECT row_to_json(line)::text FROM {name} t {join}
        CROSS JOIN LATERAL (SELECT '{table._meta.model_name}' AS "table", {values}) line
        WHERE t.namespace_id = %(namespace)s ORDER BY {order}
    """


def packed(field: "Field[Any, Any]") -> str:
    """A column as JSON can hold it: bytes in base64, a vector as its big-endian 32-bit numbers in base64."""
    column = f"t.{connection.ops.quote_name(str(field.column))}"
    if isinstance(field, VectorField):
        # The first four bytes count the dimensions, which the length tells too.
        column = f"substring(vector_send({column}) from 5)"
    elif not isinstance(field, BinaryField):
        return column
    return f"translate(encode({column}, 'base64'), E'\\n', '')"


def unpacked(table: type[InNamespace], values: Mapping[str, Any]) -> InNamespace:
    """A row from what its line holds; raises ValueError, TypeError or ValidationError where it cannot be one."""
    known = columns(table)
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(f"{unknown[0]} is no column of {table._meta.model_name}; known are {', '.join(known)}")
    return table(**{column: unpacked_value(known[column], value) for column, value in values.items()})


def unpacked_value(field: "Field[Any, Any]", value: Any) -> Any:
    """A column's value from JSON."""
    if value is None:
        return None
    if not isinstance(field, VectorField | BinaryField):
        return field.to_python(value)
    raw = b64decode(value, validate=True)
    return np.frombuffer(raw, dtype=">f4").astype(np.float32) if isinstance(field, VectorField) else raw
