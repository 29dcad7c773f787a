"""The list of a retriever: as arrays for whoever computes, by id for whoever looks one up."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from uuid import UUID

import numpy as np

from memories.db.id_arrays import ID, Ids, to_uuids
from scoring.term import Array


class RankedList(Mapping[UUID, float]):
    """The memories of a retriever with its scores, best first."""

    def __init__(self, ids: Ids, scores: Array) -> None:
        self.ids, self.scores = ids, scores

    @cached_property
    def by_id(self) -> dict[UUID, float]:
        """The score of each."""
        return dict(zip(to_uuids(self.ids), self.scores.tolist(), strict=True))

    def __getitem__(self, id: UUID) -> float:
        return self.by_id[id]

    def __iter__(self) -> Iterator[UUID]:
        return iter(self.by_id)

    def __len__(self) -> int:
        return len(self.scores)


EMPTY_LIST = RankedList(np.empty(0, ID), np.empty(0))
