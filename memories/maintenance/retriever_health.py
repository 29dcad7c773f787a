"""Retriever health from the latest traces: how often each found something, why not, and the latency of each step."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from memories.models import Namespace, Trace
from memories.retrieval.retrieve import STEPS
from memories.retrieval.retrievers import NEEDS
from memories.retrieval.trace_codec import unpack_arrays
from scoring.systems import SYSTEMS

MAX_TRACES = 100
EMPTY_ALERT_AFTER = 10  # queries in a row without results

# Why a retriever found nothing: its query lacked what it needs, or the namespace has nothing to match.
MISSING_INPUT = {"entities": "the queries named no known entity", "window": "the queries had no time window"}
NOTHING_STORED = {
    "entity": "no memory mentions the entities they named",
    "traversal": "no edge leads on from the entities they named",
    "temporal": "no memory lies near their time window",
    "edges": "no edge leads on from the nearest memories",
    "bm25": "no memory contains their terms",
    "lexical": "no memory contains their terms",
}
NO_VECTOR = "no memory in scope has a vector of this kind"


@dataclass
class RetrieverHealth:
    """The results of one retriever over the latest traces."""

    retriever: str
    queries: int = 0
    with_results: int = 0
    timed_out: int = 0
    empty_streak: int = 0  # queries since its last result, counting only those that gave it something to search for
    last_result_at: datetime | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def alert(self) -> bool:
        """Whether it has found nothing for too long."""
        return self.empty_streak >= EMPTY_ALERT_AFTER

    @property
    def percent(self) -> float:
        """The percentage of queries with results."""
        return 100 * self.with_results / self.queries

    @property
    def main_reason(self) -> str:
        """The most frequent reason for finding nothing, and its count."""
        if not self.reasons:
            return ""
        [(reason, count)] = self.reasons.most_common(1)
        return f"{reason} ({count} of {self.queries})"


@dataclass(frozen=True)
class StepLatency:
    """Percentiles of the time a retrieval step took, in ms."""

    name: str
    p50: float
    p95: float


def latest_traces(namespace: Namespace) -> list[dict[str, Any]]:
    """The columns of the latest traces that health is computed from, newest first."""
    rows = Trace.objects.within(namespace).filter(shadow=False).order_by("-id")
    columns = rows.values("at", "system", "signals", "took_ms", "answer")
    return [dict(row) for row in columns[:MAX_TRACES]]


def health_by_retriever(traces: Iterable[Mapping[str, Any]]) -> list[RetrieverHealth]:
    """The health of each retriever, in the order in which the systems declare them."""
    by_retriever: dict[str, RetrieverHealth] = {}
    for trace in traces:
        system = SYSTEMS.get(trace["system"])
        arrays, _ = unpack_arrays(bytes(trace["signals"]), "rank ")
        timed_out = {failure["retriever"]: failure["reason"] for failure in trace["answer"].get("timed_out", ())}
        for retriever in system.retrievers if system else ():
            if retriever not in trace["answer"].get("plan", {}).get("retrievers", ()):
                continue
            health = by_retriever.setdefault(retriever, RetrieverHealth(retriever))
            health.queries += 1
            if np.isfinite(arrays.get(f"rank {retriever}", np.array([]))).any():
                health.with_results += 1
                health.last_result_at = health.last_result_at or trace["at"]
                continue
            health.timed_out += retriever in timed_out
            missing = missing_input(retriever, trace)
            health.empty_streak += health.last_result_at is None and not missing
            reason = missing or NOTHING_STORED.get(retriever, NO_VECTOR)
            health.reasons[f"it {timed_out[retriever]}" if retriever in timed_out else reason] += 1
    order = list(dict.fromkeys(retriever for system in SYSTEMS.values() for retriever in system.retrievers))
    return sorted(by_retriever.values(), key=lambda health: order.index(health.retriever))


def missing_input(retriever: str, trace: Mapping[str, Any]) -> str:
    """What a query lacked for a retriever to search with; empty if nothing."""
    needed = NEEDS.get(retriever)
    return MISSING_INPUT[needed] if needed and not trace["answer"].get("plan", {}).get(needed) else ""


def step_latencies(traces: Sequence[Mapping[str, Any]]) -> list[StepLatency]:
    """The latency of each step, then of the whole retrieval."""
    times = {name: [trace["took_ms"][name] for trace in traces if name in trace["took_ms"]] for name in STEPS}
    times["total"] = [sum(trace["took_ms"].values()) for trace in traces if trace["took_ms"]]
    return [StepLatency(name, *np.percentile(values, (50, 95)).tolist()) for name, values in times.items() if values]
