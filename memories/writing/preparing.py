"""What can be known of new memories before their namespace is locked: vectors, names, verdicts on their evidence."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from django.conf import settings

from memories.language.entities import Found, entities_in
from memories.language.loading import load
from memories.language.resolution import Registry
from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.providers.judge import judge
from memories.providers.token_matrix import TokenMatrix
from memories.writing.new_memory import NewMemory
from memories.writing.redacting import redact
from scoring.evidence import Grounding
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class Prepared:
    """New memories with their vectors, the entities their texts name, and the verdicts on their evidence."""

    news: Sequence[NewMemory]
    embedder: str
    vectors: Array
    tokens: Sequence[TokenMatrix]  # none where the embedder knows of no tokens
    registry: Registry
    named: Sequence[list[Found]]
    groundings: Sequence[Grounding]


def prepared(namespace: Namespace, news: Sequence[NewMemory], registry: Registry) -> Prepared:
    """Black out, embed, find names, check the evidence: all without the database, so that a thread may do it."""
    news = [redact(new) for new in news] if namespace.redacts else news
    # Asked once: another thread may be taking the lock with the same namespace in hand, and read another name.
    name, texts = namespace.embedder, [new.content for new in news]
    vectors, tokens = embedded(name, texts)
    return Prepared(
        news=news,
        embedder=name,
        vectors=vectors,
        tokens=tokens,
        registry=registry,
        named=[entities_in(text, registry) for text in texts],
        groundings=judge(settings.RECALL_JUDGE).grounding([(new.content, new.evidence) for new in news]),
    )


def embedded(name: str, texts: Sequence[str]) -> tuple[Array, Sequence[TokenMatrix]]:
    """The vectors of texts, and their tokens' states where the embedder has them."""
    model = embedder(name)
    if isinstance(model, TokenEmbedder):
        vectors, tokens = model.embed_with_tokens(texts)
        return np.asarray(vectors, dtype=float), tokens
    return np.asarray(model.embed(texts), dtype=float), ()


def embedded_for(namespace: Namespace, ready: Prepared) -> Prepared:
    """What was prepared, by the embedder that the namespace has now; verdicts do not hang on it."""
    if ready.embedder == namespace.embedder:
        return ready
    vectors, tokens = embedded(namespace.embedder, [new.content for new in ready.news])
    return replace(ready, embedder=namespace.embedder, vectors=vectors, tokens=tokens)


def prepared_ahead(namespace: Namespace, parts: Iterable[Sequence[NewMemory]]) -> Iterator[Prepared]:
    """Prepare each part while the one before it is written."""
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as thread:
        coming: deque[Future[Prepared]] = deque()
        for part in parts:
            coming.append(thread.submit(prepared, namespace, part, load(namespace)))
            if len(coming) > 1:
                yield coming.popleft().result()
        for last in coming:
            yield last.result()
