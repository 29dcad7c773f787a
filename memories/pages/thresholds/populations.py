"""What a threshold decides on: things of a namespace, and the decision on each under any values."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from uuid import UUID

from django.utils import timezone

from memories.db.lru_cache import LRUCache
from memories.models import Namespace, NamespaceStatistics
from memories.retrieval.query import Config

MAX_CACHED = 64  # populations and samples per process
MAX_DECISIONS = 64  # sets of values whose decisions are cached with a population
MAX_AGE = timedelta(minutes=10)  # ages and recent queries move without a write

T = TypeVar("T")
Values: TypeAlias = Mapping[str, Any]  # of parameters, by name
_cache = LRUCache[tuple[UUID, Hashable], tuple[datetime, Any]](MAX_CACHED)


class NothingToCount(NamedTuple):
    """Why a threshold decides on nothing here, and what would change that."""

    reason: str
    remedy: str
    page: str = ""  # name of the page where


class DecisionLabels(NamedTuple):
    """What decisions count as: the names that are always told, and those of one decision."""

    names: Sequence[str] = ()
    of: Callable[[Any], Sequence[str]] = lambda decision: ()


def label_if(name: str, holds: Callable[[Any], Any] = bool) -> DecisionLabels:
    """One label, of decisions of which something holds."""
    return DecisionLabels((name,), lambda decision: (name,) if holds(decision) else ())


@dataclass(frozen=True, eq=False)
class Population:
    """Things that a threshold decides on; `labels` says what a decision counts as."""

    unit: str
    plural: str
    size: int
    total: int  # more than the size of a sample
    decide: Callable[[Values], Sequence[Hashable]]  # one decision each, in the same order
    labels: DecisionLabels = DecisionLabels()
    kind: str = ""  # which they are
    coarser: tuple[str, Callable[[Any], Hashable]] | None = None  # what some of the changes are, and a coarser decision
    decisions: LRUCache[Hashable, Sequence[Hashable]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_DECISIONS)
    )

    def decisions_under(self, values: Values) -> Sequence[Hashable]:
        """The decisions under some values."""
        return self.decisions.get_or_compute(tuple(sorted(values.items())), lambda: self.decide(values))

    def count_changed(self, before: Values, after: Values) -> int:
        """How many decisions differ between two sets of values."""
        pairs = zip(self.decisions_under(before), self.decisions_under(after), strict=True)
        return sum(one != other for one, other in pairs)

    def count_coarsely_changed(self, before: Values, after: Values) -> int:
        """How many of them differ coarsely."""
        assert self.coarser is not None
        sides = (map(self.coarser[1], self.decisions_under(values)) for values in (before, after))
        return sum(one != other for one, other in zip(*sides, strict=True))

    def count_labels(self, values: Values) -> Counter[str]:
        """The labels of the decisions under some values."""
        return Counter(label for decision in self.decisions_under(values) for label in self.labels.of(decision))

    @property
    def size_text(self) -> str:
        """How many there are, and of how many they are a sample."""
        noun = self.unit if self.total == 1 else self.plural
        sample = f"a sample of {self.size:,} of " if self.size < self.total else ""
        return f"{sample}{self.total:,} {noun}{f' {self.kind}' if self.kind else ''}"


Counted: TypeAlias = Population | NothingToCount
Loader: TypeAlias = Callable[[Namespace, Any], Counted]  # of a namespace, and its write policy or a configuration


def cached_until_write(namespace: Namespace, key: Hashable, load: Callable[[], T]) -> T:
    """A sample as of the namespace's latest write, loaded again after some minutes."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).only("epoch", "writes").first()
    version = (namespace.embedder, *((statistics.epoch, statistics.writes) if statistics else ()))
    entry = _cache.get((namespace.id, key), version=version)
    if entry is None or timezone.now() - entry[0] > MAX_AGE:
        entry = timezone.now(), load()
        _cache.put((namespace.id, key), entry, version=version)
    return cast(T, entry[1])


def cached_population(load: Loader) -> Loader:
    """A loader whose population is cached with its decisions, per write policy or configuration."""

    @wraps(load)
    def wrapper(namespace: Namespace, start: Any) -> Counted:
        values = (start.system.name, tuple(sorted(start.given.items()))) if isinstance(start, Config) else start
        return cached_until_write(namespace, (load.__name__, values), lambda: load(namespace, start))

    return wrapper
