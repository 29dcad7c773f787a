"""Counters for Prometheus. Labels are fixed words of this program, never user input.

Each process counts in a file of its own in settings.METRICS; `/metrics` sums them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeVar

from django.conf import settings
from prometheus_client import Counter, Histogram

settings.METRICS.mkdir(parents=True, exist_ok=True)

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds

retrievals = Counter("recall_retrievals", "Retrievals answered.", ["system"])
stages = Histogram("recall_retrieval_stage_seconds", "Each stage of a retrieval.", ["system", "stage"], buckets=FAST)
abstentions = Counter("recall_abstentions", "Retrievals without results.", ["system"])
retrievers = Histogram("recall_retriever_seconds", "Time of one retriever.", ["retriever"], buckets=FAST)
timeouts = Counter("recall_late_retrievers", "Retrievers that timed out.", ["retriever"])
memories = Counter("recall_memories", "Submitted memories by outcome.", ["outcome"])
embeddings = Histogram("recall_embedding_seconds", "Calls of an embedder.", ["embedder"], buckets=FAST)
embedded_texts = Counter("recall_embedded_texts", "Texts given to an embedder.", ["embedder"])

T = TypeVar("T")


def count_retrieval(
    system: str,
    *,
    stages_ms: Mapping[str, float],
    retrievers_ms: Mapping[str, float],
    timed_out: Collection[str],
    abstained: bool,
) -> None:
    """Count one retrieval, its stages and its retrievers."""
    with_labels(retrievals, system).inc()
    with_labels(abstentions, system).inc(abstained)
    for stage, took in stages_ms.items():
        with_labels(stages, system, stage).observe(took / 1000)
    for retriever, took in retrievers_ms.items():
        with_labels(retrievers, retriever).observe(took / 1000)
        with_labels(timeouts, retriever).inc(retriever in timed_out)


@cache
def with_labels(metric: Any, *labels: str) -> Any:
    """A metric with its labels, cached: the lookup takes longer than the count."""
    return metric.labels(*labels)


def count_outcomes(outcomes: Iterable[str]) -> None:
    """Count the outcomes of submitted memories."""
    for outcome in outcomes:
        memories.labels(outcome).inc()


def count_embeddings(method: Callable[[Any, Sequence[str]], T]) -> Callable[[Any, Sequence[str]], T]:
    """Count the calls of an embedder's method, and its texts."""

    @wraps(method)
    def counting_method(self: Any, texts: Sequence[str]) -> T:
        family = self.name.partition("/")[0]  # the rest is the user's choice of model
        with embeddings.labels(family).time():
            result = method(self, texts)
        embedded_texts.labels(family).inc(len(texts))
        return result

    return counting_method
