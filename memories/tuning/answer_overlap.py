"""How far two settings answer the same real question alike."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.models import Namespace, Trace
from memories.retrieval.compare import PERSISTENCE
from memories.retrieval.query import Config
from memories.retrieval.replay import load_trace_candidates, params_needing_rerun, rank_trace
from memories.retrieval.retrieve import Retrieval, Stopwatch, retrieve
from memories.retrieval.trace import query_from_trace
from memories.tuning.traced_sets import DEPTH
from scoring.metrics import rank_biased_overlap

MAX_TRACES = 500  # real questions that are looked at
CHUNK_SIZE = 50  # of them at a time


class Overlap(NamedTuple):
    """One question answered twice: how much of the two answers is the same, and who abstains."""

    trace: UUID
    jaccard: float
    rbo: float
    abstained_before: bool
    abstained_after: bool

    @property
    def identical(self) -> bool:
        """Whether nobody would see a difference."""
        return self.rbo > 1 - 1e-9


def recent_traces(namespace: Namespace, limit: int = MAX_TRACES) -> Iterator[Trace]:
    """What was really asked last, newest first."""
    real = Trace.objects.within(namespace).filter(shadow=False).select_related("namespace").order_by("-id")
    ids = list(real.values_list("id", flat=True)[:limit])
    for start in range(0, len(ids), CHUNK_SIZE):
        yield from real.filter(id__in=ids[start : start + CHUNK_SIZE]).defer("answer")


def needs_new_query(trace: Trace, *configs: Config) -> bool:
    """Whether one of the settings would have other candidates than the trace, so that it must be asked again."""
    return any(params_needing_rerun(trace, one) for one in configs)


def replay_overlap(trace: Trace, before: Config, after: Config) -> Overlap:
    """A trace's own candidates, ranked by both."""
    batch, _ = load_trace_candidates(trace)
    return answer_overlap(
        trace.id, *(answer_ids(rank_trace(trace, batch, one, Stopwatch())) for one in (before, after))
    )


def live_overlap(trace: Trace, before: Config, after: Config) -> Overlap:
    """A trace's question, asked of both now."""
    return answer_overlap(trace.id, *(answer_ids(retrieve(query_from_trace(trace, one))) for one in (before, after)))


def answer_ids(retrieval: Retrieval) -> list[str]:
    """The first memories of an answer; none where it abstains."""
    if retrieval.ranking.abstained:
        return []
    return [str(retrieval.candidates.rows[row]["id"]) for row in retrieval.ranking.order.rows.tolist()[:DEPTH]]


def answer_overlap(trace: UUID, before: Sequence[str], after: Sequence[str]) -> Overlap:
    """How much two answers have in common; two that are empty are the same."""
    one, other = set(before), set(after)
    jaccard = len(one & other) / len(one | other) if one or other else 1.0
    return Overlap(trace, jaccard, rank_biased_overlap(before, after, PERSISTENCE), not before, not after)


def overlap_summary(overlaps: Sequence[Overlap], max_named: int) -> dict[str, Any]:
    """Many questions in sum, and those whose answer changes most."""
    changed = sorted(
        (one for one in overlaps if not one.identical), key=lambda one: (one.rbo, one.jaccard, str(one.trace))
    )
    return {
        "compared": len(overlaps),
        "changed": len(changed),
        "jaccard": float(np.mean([one.jaccard for one in overlaps])) if overlaps else None,
        "rbo": float(np.mean([one.rbo for one in overlaps])) if overlaps else None,
        "newly_abstained": sum(one.abstained_after and not one.abstained_before for one in overlaps),
        "newly_answered": sum(one.abstained_before and not one.abstained_after for one in overlaps),
        "most_changed": [
            {"trace": str(one.trace), "jaccard": one.jaccard, "rbo": one.rbo} for one in changed[:max_named]
        ],
    }
