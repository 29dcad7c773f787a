"""Preparation outside the namespace lock: redaction, vectors, entity mentions, grounding."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from django.conf import settings

from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.providers.judge import judge
from memories.providers.token_matrix import TokenMatrix
from memories.text.entity_mentions import EntityMatch, entities_in
from memories.text.entity_registry import EntityRegistry
from memories.text.registry_cache import load_registry
from memories.writing.new_memory import NewMemory
from memories.writing.redact import redact_memory
from scoring.evidence import Grounding
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class PreparedMemories:
    """New memories with their vectors, entity mentions and grounding verdicts."""

    new_memories: Sequence[NewMemory]
    embedder: str
    vectors: Array
    tokens: Sequence[TokenMatrix]  # empty if the embedder has no token states
    registry: EntityRegistry
    mentions: Sequence[list[EntityMatch]]
    groundings: Sequence[Grounding]


def prepare_memories(
    namespace: Namespace, new_memories: Sequence[NewMemory], registry: EntityRegistry
) -> PreparedMemories:
    """Redact, embed, find entities and check grounding; no database access, so it can run in a thread."""
    new_memories = [redact_memory(new) for new in new_memories] if namespace.redacts else new_memories
    # Read once: another thread may lock the same namespace object and refresh its embedder.
    name, texts = namespace.embedder, [new.content for new in new_memories]
    vectors, tokens = embed_texts(name, texts)
    return PreparedMemories(
        new_memories=new_memories,
        embedder=name,
        vectors=vectors,
        tokens=tokens,
        registry=registry,
        mentions=[entities_in(text, registry) for text in texts],
        groundings=judge(settings.RECALL_JUDGE).grounding([(new.content, new.evidence) for new in new_memories]),
    )


def embed_texts(name: str, texts: Sequence[str]) -> tuple[Array, Sequence[TokenMatrix]]:
    """The vectors of texts, and their token states if the embedder provides them."""
    model = embedder(name)
    if isinstance(model, TokenEmbedder):
        vectors, tokens = model.embed_with_tokens(texts)
        return np.asarray(vectors, dtype=float), tokens
    return np.asarray(model.embed(texts), dtype=float), ()


def reembed_if_changed(namespace: Namespace, prepared: PreparedMemories) -> PreparedMemories:
    """Embed again if the namespace's embedder has changed; everything else stays valid."""
    if prepared.embedder == namespace.embedder:
        return prepared
    vectors, tokens = embed_texts(namespace.embedder, [new.content for new in prepared.new_memories])
    return replace(prepared, embedder=namespace.embedder, vectors=vectors, tokens=tokens)


def prepare_ahead(namespace: Namespace, parts: Iterable[Sequence[NewMemory]]) -> Iterator[PreparedMemories]:
    """Prepare each part while the previous one is written."""
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as pool:
        futures: deque[Future[PreparedMemories]] = deque()
        for part in parts:
            futures.append(pool.submit(prepare_memories, namespace, part, load_registry(namespace)))
            if len(futures) > 1:
                yield futures.popleft().result()
        for future in futures:
            yield future.result()
