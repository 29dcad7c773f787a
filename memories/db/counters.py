"""Prometheus metrics. Label values come from this program, never from user input.

Each process counts in its own file in `settings.METRICS`; the process that serves /metrics adds them up.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeVar

from django.conf import settings
from prometheus_client import Counter, Histogram

settings.DATA.mkdir(mode=0o711, parents=True, exist_ok=True)
settings.METRICS.mkdir(exist_ok=True)

FAST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds

retrievals = Counter("recall_retrievals", "Retrievals answered.", ["system"])
stages = Histogram(
    "recall_retrieval_stage_seconds", "Stages of a retrieval.", ["system", "stage"], buckets=FAST_BUCKETS
)
abstentions = Counter("recall_abstentions", "Retrievals that abstained.", ["system"])
retrievers = Histogram("recall_retriever_seconds", "Time per retriever.", ["retriever"], buckets=FAST_BUCKETS)
timed_out_retrievers = Counter("recall_retriever_timeouts", "Retrievers that timed out or failed.", ["retriever"])
memories = Counter("recall_memories", "Outcomes of writes.", ["outcome"])
embeddings = Histogram("recall_embedding_seconds", "Calls of an embedder.", ["embedder"], buckets=FAST_BUCKETS)
embedded_texts = Counter("recall_embedded_texts", "Texts given to an embedder.", ["embedder"])


def count_retrieval(
    system: str,
    *,
    abstained: bool,
    stages_ms: Mapping[str, float],
    retrievers_ms: Mapping[str, float],
    timed_out: Container[str],
) -> None:
    """Count one retrieval, its stages and its retrievers."""
    with_labels(retrievals, system).inc()
    with_labels(abstentions, system).inc(abstained)
    for stage, ms in stages_ms.items():
        with_labels(stages, system, stage).observe(ms / 1000)
    for retriever, ms in retrievers_ms.items():
        with_labels(retrievers, retriever).observe(ms / 1000)
        with_labels(timed_out_retrievers, retriever).inc(retriever in timed_out)


@cache
def with_labels(metric: Any, *labels: str) -> Any:
    """A labelled metric; cached, since the lookup costs more than counting."""
    return metric.labels(*labels)


def count_outcomes(outcomes: Iterable[str]) -> None:
    """Count the outcomes of a write."""
    for outcome in outcomes:
        memories.labels(outcome).inc()


T = TypeVar("T")


def count_embeddings(method: Callable[[Any, Sequence[str]], T]) -> Callable[[Any, Sequence[str]], T]:
    """Decorate an embedder's method: count its calls and texts."""

    @wraps(method)
    def count_and_embed(self: Any, texts: Sequence[str]) -> T:
        family = self.name.partition("/")[0]  # the rest of the name is user input
        with embeddings.labels(family).time():
            vectors = method(self, texts)
        embedded_texts.labels(family).inc(len(texts))
        return vectors

    return count_and_embed
