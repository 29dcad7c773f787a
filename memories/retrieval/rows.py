"""What is stored of some memories: by column for whoever computes, one by one for whoever tells of one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.wire import Ids

EPOCH, MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
TOLD = ("type", "level", "status", "content", "confidence")
Moments = NDArray[np.int64]  # in microseconds since then
ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # times before and after all others


class Rows(Sequence[Mapping[str, Any]]):
    """Memories in the order of their ids; what can be told of one is spelt out when it is asked for, as few are."""

    def __init__(self, ids: Sequence[UUID], columns: Mapping[str, Any]) -> None:
        self.ids, self.columns = ids, columns

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        told = {name: self.columns[name][place] for name in TOLD}
        return {"id": self.ids[place], **told, "confidence": float(told["confidence"])}

    def column(self, name: str) -> Any:
        """One column, from the first row to the last."""
        return self.columns[name]


def uuids(ids: Ids) -> list[UUID]:
    """Ids as others know them."""
    return [UUID(int=head << 64 | tail) for head, tail in ids.tolist()]


def halves(id: UUID) -> tuple[int, int]:
    """An id as a column of ids has it."""
    return id.int >> 64, id.int & (2**64 - 1)


def moment(time: datetime) -> int:
    """A time as the database keeps it."""
    return (time - EPOCH) // MICROSECOND
