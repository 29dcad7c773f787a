"""Scoring latency: every system over 1,000 candidates, and the explanation trees of its top 50."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from scoring_batches import batch, with_sessions  # the batches of the tests, larger

from scoring.signals import Signals
from scoring.systems import SYSTEMS
from scoring.systems.system import System, rank

CANDIDATES, TOP, ROUNDS = 1000, 50, 200


def median_ms(work: Callable[[], object]) -> float:
    """Median time of a call in ms."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[ROUNDS // 2]


def measure_system(system: System, signals: Signals) -> tuple[float, float, float]:
    """Time in ms of the score, the trees, and the whole ranking."""
    params = system.params()
    ranking = rank(system, signals, params, top_k=TOP)
    return (
        median_ms(lambda: system.score(signals, params)),
        median_ms(lambda: ranking.score.trees(ranking.order.rows)),
        median_ms(lambda: rank(system, signals, params, top_k=TOP)),
    )


def main() -> None:
    """Measure each system with and without session chunks; print the slower."""
    print(f"{CANDIDATES} candidates, top {TOP}, median of {ROUNDS}; targets: score < 1 ms, trees < 2 ms")
    batches = [batch(CANDIDATES), with_sessions(CANDIDATES)]
    for name, system in SYSTEMS.items():
        score, trees, ranking = map(max, *(measure_system(system, signals) for signals in batches))
        print(f"{name:12} score {score:5.2f} ms   trees {trees:5.2f} ms   score, gates and order {ranking:5.2f} ms")


if __name__ == "__main__":
    main()
