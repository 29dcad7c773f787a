"""How far two settings answer the same real question alike."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.models import Namespace, Trace
from memories.retrieval.comparing import PERSISTENCE
from memories.retrieval.query import Setting
from memories.retrieval.replaying import asks_again, ranked, stored
from memories.retrieval.retrieve import Retrieval, Stopwatch, retrieve
from memories.retrieval.tracing import query_of
from memories.tuning.tracing import DEPTH
from scoring.metrics import rank_biased_overlap

RECENT = 500  # real questions that are looked at
LOADED = 50  # of them at a time


class Overlap(NamedTuple):
    """One question answered twice: how much of the two answers is the same, and who abstains."""

    trace: UUID
    jaccard: float
    rbo: float
    silent_before: bool
    silent_after: bool

    @property
    def same(self) -> bool:
        """Whether nobody would see a difference."""
        return self.rbo > 1 - 1e-9


def recent(namespace: Namespace, count: int = RECENT) -> Iterator[Trace]:
    """What was really asked last, newest first."""
    real = Trace.objects.within(namespace).filter(shadow=False).select_related("namespace").order_by("-id")
    ids = list(real.values_list("id", flat=True)[:count])
    for start in range(0, len(ids), LOADED):
        yield from real.filter(id__in=ids[start : start + LOADED]).defer("answer")


def lives(trace: Trace, *settings: Setting) -> bool:
    """Whether one of the settings would have other candidates than the trace, so that it must be asked again."""
    return any(asks_again(trace, one) for one in settings)


def replayed(trace: Trace, before: Setting, after: Setting) -> Overlap:
    """A trace's own candidates, ranked by both."""
    batch, _ = stored(trace)
    return overlap(trace.id, *(answer(ranked(trace, batch, one, Stopwatch())) for one in (before, after)))


def asked(trace: Trace, before: Setting, after: Setting) -> Overlap:
    """A trace's question, asked of both now."""
    return overlap(trace.id, *(answer(retrieve(query_of(trace, one))) for one in (before, after)))


def answer(retrieval: Retrieval) -> list[str]:
    """The first memories of an answer; none where it abstains."""
    if retrieval.ranking.abstained:
        return []
    return [str(retrieval.batch.rows[row]["id"]) for row in retrieval.ranking.order.rows.tolist()[:DEPTH]]


def overlap(trace: UUID, before: Sequence[str], after: Sequence[str]) -> Overlap:
    """How much two answers have in common; two that are empty are the same."""
    one, other = set(before), set(after)
    jaccard = len(one & other) / len(one | other) if one or other else 1.0
    return Overlap(trace, jaccard, rank_biased_overlap(before, after, PERSISTENCE), not before, not after)


def told(found: Sequence[Overlap], most: int) -> dict[str, Any]:
    """Many questions in sum, and those whose answer changes most."""
    changed = sorted((one for one in found if not one.same), key=lambda one: (one.rbo, one.jaccard, str(one.trace)))
    return {
        "compared": len(found),
        "changed": len(changed),
        "jaccard": float(np.mean([one.jaccard for one in found])) if found else None,
        "rbo": float(np.mean([one.rbo for one in found])) if found else None,
        "newly_silent": sum(one.silent_after and not one.silent_before for one in found),
        "newly_answered": sum(one.silent_before and not one.silent_after for one in found),
        "most_changed": [{"trace": str(one.trace), "jaccard": one.jaccard, "rbo": one.rbo} for one in changed[:most]],
    }
