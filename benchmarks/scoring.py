"""How long scoring takes: every system over 1,000 candidates, and the explanation trees of its top 50."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from scoring_batches import batch, with_sessions  # noqa: E402  # the tests' own batches, larger

from scoring.signals import Signals  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402
from scoring.systems.system import System, rank  # noqa: E402

CANDIDATES, TOP, ROUNDS = 1000, 50, 200


def typical(work: Callable[[], object]) -> float:
    """The median time of a piece of work in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[ROUNDS // 2]


def measured(system: System, signals: Signals) -> tuple[float, float, float]:
    """Milliseconds for the score, for the trees, and for the score with gates and order."""
    params = system.params()
    ranking = rank(system, signals, params, top_k=TOP)
    return (
        typical(lambda: system.score(signals, params)),
        typical(lambda: ranking.score.trees(ranking.order.rows)),
        typical(lambda: rank(system, signals, params, top_k=TOP)),
    )


def main() -> None:
    """Measure each system on plain chunks and on a batch with session chunks; print the slower of each."""
    print(f"{CANDIDATES} candidates, top {TOP}, median of {ROUNDS}; aims: score < 1 ms, trees < 2 ms")
    batches = [batch(CANDIDATES), with_sessions(CANDIDATES)]
    for name, system in SYSTEMS.items():
        score, trees, whole = map(max, *(measured(system, signals) for signals in batches))
        print(f"{name:12} score {score:5.2f} ms   trees {trees:5.2f} ms   score, gates and order {whole:5.2f} ms")


if __name__ == "__main__":
    main()
