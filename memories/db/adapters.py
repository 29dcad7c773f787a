"""Vectors and arrays in Postgres' binary format, registered through psycopg's adapters.

Django's own cursors use the text format, so binary loaders and dumpers do not affect them.
"""

from typing import Any
from weakref import WeakSet

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader, PyFormat
from psycopg.pq import Format

from memories.db.id_arrays import ID

Connection = psycopg.Connection[Any]
# Header of a binary array: dimensions, has-null flag and element type; then size and lower bound per dimension.
HEADER_BYTES, DIMENSION_BYTES = 12, 8


class VectorDumper(Dumper):
    """A vector in pgvector's binary format; the statement casts it by `::vector`."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        packed: bytes = obj.to_binary()
        return packed


class ArrayDumper(Dumper):
    """A numpy array of floats or ids as `float8[]` or `uuid[]`."""

    format = Format.BINARY

    def __init__(self, cls: type, context: Any = None, dtype: np.dtype[Any] | None = None) -> None:
        super().__init__(cls, context)
        element = adapters.types["uuid" if dtype == ID else "float8"]
        self.element_dtype: np.dtype[Any] = ID.newbyteorder(">") if dtype == ID else np.dtype(">f8")
        self.element_oid, self.oid = element.oid, element.array_oid

    def get_key(self, obj: NDArray[Any], format: PyFormat) -> Any:
        return self.cls, obj.dtype == ID

    def upgrade(self, obj: NDArray[Any], format: PyFormat) -> "ArrayDumper":
        return ArrayDumper(self.cls, None, obj.dtype)

    def dump(self, obj: NDArray[Any]) -> Buffer:
        elements = np.empty(len(obj), [("size", ">i4"), ("value", self.element_dtype)])
        elements["size"], elements["value"] = self.element_dtype.itemsize, obj
        return np.array([1, 0, self.element_oid, len(obj), 1], ">i4").tobytes() + elements.tobytes()


def array_loader(dtype: np.dtype[Any]) -> type[Loader]:
    """A loader of arrays without NULL into numpy, about ten times as fast as loading each value."""
    element = np.dtype([("size", ">i4"), ("value", dtype.newbyteorder(">"))])

    class ArrayLoader(Loader):
        format = Format.BINARY

        def load(self, data: Buffer) -> NDArray[Any]:
            dimensions, has_null = np.frombuffer(data, ">i4", 2).tolist()
            if has_null:
                raise ValueError("an array loaded into numpy must hold no NULL")
            if not dimensions:
                return np.empty(0, dtype)
            shape = np.frombuffer(data, ">i4", 2 * dimensions, HEADER_BYTES)[::2]
            elements = np.frombuffer(data, element, offset=HEADER_BYTES + DIMENSION_BYTES * dimensions)
            return elements["value"].astype(dtype).reshape(shape)

    return ArrayLoader


# Timestamps as microseconds since 2000, as Postgres stores them.
ARRAY_LOADERS = {
    "int4": array_loader(np.dtype(np.int32)),
    "int8": array_loader(np.dtype(np.int64)),
    "float8": array_loader(np.dtype(np.float64)),
    "timestamptz": array_loader(np.dtype(np.int64)),
    "uuid": array_loader(ID),
}

_registered: WeakSet[Connection] = WeakSet()


def register_adapters(raw: Connection) -> None:
    """Register the adapters on a connection, once."""
    if raw in _registered:
        return
    raw.adapters.register_dumper(Vector, VectorDumper)
    raw.adapters.register_dumper(np.ndarray, ArrayDumper)
    for name, loader in ARRAY_LOADERS.items():
        raw.adapters.register_loader(raw.adapters.types[name].array_oid, loader)
    _registered.add(raw)
