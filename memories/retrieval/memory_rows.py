"""Rows of memories, stored by column."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.db.id_arrays import Ids, to_uuids, uuid_from_halves

EPOCH, MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
ROW_FIELDS = ("type", "level", "status", "content", "confidence")
Timestamps = NDArray[np.int64]  # microseconds since EPOCH, as Postgres stores them
ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # -infinity and infinity


class MemoryRows(Sequence[Mapping[str, Any]]):
    """Memories in id order; a row is built when it is read, as few are."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns

    @cached_property
    def ids(self) -> Sequence[UUID]:
        """Their ids."""
        stored: Ids = self.columns["id"]
        return to_uuids(stored)

    def __len__(self) -> int:
        return len(self.columns["id"])

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        fields = {name: self.columns[name][place] for name in ROW_FIELDS}
        id = uuid_from_halves(*self.columns["id"][place].item())
        return {"id": id, **fields, "confidence": float(fields["confidence"])}

    def column(self, name: str) -> Any:
        """One column."""
        return self.columns[name]


def postgres_microseconds(at: datetime) -> int:
    """A datetime as Postgres stores it."""
    return (at - EPOCH) // MICROSECOND
