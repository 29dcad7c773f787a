"""What the last traces tell: which retrievers found something, which kept silent and why, how long each step took."""

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

LAST = 100  # traces
SILENT_AFTER = 10  # times asked without finding anything

NOBODY = "the queries named nobody that is known here"
NO_WINDOW = "the queries meant no time"
# Why a retriever that was in time found nothing: what it needs and lacked, and else what that means.
LACKING = {"entities": NOBODY, "window": NO_WINDOW}
OTHERWISE = {
    "entity": "nothing is stored about whom they named",
    "traversal": "no edge leads on from whom they named",
    "temporal": "nothing stored lies near the time they meant",
    "bm25": "none of their words is stored",
    "lexical": "none of their words is stored",
}
NO_VECTOR = "nothing that may come back has a vector of this kind"


@dataclass
class Heard:
    """How one retriever did."""

    route: str
    asked: int = 0
    found: int = 0
    late: int = 0
    silent_for: int = 0  # times asked since it last found something, where there was something to look for
    last: datetime | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def silent(self) -> bool:
        """Whether it has found nothing for so long that somebody should know."""
        return self.silent_for >= SILENT_AFTER

    @property
    def share(self) -> float:
        """In how many of a hundred cases it found something."""
        return 100 * self.found / self.asked

    @property
    def why(self) -> str:
        """What kept it silent most often, and how often."""
        if not self.reasons:
            return ""
        [(reason, times)] = self.reasons.most_common(1)
        return f"{reason} ({times} of {self.asked})"


@dataclass(frozen=True)
class Step:
    """How long a step took: half of the times less than the first number, all but a twentieth less than the second."""

    name: str
    p50: float
    p95: float


def last_traces(namespace: Namespace) -> list[dict[str, Any]]:
    """What is needed of the last traces, newest first."""
    rows = Trace.objects.within(namespace).filter(shadow=False).order_by("-id")
    shown = rows.values("at", "system", "plan__retrievers", "signals", "took_ms", "answer")
    return [dict(row) for row in shown[:LAST]]


def heard(traces: Iterable[Mapping[str, Any]]) -> list[Heard]:
    """How each retriever did, in the order in which the systems know them."""
    all: dict[str, Heard] = {}
    for trace in traces:
        system = SYSTEMS.get(trace["system"])
        arrays, _ = unpack_arrays(bytes(trace["signals"]), "rank ")
        late = {one["retriever"]: one["reason"] for one in trace["answer"].get("timed_out", ())}
        for route in system.retrievers if system else ():
            if route not in (trace["plan__retrievers"] or ()):
                continue
            one = all.setdefault(route, Heard(route))
            one.asked += 1
            if np.isfinite(arrays.get(f"rank {route}", np.array([]))).any():
                one.found += 1
                one.last = one.last or trace["at"]
                continue
            one.late += route in late
            lacking = lack(route, trace)
            one.silent_for += one.last is None and not lacking
            one.reasons[f"it {late[route]}" if route in late else lacking or OTHERWISE.get(route, NO_VECTOR)] += 1
    order = list(dict.fromkeys(route for system in SYSTEMS.values() for route in system.retrievers))
    return sorted(all.values(), key=lambda one: order.index(one.route))


def lack(route: str, trace: Mapping[str, Any]) -> str:
    """What a query did not give a retriever to look for, if so."""
    needed = NEEDS.get(route)
    return LACKING[needed] if needed and not trace["answer"].get("plan", {}).get(needed) else ""


def latency(traces: Sequence[Mapping[str, Any]]) -> list[Step]:
    """How long each step took, and all together."""
    times = {name: [trace["took_ms"][name] for trace in traces if name in trace["took_ms"]] for name in STEPS}
    times["all together"] = [sum(trace["took_ms"].values()) for trace in traces if trace["took_ms"]]
    return [Step(name, *np.percentile(some, (50, 95)).tolist()) for name, some in times.items() if some]
