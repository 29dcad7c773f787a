"""Quality against what it costs: how unlike the results of an answer are, or how long they are together."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db.models.functions import Length

from memories.models import Memory, Namespace
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import Measured
from scoring.term import Array, Mask

DIVERSITY, CONTEXT = "diversity", "context"
# What quality is held against: what it says, and whether more of it is better.
AGAINST: Mapping[str, tuple[str, bool]] = {
    DIVERSITY: ("how unlike the results of an answer are", True),
    CONTEXT: ("characters that an answer hands over", False),
}


def yardstick(namespace: Namespace, arrays: Arrays, against: str) -> Callable[[Measured], float]:
    """What measures a setting by the other side; lengths are asked once for all."""
    if against == CONTEXT:
        lengths = lengths_of(namespace, arrays)
        return lambda measured: context(measured, lengths)
    return diversity


def lengths_of(namespace: Namespace, arrays: Arrays) -> list[Array]:
    """How many characters each candidate has, stack by stack; one that is gone has none."""
    wanted = {UUID(str(id)) for stack in arrays.stacks for id in np.unique(stack.signals.ids)}
    rows = Memory.objects.within(namespace).filter(id__in=wanted).values_list("id", Length("content"))
    known = {str(id): float(length) for id, length in rows}
    return [np.array([known.get(str(id), 0.0) for id in stack.signals.ids]) for stack in arrays.stacks]


def context(measured: Measured, lengths: Sequence[Array]) -> float:
    """The mean length of an answer's memories together; a query that is not answered hands over nothing."""
    total = 0.0
    for stack, length in zip(measured.arrays.stacks, lengths, strict=True):
        places = measured.places[stack.queries]
        total += float(length[places[places >= 0]].sum())
    return total / max(len(measured.arrays.queries), 1)


def diversity(measured: Measured) -> float:
    """One less the mean cosine of two results, over answers of two or more.

    Where a system reads no vectors, the share of results that are each of a session of their own stands in.
    """
    found: list[float] = []
    for stack in measured.arrays.stacks:
        places = measured.places[stack.queries]
        places = places[(places >= 0).sum(axis=1) > 1]
        if not len(places):
            continue
        there = places >= 0
        signals = stack.signals
        if signals.vectors is None:
            found += distinct(np.where(there, signals.session[places], -1), there).tolist()
            continue
        vectors = np.where(there[:, :, None], signals.vectors_of(places), 0.0)
        count, whole = there.sum(axis=1), vectors.sum(axis=1)
        among = np.einsum("ij,ij->i", whole, whole) - np.einsum("ijk,ijk->i", vectors, vectors)
        found += (1.0 - among / (count * (count - 1))).tolist()
    return float(np.mean(found)) if found else 0.0


def distinct(sessions: Array, there: Mask) -> Array:
    """The share of each row's results that are the first of their session; what has none is one by itself."""
    ordered = np.sort(sessions, axis=1)
    repeated = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(axis=1)
    return np.asarray(1.0 - repeated / there.sum(axis=1))


def front(quality: Array, other: Array, more_is_better: bool) -> Mask:
    """Which settings no other one beats on one side without losing on the other; of equals the first."""
    cost = -other if more_is_better else other
    order = np.lexsort((np.arange(len(quality)), cost, -quality))
    marked, least = np.zeros(len(quality), bool), np.inf
    for place in order:
        if cost[place] < least:
            marked[place], least = True, cost[place]
    return marked
