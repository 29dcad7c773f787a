"""Vectors in pgvector's binary format, registered through psycopg's adapters."""

from typing import Any
from weakref import WeakSet

import psycopg
from pgvector import Vector
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

Connection = psycopg.Connection[Any]


class VectorDumper(Dumper):
    """A vector in pgvector's binary format; the statement casts it by `::vector`."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        packed: bytes = obj.to_binary()
        return packed


_registered: WeakSet[Connection] = WeakSet()


def register_adapters(raw: Connection) -> None:
    """Register them on a connection, once."""
    if raw not in _registered:
        raw.adapters.register_dumper(Vector, VectorDumper)
        _registered.add(raw)
