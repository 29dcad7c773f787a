"""Vectorised per-batch operations: candidates of several queries, concatenated in the same arrays.

A single query is a single batch. Results for a batch are bit-identical whether it is alone or stacked with others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Codes, Mask

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Batches:
    """Batch lengths; with more than one batch, none may be empty."""

    lengths: Codes

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Codes:
        """The offset of each batch."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def batch_index(self) -> Codes:
        """The batch index of each candidate."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def minimum(self, values: Array, present: Mask | None = None) -> Array:
        """The minimum of each batch; 0 where no value is present."""
        return self._reduce(np.minimum, values, present, np.inf)

    def maximum(self, values: Array, present: Mask | None = None) -> Array:
        """The maximum of each batch; 0 where no value is present."""
        return self._reduce(np.maximum, values, present, -np.inf)

    def _reduce(self, ufunc: np.ufunc, values: Array, present: Mask | None, neutral: float) -> Array:
        if values.ndim == 0 or len(self) == 1:
            selected = values if present is None or values.ndim == 0 else values[present]
            return np.array([ufunc.reduce(selected, axis=None) if selected.size else 0.0])
        result = ufunc.reduceat(values if present is None else np.where(present, values, neutral), self.starts)
        return np.where(np.isfinite(result), result, 0.0)

    def any(self, mask: Mask) -> Mask:
        """Whether the mask is true anywhere in each batch."""
        return np.logical_or.reduceat(mask, self.starts) if len(mask) else np.zeros(len(self), bool)

    def broadcast(self, per_batch: NDArray[Scalar]) -> NDArray[Scalar]:
        """Broadcast per-batch values to candidates; a scalar if there is only one batch."""
        return per_batch.reshape(()) if len(self) == 1 else per_batch[self.batch_index]

    def top(self, value: Array, ties: Codes, rows: Codes, limit: int | None = None) -> Codes:
        """The top candidates of each batch among `rows`, best first, batches concatenated.

        Ties are broken by id within the batch.
        """
        if len(self) == 1:
            return rows[np.lexsort((ties[rows], -value[rows]))][:limit]
        if limit is not None:
            rows = rows[self._candidates_for_top(value, rows, limit)]
        rows = self._order_by_id(ties, rows)
        table = self._table(rows)
        keys = np.where(table >= 0, -value[table], np.inf)
        top = np.take_along_axis(table, np.argsort(keys, axis=1, kind="stable")[:, :limit], axis=1)
        return top[top >= 0]

    def _order_by_id(self, ties: Codes, rows: Codes) -> Codes:
        """The rows grouped by batch and ordered by id; id ranks are known, so no sort is needed."""
        slots = np.full(len(ties), -1)
        slots[self.starts[self.batch_index[rows]] + ties[rows]] = rows
        return slots[slots >= 0]

    def _table(self, rows: Codes) -> Codes:
        """Rows grouped by batch as a 2-D table, one line per batch, padded with −1."""
        counts = self.counts(rows)
        table = np.full((len(self), int(counts.max(initial=0))), -1)
        table[np.arange(table.shape[1]) < counts[:, None]] = rows
        return table

    def top_mask(self, value: Array, ties: Codes, limit: int, among: Mask) -> Mask:
        """Mask of the top candidates `among` each batch."""
        if int(self.lengths.max(initial=0)) <= limit:
            return among
        mask = np.zeros(len(ties), bool)
        mask[self.top(value, ties, np.flatnonzero(among), limit)] = True
        return mask

    def _candidates_for_top(self, value: Array, rows: Codes, limit: int) -> Mask:
        """Mask of candidates that can be in the top; partitioning first avoids sorting the rest."""
        widest, batch = int(self.lengths.max()), self.batch_index[rows]
        if widest <= limit:
            return np.ones(len(rows), bool)
        table = np.full((len(self), widest), -np.inf)
        table[batch, rows - self.starts[batch]] = value[rows]
        threshold = np.partition(table, widest - limit, axis=1)[:, widest - limit]
        return np.asarray(value[rows] >= threshold[batch])

    def counts(self, rows: Codes) -> Codes:
        """The number of rows in each batch."""
        return np.bincount(self.batch_index[rows], minlength=len(self))

    def first(self, rows: Codes, limit: int | None) -> Codes:
        """The first rows of each batch; rows must be grouped by batch."""
        if limit is None or not len(rows):
            return rows
        if len(self) == 1:
            return rows[:limit]
        counts = self.counts(rows)
        position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows[position < limit]

    def split(self, rows: Codes) -> Iterator[Codes]:
        """Split rows, grouped by batch, into one array per batch."""
        if len(self) == 1:
            return iter([rows])
        return iter(np.split(rows, np.searchsorted(self.batch_index[rows], np.arange(1, len(self)))))

    def by_size(self, rows: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Batches with equally many rows: their indices, and their rows as a 2-D array, one line per batch."""
        counts = self.counts(rows)
        offsets = np.cumsum(counts) - counts
        for size in np.unique(counts[counts > 0]).tolist():
            batches = np.flatnonzero(counts == size)
            yield batches, rows[offsets[batches][:, None] + np.arange(size)]

    def standard_deviations(self, values: Array, rows: Codes) -> Array:
        """The standard deviation of some rows, grouped by batch, in each batch; 0 for a batch without any."""
        deviations = np.zeros(len(self))
        for batches, lines in self.by_size(rows):
            deviations[batches] = np.std(values[lines], axis=1)
        return deviations
