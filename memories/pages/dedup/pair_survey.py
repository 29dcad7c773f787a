"""The nearest pairs of a namespace and the reasons not to merge them; cached per process, invalidated by a write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from memories.db.lru_cache import LRUCache
from memories.models import Memory, Namespace, NamespaceStatistics
from memories.pages.dedup.neighbour_pairs import NeighbourPair, compare_memories
from memories.writing.comparison import (
    COMPARED_COLUMNS,
    are_consecutive,
    are_restatements,
    conflict_reasons,
    different_subjects,
    different_users,
)
from scoring.params import Number
from scoring.policy import WritePolicyParams

MAX_CACHED = 8  # namespaces
MAX_IMMEDIATE = 1_000  # memories compared while the page is rendered
SAMPLE_MAX_AGE = timedelta(minutes=10)  # until then a sample is not invalidated by writes

_escalate = WritePolicyParams.declarations()["dedup_escalate"]
assert isinstance(_escalate, Number)
MIN_COSINE = _escalate.low  # the lowest possible threshold


class SurveyPair(NamedTuple):
    """A pair of nearest neighbours, the reasons not to merge it, and whether it says the same for certain."""

    neighbours: NeighbourPair
    reasons: tuple[str, ...]
    restated: bool

    @property
    def cosine(self) -> float:
        """Cosine of the two memories."""
        return self.neighbours.cosine


class SurveyVersion(NamedTuple):
    """What a survey depends on."""

    embedder: str
    epoch: int
    writes: int


@dataclass(frozen=True)
class PairSurvey:
    """The nearest pairs of a namespace."""

    version: SurveyVersion
    pairs: Sequence[SurveyPair]  # nearest first
    memories: int
    compared: int
    method: str
    at: datetime
    took_ms: float

    @property
    def is_complete(self) -> bool:
        """Whether every memory was compared."""
        return self.compared == self.memories

    def is_current(self, version: SurveyVersion) -> bool:
        """Whether it holds for a version; a sample also for later writes, for some minutes."""
        if self.is_complete:
            return self.version == version
        return self.version[:2] == version[:2] and timezone.now() - self.at < SAMPLE_MAX_AGE


_cache = LRUCache[UUID, PairSurvey](MAX_CACHED)


def find_survey(namespace: Namespace, *, wait: bool = False) -> PairSurvey | None:
    """The cached survey or a new one; None if that takes long and the caller does not wait."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first() or NamespaceStatistics()
    version = SurveyVersion(namespace.embedder, statistics.epoch, statistics.writes)
    cached = _cache.get(namespace.id)
    if cached and cached.is_current(version):
        return cached
    if statistics.documents > MAX_IMMEDIATE and not wait:
        return None
    survey = survey_pairs(namespace, version)
    _cache.put(namespace.id, survey)
    return survey


def survey_pairs(namespace: Namespace, version: SurveyVersion) -> PairSurvey:
    """Find the nearest pairs and the reasons not to merge them."""
    began = perf_counter()
    comparison = compare_memories(namespace)
    memories = load_compared(namespace, [pair for pair in comparison.pairs if pair.cosine >= MIN_COSINE])
    pairs = [
        SurveyPair(pair, reasons_not_to_merge(pair, memories), says_the_same(pair, memories))
        for pair in comparison.pairs
    ]
    took_ms = 1000 * (perf_counter() - began)
    return PairSurvey(
        version, pairs, comparison.memories, comparison.compared, comparison.method, timezone.now(), took_ms
    )


def load_compared(namespace: Namespace, pairs: Sequence[NeighbourPair]) -> dict[UUID, Memory]:
    """The memories of some pairs, with the columns that the write path compares."""
    ids = {id for pair in pairs for id in (pair.first, pair.second)}
    return {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids).only(*COMPARED_COLUMNS)}


def reasons_not_to_merge(pair: NeighbourPair, memories: Mapping[UUID, Memory]) -> tuple[str, ...]:
    """Why the write path would not merge two memories, whatever their cosine."""
    first, second = memories.get(pair.first), memories.get(pair.second)
    if first is None or second is None:
        return ()
    differences = {
        "another subject": different_subjects,
        "another user": different_users,
        "another time": are_consecutive,
    }
    return conflict_reasons(first, second) + tuple(
        name for name, differ in differences.items() if differ(first, second)
    )


def says_the_same(pair: NeighbourPair, memories: Mapping[UUID, Memory]) -> bool:
    """Whether the write path would merge two memories of a high cosine without asking."""
    first, second = memories.get(pair.first), memories.get(pair.second)
    return first is not None and second is not None and are_restatements(first, second)
