"""Candidates of several queries, one batch after another in the same arrays: what is done batch by batch, at once.

A single query is a single batch, and every function gives for it, to the last bit, what it gives for it among others.
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
    """How many candidates each query has; none of several may be without."""

    lengths: Codes

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Codes:
        """Where each batch begins."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def of_each(self) -> Codes:
        """The batch of each candidate."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def lowest(self, values: Array, present: Mask | None = None) -> Array:
        """The least value of each batch; 0 where none is present."""
        return self._end(np.minimum, values, present, np.inf)

    def highest(self, values: Array, present: Mask | None = None) -> Array:
        """The greatest value of each batch; 0 where none is present."""
        return self._end(np.maximum, values, present, -np.inf)

    def _end(self, better: np.ufunc, values: Array, present: Mask | None, beyond: float) -> Array:
        if values.ndim == 0 or len(self) == 1:
            known = values if present is None or values.ndim == 0 else values[present]
            return np.array([better.reduce(known, axis=None) if known.size else 0.0])
        found = better.reduceat(values if present is None else np.where(present, values, beyond), self.starts)
        return np.where(np.isfinite(found), found, 0.0)

    def any(self, marked: Mask) -> Mask:
        """Whether anybody of each batch is marked."""
        return np.logical_or.reduceat(marked, self.starts) if len(marked) else np.zeros(len(self), bool)

    def told(self, of_batches: NDArray[Scalar]) -> NDArray[Scalar]:
        """What is known of each batch, told to each of its candidates; of one batch alone, once for all."""
        return of_batches.reshape(()) if len(self) == 1 else of_batches[self.of_each]

    def best(self, value: Array, ties: Codes, rows: Codes, most: int | None = None) -> Codes:
        """Of some candidates the best of each batch, at most so many, best first and batch after batch.

        Ties end at the place by id within the batch.
        """
        if len(self) == 1:
            return rows[np.lexsort((ties[rows], -value[rows]))][:most]
        if most is not None:
            rows = rows[self._leading(value, rows, most)]
        rows = self._by_id(ties, rows)
        table = self._table(rows)
        worth = np.where(table >= 0, -value[table], np.inf)
        found = np.take_along_axis(table, np.argsort(worth, axis=1, kind="stable")[:, :most], axis=1)
        return found[found >= 0]

    def _by_id(self, ties: Codes, rows: Codes) -> Codes:
        """The same rows batch after batch, each by its ids; every place is known, so nothing is sorted."""
        whole = np.full(len(ties), -1)
        whole[self.starts[self.of_each[rows]] + ties[rows]] = rows
        return whole[whole >= 0]

    def _table(self, rows: Codes) -> Codes:
        """Rows that come batch after batch, a line a batch; −1 beyond the end of one."""
        counts = self.counts(rows)
        table = np.full((len(self), int(counts.max(initial=0))), -1)
        table[np.arange(table.shape[1]) < counts[:, None]] = rows
        return table

    def leading(self, value: Array, ties: Codes, most: int) -> Mask:
        """Who is among the best so many of its batch."""
        if int(self.lengths.max(initial=0)) <= most:
            return np.ones(len(ties), bool)
        marked = np.zeros(len(ties), bool)
        marked[self.best(value, ties, np.arange(len(ties)), most)] = True
        return marked

    def _leading(self, value: Array, rows: Codes, most: int) -> Mask:
        """Which candidates have no fewer than so many above them: to sort the others would take most of the time."""
        widest, batch = int(self.lengths.max()), self.of_each[rows]
        if widest <= most:
            return np.ones(len(rows), bool)
        table = np.full((len(self), widest), -np.inf)
        table[batch, rows - self.starts[batch]] = value[rows]
        least = np.partition(table, widest - most, axis=1)[:, widest - most]
        return np.asarray(value[rows] >= least[batch])

    def counts(self, rows: Codes) -> Codes:
        """How many of some candidates each batch has."""
        return np.bincount(self.of_each[rows], minlength=len(self))

    def first(self, rows: Codes, most: int | None) -> Codes:
        """The first rows of each batch; they come batch after batch."""
        if most is None or not len(rows):
            return rows
        if len(self) == 1:
            return rows[:most]
        counts = self.counts(rows)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows[place < most]

    def parted(self, rows: Codes) -> Iterator[Codes]:
        """Rows that come batch after batch, each batch by itself."""
        if len(self) == 1:
            return iter([rows])
        return iter(np.split(rows, np.searchsorted(self.of_each[rows], np.arange(1, len(self)))))

    def of_one_size(self, rows: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Rows that come batch after batch: the batches that have as many of them, and their rows, a line a batch."""
        counts = self.counts(rows)
        begins = np.cumsum(counts) - counts
        for size in np.unique(counts[counts > 0]).tolist():
            batches = np.flatnonzero(counts == size)
            yield batches, rows[begins[batches][:, None] + np.arange(size)]

    def deviations(self, values: Array) -> Array:
        """The standard deviation of each batch."""
        found = np.zeros(len(self))
        for batches, rows in self.of_one_size(np.arange(len(values))):
            found[batches] = np.std(values[rows], axis=1)
        return found
