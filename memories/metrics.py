"""What is counted for Prometheus. Labels are words of this program's own, never what anybody wrote or called something.

Each process counts in a file of its own in settings.METRICS; whoever is asked adds up all of them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings
from prometheus_client import Counter, Histogram

from recall_site import data_folder

if TYPE_CHECKING:
    from memories.retrieval.retrieve import Retrieval

data_folder.prepare(settings.DATA)
settings.METRICS.mkdir(exist_ok=True)

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds

retrievals = Counter("recall_retrievals", "Retrievals that were answered.", ["system"])
stages = Histogram("recall_retrieval_stage_seconds", "Each stage of a retrieval.", ["system", "stage"], buckets=FAST)
abstentions = Counter("recall_abstentions", "Retrievals that gave nothing back.", ["system"])
retrievers = Histogram("recall_retriever_seconds", "One retriever's share.", ["retriever"], buckets=FAST)
late = Counter("recall_late_retrievers", "Times that a retriever was left out.", ["retriever"])
memories = Counter("recall_memories", "What became of memories that were told.", ["outcome"])
embeddings = Histogram("recall_embedding_seconds", "Calls of an embedder.", ["embedder"], buckets=FAST)
embedded = Counter("recall_embedded_texts", "Texts given to an embedder.", ["embedder"])


def retrieved(retrieval: "Retrieval", *, abstained: bool) -> None:
    """Count one retrieval and its parts."""
    system = retrieval.query.config.system.name
    labelled(retrievals, system).inc()
    labelled(abstentions, system).inc(abstained)
    for stage, took in retrieval.took_ms.items():
        labelled(stages, system, stage).observe(took / 1000)
    for retriever, took in retrieval.fetched.took_ms.items():
        labelled(retrievers, retriever).observe(took / 1000)
        labelled(late, retriever).inc(retriever in retrieval.fetched.timed_out)


@cache
def labelled(metric: Any, *labels: str) -> Any:
    """A metric under labels, of which there are few: to look each up takes longer than to count."""
    return metric.labels(*labels)


def remembered(outcomes: Iterable[str]) -> None:
    """Count what became of memories."""
    for outcome in outcomes:
        memories.labels(outcome).inc()


T = TypeVar("T")


def embedding(method: Callable[[Any, Sequence[str]], T]) -> Callable[[Any, Sequence[str]], T]:
    """Count the calls of an embedder's method, and its texts."""

    @wraps(method)
    def counted(self: Any, texts: Sequence[str]) -> T:
        family = self.name.partition("/")[0]  # whoever chose the model named the rest
        with embeddings.labels(family).time():
            made = method(self, texts)
        embedded.labels(family).inc(len(texts))
        return made

    return counted
