"""Quality against a trade-off: the diversity of the results, or the length of the context."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db.models.functions import Length

from memories.models import Memory, Namespace
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import Measurement
from scoring.term import Array, Mask

DIVERSITY, CONTEXT = "diversity", "context"
# Description, and whether higher is better.
TRADEOFFS: Mapping[str, tuple[str, bool]] = {
    DIVERSITY: ("diversity of the results", True),
    CONTEXT: ("context length in characters", False),
}


def tradeoff_measure(namespace: Namespace, arrays: Arrays, tradeoff: str) -> Callable[[Measurement], float]:
    """The function that measures a configuration's trade-off; memory lengths are loaded once."""
    if tradeoff == CONTEXT:
        lengths = candidate_lengths(namespace, arrays)
        return lambda measured: mean_context_length(measured, lengths)
    return result_diversity


def candidate_lengths(namespace: Namespace, arrays: Arrays) -> list[Array]:
    """Characters of each candidate, stack by stack; 0 for a deleted one."""
    ids = {UUID(str(id)) for stack in arrays.stacks for id in np.unique(stack.signals.ids)}
    rows = Memory.objects.within(namespace).filter(id__in=ids).values_list("id", Length("content"))
    lengths = {str(id): float(length) for id, length in rows}
    return [np.array([lengths.get(str(id), 0.0) for id in stack.signals.ids]) for stack in arrays.stacks]


def mean_context_length(measurement: Measurement, lengths: Sequence[Array]) -> float:
    """Mean total length of a query's results; an abstention counts as 0."""
    total = 0.0
    for stack, lengths_in_stack in zip(measurement.arrays.stacks, lengths, strict=True):
        rows = measurement.places[stack.queries]
        total += float(lengths_in_stack[rows[rows >= 0]].sum())
    return total / max(len(measurement.arrays.queries), 1)


def result_diversity(measurement: Measurement) -> float:
    """One minus the mean pairwise cosine of the results, over queries with two or more.

    For systems without vectors, the share of results from distinct sessions.
    """
    values: list[float] = []
    for stack in measurement.arrays.stacks:
        rows = measurement.places[stack.queries]
        rows = rows[(rows >= 0).sum(axis=1) > 1]
        if not len(rows):
            continue
        present = rows >= 0
        signals = stack.signals
        if signals.vectors is None:
            values += distinct_session_share(np.where(present, signals.session[rows], -1), present).tolist()
            continue
        vectors = np.where(present[:, :, None], signals.vectors_of(rows), 0.0)
        counts, total = present.sum(axis=1), vectors.sum(axis=1)
        pairwise = np.einsum("ij,ij->i", total, total) - np.einsum("ijk,ijk->i", vectors, vectors)
        values += (1.0 - pairwise / (counts * (counts - 1))).tolist()
    return float(np.mean(values)) if values else 0.0


def distinct_session_share(sessions: Array, present: Mask) -> Array:
    """The share of each row's results that are the first of their session; one without a session counts as distinct."""
    ordered = np.sort(sessions, axis=1)
    repeated = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(axis=1)
    return np.asarray(1.0 - repeated / present.sum(axis=1))


def pareto_front(quality: Array, tradeoff: Array, more_is_better: bool) -> Mask:
    """The Pareto front; the first of equal points."""
    cost = -tradeoff if more_is_better else tradeoff
    order = np.lexsort((np.arange(len(quality)), cost, -quality))
    on_front, lowest = np.zeros(len(quality), bool), np.inf
    for index in order:
        if cost[index] < lowest:
            on_front[index], lowest = True, cost[index]
    return on_front
