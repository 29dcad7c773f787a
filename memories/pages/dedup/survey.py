"""The nearest pairs of a namespace with what keeps them apart, held until something is written."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from memories.models import Memory, Namespace, NamespaceStatistics
from memories.pages.dedup.nearest import Near, compared
from memories.writing.comparison import (
    COMPARED_COLUMNS,
    are_consecutive,
    conflict_reasons,
    different_subjects,
    different_users,
)
from scoring.params import Number
from scoring.policy import WritePolicyParams

HELD = 8  # namespaces
AT_ONCE = 1_000  # memories that are compared while a page is made
LASTING = timedelta(minutes=10)  # for which a sample is good enough although more was written

_escalate = WritePolicyParams.declarations()["dedup_escalate"]
assert isinstance(_escalate, Number)
LEAST = _escalate.low  # below, no threshold reaches


class Pair(NamedTuple):
    """Two memories that are near, and why they cannot be one."""

    near: Near
    reasons: tuple[str, ...]


class Moment(NamedTuple):
    """What a survey depends on."""

    embedder: str
    epoch: int
    writes: int


@dataclass(frozen=True)
class Survey:
    """What was found when a namespace was last looked through."""

    moment: Moment
    pairs: Sequence[Pair]  # nearest first
    memories: int
    asked: int
    way: str
    at: datetime
    took_ms: float

    @property
    def whole(self) -> bool:
        """Whether each memory was asked about."""
        return self.asked == self.memories

    def holds(self, now: Moment) -> bool:
        """Whether it still tells how things stand."""
        if self.whole:
            return self.moment == now
        return self.moment[:2] == now[:2] and timezone.now() - self.at < LASTING


_held: OrderedDict[UUID, Survey] = OrderedDict()
_holding = threading.Lock()


def known(namespace: Namespace, *, patient: bool = False) -> Survey | None:
    """What is known, or can be found out at once; whoever is patient waits for the rest too."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first() or NamespaceStatistics()
    now = Moment(namespace.embedder, statistics.epoch, statistics.writes)
    with _holding:
        held = _held.get(namespace.id)
    if held and held.holds(now):
        return held
    if statistics.documents > AT_ONCE and not patient:
        return None
    fresh = surveyed(namespace, now)
    with _holding:
        _held[namespace.id] = fresh
        _held.move_to_end(namespace.id)
        while len(_held) > HELD:
            _held.popitem(last=False)
    return fresh


def surveyed(namespace: Namespace, now: Moment) -> Survey:
    """Look through a namespace."""
    began = perf_counter()
    found = compared(namespace)
    rows = texts(namespace, [pair for pair in found.pairs if pair.cosine >= LEAST])
    pairs = [Pair(pair, reasons(pair, rows)) for pair in found.pairs]
    took = 1000 * (perf_counter() - began)
    return Survey(now, pairs, found.memories, found.asked, found.way, timezone.now(), took)


def texts(namespace: Namespace, pairs: Sequence[Near]) -> dict[UUID, Memory]:
    """What the memories of some pairs say, as far as the check reads it."""
    ids = {id for pair in pairs for id in (pair.first, pair.second)}
    return {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids).only(*COMPARED_COLUMNS)}


def reasons(pair: Near, rows: Mapping[UUID, Memory]) -> tuple[str, ...]:
    """Why a write would not take two memories for one, however near they are."""
    one, two = rows.get(pair.first), rows.get(pair.second)
    if one is None or two is None:
        return ()
    found = conflict_reasons(one, two)
    others = {"another subject": different_subjects, "another user": different_users, "another time": are_consecutive}
    return found + tuple(name for name, told in others.items() if told(one, two))
