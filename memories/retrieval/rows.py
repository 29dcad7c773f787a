"""What is stored of some memories: by column for whoever computes, one by one for whoever tells of one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.id_arrays import Ids, uuid_of, uuids

EPOCH, MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
TOLD = ("type", "level", "status", "content", "confidence")
Moments = NDArray[np.int64]  # in microseconds since then
ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # times before and after all others


class Rows(Sequence[Mapping[str, Any]]):
    """Memories in the order of their ids; what can be told of one is spelt out when it is asked for, as few are."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns

    @cached_property
    def ids(self) -> Sequence[UUID]:
        """Who they are."""
        stored: Ids = self.columns["id"]
        return uuids(stored)

    def __len__(self) -> int:
        return len(self.columns["id"])

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        told = {name: self.columns[name][place] for name in TOLD}
        return {"id": uuid_of(*self.columns["id"][place].item()), **told, "confidence": float(told["confidence"])}

    def column(self, name: str) -> Any:
        """One column, from the first row to the last."""
        return self.columns[name]


def moment(time: datetime) -> int:
    """A time as the database keeps it."""
    return (time - EPOCH) // MICROSECOND
