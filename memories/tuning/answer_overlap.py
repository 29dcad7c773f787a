"""Overlap of the answers that two configurations give to traced queries."""

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

MAX_TRACES = 500  # newest traces compared
CHUNK_SIZE = 50  # traces loaded at a time


class Overlap(NamedTuple):
    """One query under two configurations: the overlap of the answers, and which of them abstains."""

    trace: UUID
    jaccard: float
    rbo: float
    abstained_before: bool
    abstained_after: bool

    @property
    def identical(self) -> bool:
        """Whether both answers are the same."""
        return self.rbo > 1 - 1e-9


def recent_traces(namespace: Namespace, limit: int = MAX_TRACES) -> Iterator[Trace]:
    """The latest traces of live traffic, newest first."""
    live = Trace.objects.within(namespace).filter(shadow=False).select_related("namespace").order_by("-id")
    ids = list(live.values_list("id", flat=True)[:limit])
    for start in range(0, len(ids), CHUNK_SIZE):
        yield from live.filter(id__in=ids[start : start + CHUNK_SIZE]).defer("answer")


def needs_new_query(trace: Trace, *configs: Config) -> bool:
    """Whether a configuration changes the candidates, so that the trace cannot be replayed."""
    return any(params_needing_rerun(trace, config) for config in configs)


def replay_overlap(trace: Trace, before: Config, after: Config) -> Overlap:
    """Rank a trace's candidates under both configurations."""
    candidates, _ = load_trace_candidates(trace)
    return answer_overlap(
        trace.id, *(answer_ids(rank_trace(trace, candidates, config, Stopwatch())) for config in (before, after))
    )


def live_overlap(trace: Trace, before: Config, after: Config) -> Overlap:
    """Run a trace's query again under both configurations."""
    return answer_overlap(
        trace.id, *(answer_ids(retrieve(query_from_trace(trace, config))) for config in (before, after))
    )


def answer_ids(retrieval: Retrieval) -> list[str]:
    """The top results of an answer; none if it abstains."""
    if retrieval.ranking.abstained:
        return []
    return [str(retrieval.candidates.rows[row]["id"]) for row in retrieval.ranking.order.rows.tolist()[:DEPTH]]


def answer_overlap(trace: UUID, before: Sequence[str], after: Sequence[str]) -> Overlap:
    """The overlap of two answers; two empty ones are the same."""
    union = {*before, *after}
    jaccard = len({*before} & {*after}) / len(union) if union else 1.0
    return Overlap(trace, jaccard, rank_biased_overlap(before, after, PERSISTENCE), not before, not after)


def overlap_summary(overlaps: Sequence[Overlap], max_named: int) -> dict[str, Any]:
    """Means over many queries, and those whose answer changes most."""
    changed = sorted(
        (overlap for overlap in overlaps if not overlap.identical),
        key=lambda overlap: (overlap.rbo, overlap.jaccard, str(overlap.trace)),
    )
    return {
        "compared": len(overlaps),
        "changed": len(changed),
        "jaccard": float(np.mean([overlap.jaccard for overlap in overlaps])) if overlaps else None,
        "rbo": float(np.mean([overlap.rbo for overlap in overlaps])) if overlaps else None,
        "newly_abstained": sum(overlap.abstained_after and not overlap.abstained_before for overlap in overlaps),
        "newly_answered": sum(overlap.abstained_before and not overlap.abstained_after for overlap in overlaps),
        "most_changed": [
            {"trace": str(overlap.trace), "jaccard": overlap.jaccard, "rbo": overlap.rbo}
            for overlap in changed[:max_named]
        ],
    }
