"""The vectors of a namespace's facts as arrays."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memories.models import Namespace
from memories.writing.vector_cache import SEARCHABLE_SQL

Vectors = NDArray[np.float32]


def load_fact_vectors(namespace: Namespace, ids: Sequence[UUID] | None = None) -> tuple[list[UUID], Vectors]:
    """The searchable facts, all or some, by id, and their vectors of the namespace's embedder."""
    chosen = "" if ids is None else "AND v.memory_id = ANY(%(ids)s)"
    values: dict[str, Any] = {"namespace": namespace.id, "embedder": namespace.embedder, "ids": ids and list(ids)}
    with connection.cursor() as cursor:
        # As bytes: parsing a vector's text takes twenty times as long.
        cursor.execute(
            f"SELECT v.memory_id, vector_send(v.vector) {SEARCHABLE_SQL} {chosen} ORDER BY v.memory_id", values
        )
        rows = cursor.fetchall()
    return [row[0] for row in rows], unpack_vectors([row[1] for row in rows])


def unpack_vectors(sent: Sequence[Any]) -> Vectors:
    """Vectors of one length from pgvector's binary format: a four-byte header, then big-endian 32-bit floats."""
    if not sent:
        return np.zeros((0, 0), np.float32)
    packed = np.frombuffer(b"".join(map(bytes, sent)), ">f4").reshape(len(sent), -1)
    return packed[:, 1:].astype(np.float32)
