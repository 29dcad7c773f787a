"""The list of a retriever: as arrays for whoever computes, by id for whoever looks one up."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from uuid import UUID

import numpy as np

from memories.db.id_arrays import ID, Ids, to_uuids
from scoring.term import Array


class RankedList(Mapping[UUID, float]):
    """Memories that a retriever found, with its own score of each, best first; and their cosines if it knows them."""

    def __init__(self, ids: Ids, scores: Array, cosines: Array | None = None) -> None:
        self.ids, self.scores, self.cosines = ids, scores, cosines

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
