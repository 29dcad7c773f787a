"""What is stored of some memories: by column for whoever computes, one by one for whoever tells of one."""

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
Timestamps = NDArray[np.int64]  # in microseconds since then
ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # times before and after all others


class MemoryRows(Sequence[Mapping[str, Any]]):
    """Memories in the order of their ids; what can be told of one is spelt out when it is asked for, as few are."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns

    @cached_property
    def ids(self) -> Sequence[UUID]:
        """Who they are."""
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
        told = {name: self.columns[name][place] for name in ROW_FIELDS}
        return {
            "id": uuid_from_halves(*self.columns["id"][place].item()),
            **told,
            "confidence": float(told["confidence"]),
        }

    def column(self, name: str) -> Any:
        """One column, from the first row to the last."""
        return self.columns[name]


def postgres_microseconds(at: datetime) -> int:
    """A time as the database keeps it."""
    return (at - EPOCH) // MICROSECOND
