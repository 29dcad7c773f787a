"""Pairs of facts that may contradict each other: close, about the same entities or the same property of a subject."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db.models.functions import Coalesce
from numpy.typing import NDArray

from memories.maintenance.fact_vectors import Vectors, vectors_of
from memories.models import Memory, Mention, Namespace
from memories.models.choices import ChunkLevel, Status
from scoring.policy import WritePolicyParams
from scoring.predicates import is_single_valued, normalize_predicate

Places = NDArray[np.intp]
# Of more candidates than this, a memory is compared with the closest.
CLOSEST = 32


class Pair(NamedTuple):
    """Two memories, the later one first, as an edge has them."""

    later: UUID
    earlier: UUID
    cosine: float


@dataclass(frozen=True)
class Found:
    """The candidates of some memories, and how many were left out because others are closer."""

    pairs: list[Pair]
    left_out: int


@dataclass(frozen=True)
class Field:
    """All facts of a namespace that can be found: their vectors, whom they name, what they tell of whom."""

    ids: list[UUID]
    places: dict[UUID, int]
    vectors: Vectors
    named: dict[int, list[UUID]]  # the entities of a place
    naming: dict[UUID, Places]  # the places of an entity
    topic: dict[int, tuple[UUID, str]]  # the subject and predicate of a place that tells the one value there can be
    told: dict[tuple[UUID, str], Places]

    @classmethod
    def of(cls, namespace: Namespace) -> "Field":
        """Read a namespace; three questions."""
        ids, vectors = vectors_of(namespace)
        places = {memory: place for place, memory in enumerate(ids)}
        named, naming = defaultdict(list), defaultdict(list)
        for memory, entity in Mention.objects.within(namespace).values_list("memory_id", "entity_id"):
            if (place := places.get(memory)) is not None:
                named[place].append(entity)
                naming[entity].append(place)
        topic = dict(topics(namespace, places))
        told = defaultdict(list)
        for place, about in topic.items():
            told[about].append(place)
        return cls(ids, places, vectors, named, arrays(naming), topic, arrays(told))

    def candidates(self, block: Sequence[UUID], fresh: set[UUID], policy: WritePolicyParams) -> Found:
        """The pairs of some fresh memories with all others; a pair of two fresh ones belongs to the later."""
        here = [self.places[memory] for memory in block if memory in self.places]
        cosines = self.vectors[here] @ self.vectors.T
        pairs, left_out = [], 0
        for place, row in zip(here, cosines, strict=True):
            nominated = self._others(place, row, policy).tolist()
            others = [other for other in nominated if other < place or self.ids[other] not in fresh]
            left_out += max(0, len(others) - CLOSEST)
            for other in sorted(others, key=lambda other: -row[other])[:CLOSEST]:
                first, last = sorted((place, other))
                pairs.append(Pair(self.ids[last], self.ids[first], min(float(row[other]), 1.0)))
        return Found(pairs, left_out)

    def _others(self, place: int, cosines: Vectors, policy: WritePolicyParams) -> Places:
        """The places that share enough entities with this one and are alike, or tell the same property."""
        shared = np.zeros(len(self.ids), np.intp)
        for entity in self.named.get(place, ()):
            shared[self.naming[entity]] += 1
        alike = (cosines >= policy.contradiction_low) & (cosines <= policy.contradiction_high)
        chosen = (shared >= policy.contradiction_shared) & alike
        if (about := self.topic.get(place)) is not None:
            chosen[self.told[about]] = True
        chosen[place] = False
        return np.flatnonzero(chosen)


def topics(namespace: Namespace, places: dict[UUID, int]) -> Iterator[tuple[int, tuple[UUID, str]]]:
    """The subject and predicate of each memory that tells a value, where there is only one to tell."""
    valued = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT).exclude(object="")
    whose = valued.annotate(whom=Coalesce("subject_id", "subject_fallback")).filter(whom__isnull=False)
    for memory, whom, predicate in whose.values_list("id", "whom", "predicate"):
        if memory in places and is_single_valued(predicate):
            yield places[memory], (whom, normalize_predicate(predicate))


def arrays(lists: dict[UUID, list[int]] | dict[tuple[UUID, str], list[int]]) -> dict:  # type: ignore[type-arg]
    """Lists of places as arrays, so that all are counted at once."""
    return {key: np.array(places, np.intp) for key, places in lists.items()}
