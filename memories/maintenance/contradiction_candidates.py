"""Pairs of facts that may contradict each other: similar facts about the same entities, or one property twice."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db.models.functions import Coalesce
from numpy.typing import NDArray

from memories.maintenance.fact_vectors import Vectors, load_fact_vectors
from memories.models import Memory, Mention, Namespace
from memories.models.choices import ChunkLevel, Status
from scoring.policy import WritePolicyParams
from scoring.predicates import is_single_valued, normalize_predicate

Indices = NDArray[np.intp]
MAX_COMPARED = 32  # candidates per memory, the most similar first


class MemoryPair(NamedTuple):
    """Two memories, the later one first, as in an edge."""

    later: UUID
    earlier: UUID
    cosine: float


@dataclass(frozen=True)
class CandidatePairs:
    """The candidate pairs of some memories, and how many more exceeded `MAX_COMPARED`."""

    pairs: list[MemoryPair]
    left_out: int


@dataclass(frozen=True)
class FactIndex:
    """All searchable facts of a namespace by row number: vectors, mentioned entities, single-valued properties."""

    ids: list[UUID]
    rows: dict[UUID, int]
    vectors: Vectors
    entities: dict[int, list[UUID]]  # by row
    rows_by_entity: dict[UUID, Indices]
    properties: dict[int, tuple[UUID, str]]  # subject and single-valued predicate, by row
    rows_by_property: dict[tuple[UUID, str], Indices]

    @classmethod
    def load(cls, namespace: Namespace) -> "FactIndex":
        """Load a namespace with three SQL queries."""
        ids, vectors = load_fact_vectors(namespace)
        rows = {memory: row for row, memory in enumerate(ids)}
        entities, rows_by_entity = defaultdict(list), defaultdict(list)
        for memory, entity in Mention.objects.within(namespace).values_list("memory_id", "entity_id"):
            if (row := rows.get(memory)) is not None:
                entities[row].append(entity)
                rows_by_entity[entity].append(row)
        properties = dict(single_valued_properties(namespace, rows))
        rows_by_property = defaultdict(list)
        for row, subject_predicate in properties.items():
            rows_by_property[subject_predicate].append(row)
        by_entity, by_property = index_arrays(rows_by_entity), index_arrays(rows_by_property)
        return cls(ids, rows, vectors, entities, by_entity, properties, by_property)

    def candidates(self, batch: Sequence[UUID], fresh: set[UUID], policy: WritePolicyParams) -> CandidatePairs:
        """Pairs of some fresh memories with all others; a pair of two fresh ones counts for the later."""
        own_rows = [self.rows[memory] for memory in batch if memory in self.rows]
        pairs, left_out = [], 0
        for row, cosines in zip(own_rows, self.vectors[own_rows] @ self.vectors.T, strict=True):
            candidate_rows = self._candidate_rows(row, cosines, policy).tolist()
            others = [other for other in candidate_rows if other < row or self.ids[other] not in fresh]
            left_out += max(0, len(others) - MAX_COMPARED)
            for other in sorted(others, key=lambda other: -cosines[other])[:MAX_COMPARED]:
                first, last = sorted((row, other))
                pairs.append(MemoryPair(self.ids[last], self.ids[first], min(float(cosines[other]), 1.0)))
        return CandidatePairs(pairs, left_out)

    def _candidate_rows(self, row: int, cosines: Vectors, policy: WritePolicyParams) -> Indices:
        """Rows that are similar and share enough entities with this one, or have the same property."""
        shared = np.zeros(len(self.ids), np.intp)
        for entity in self.entities.get(row, ()):
            shared[self.rows_by_entity[entity]] += 1
        similar = (cosines >= policy.contradiction_low) & (cosines <= policy.contradiction_high)
        chosen = (shared >= policy.contradiction_shared) & similar
        if (subject_predicate := self.properties.get(row)) is not None:
            chosen[self.rows_by_property[subject_predicate]] = True
        chosen[row] = False
        return np.flatnonzero(chosen)


def single_valued_properties(namespace: Namespace, rows: dict[UUID, int]) -> Iterator[tuple[int, tuple[UUID, str]]]:
    """The row, subject and predicate of each fact that states a single-valued property."""
    facts = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT).exclude(object="")
    about = facts.annotate(about=Coalesce("subject_id", "subject_fallback")).filter(about__isnull=False)
    for memory, subject, predicate in about.values_list("id", "about", "predicate"):
        if memory in rows and is_single_valued(predicate):
            yield rows[memory], (subject, normalize_predicate(predicate))


def index_arrays(lists: dict[UUID, list[int]] | dict[tuple[UUID, str], list[int]]) -> dict:  # type: ignore[type-arg]
    """Lists of rows as index arrays."""
    return {key: np.array(rows, np.intp) for key, rows in lists.items()}
