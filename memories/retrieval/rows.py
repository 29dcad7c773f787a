"""Rows as the database gave them: by column for whoever computes, one by one for whoever tells of one."""

from collections.abc import Mapping, Sequence
from typing import Any, overload


class Rows(Sequence[Mapping[str, Any]]):
    """Rows of the same columns; one is spelt out when it is asked for, as few of them ever are."""

    def __init__(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        self.names, self.rows = names, rows
        self.columns = dict(zip(names, zip(*rows, strict=True) if rows else ((),) * len(names), strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows": ...
    def __getitem__(self, place: int | slice) -> "Mapping[str, Any] | Rows":
        if isinstance(place, slice):
            return Rows(self.names, self.rows[place])
        return dict(zip(self.names, self.rows[place], strict=True))

    def column(self, name: str) -> tuple[Any, ...]:
        """One column, from the first row to the last."""
        return self.columns[name]
