"""Preparation outside the namespace lock: redact, embed, check grounding."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from django.conf import settings

from memories.contracts.new_memory import NewMemory
from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.providers.judge import judge
from memories.providers.token_matrix import TokenMatrix
from memories.text.secret_redaction import redact_value
from scoring.evidence import Grounding
from scoring.term import Array

# Closed vocabularies, and the caller's own ids of users, agents and sessions.
NOT_REDACTED = frozenset(["type", "kind", "user", "agent", "session"])
UNBOUNDED_COLUMNS = frozenset(["content", "object", "evidence", "metadata"])  # columns without a length limit
MAX_COLUMN_LENGTH = 100  # length limit of the other columns


@dataclass(frozen=True, eq=False)
class PreparedMemories:
    """New memories with their vectors and grounding verdicts."""

    new_memories: Sequence[NewMemory]
    embedder: str
    vectors: Array
    tokens: Sequence[TokenMatrix]  # empty if the embedder has no token states
    groundings: Sequence[Grounding]


def prepare_ahead(namespace: Namespace, parts: Iterable[Sequence[NewMemory]]) -> Iterator[PreparedMemories]:
    """Prepare each part in a thread while the previous one is written."""
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as pool:
        futures: deque[Future[PreparedMemories]] = deque()
        for part in parts:
            futures.append(pool.submit(prepare_memories, namespace, part))
            if len(futures) > 1:
                yield futures.popleft().result()
        for future in futures:
            yield future.result()


def prepare_memories(namespace: Namespace, new_memories: Sequence[NewMemory]) -> PreparedMemories:
    """Redact, embed and check grounding; without database access, so that it can run in a thread."""
    new_memories = [redact_memory(new) for new in new_memories] if namespace.redacts else new_memories
    # Read once: another thread may lock the same namespace object and refresh its embedder.
    name, texts = namespace.embedder, [new.content for new in new_memories]
    vectors, tokens = embed_texts(name, texts)
    return PreparedMemories(
        new_memories=new_memories,
        embedder=name,
        vectors=vectors,
        tokens=tokens,
        groundings=judge(settings.RECALL_JUDGE).grounding([(new.content, new.evidence) for new in new_memories]),
    )


def reembed_if_changed(namespace: Namespace, prepared: PreparedMemories) -> PreparedMemories:
    """Embed again if the namespace's embedder has changed; the caller holds the lock."""
    if prepared.embedder == namespace.embedder:
        return prepared
    vectors, tokens = embed_texts(namespace.embedder, [new.content for new in prepared.new_memories])
    return replace(prepared, embedder=namespace.embedder, vectors=vectors, tokens=tokens)


def embed_texts(name: str, texts: Sequence[str]) -> tuple[Array, Sequence[TokenMatrix]]:
    """The vectors of texts, and their token states if the embedder provides them."""
    model = embedder(name)
    if isinstance(model, TokenEmbedder):
        vectors, tokens = model.embed_with_tokens(texts)
        return np.asarray(vectors, dtype=float), tokens
    return np.asarray(model.embed(texts), dtype=float), ()


@dataclass(frozen=True, eq=False)
class EmbeddedTexts:
    """Distinct texts with their vectors, and token states if the embedder provides them."""

    positions: dict[str, int]
    vectors: Array
    tokens: Sequence[TokenMatrix]

    def vector(self, text: str) -> Array:
        """The vector of a text."""
        vector: Array = self.vectors[self.positions[text]]
        return vector

    def states(self, text: str) -> TokenMatrix | None:
        """The token states of a text."""
        return self.tokens[self.positions[text]] if self.tokens else None


def embed_distinct(name: str, texts: Iterable[str]) -> EmbeddedTexts:
    """Embed each distinct text once, in one batch."""
    positions = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    if not positions:
        return EmbeddedTexts({}, np.empty((0, 0)), ())
    return EmbeddedTexts(positions, *embed_texts(name, list(positions)))


def redact_if_enabled(namespace: Namespace, value: Any) -> Any:
    """Redact caller input if the namespace requires it."""
    return redact_value(value, Counter()) if namespace.redacts else value


def redact_memory(new: NewMemory) -> NewMemory:
    """Redact all texts of a new memory."""
    counts: Counter[str] = Counter()
    texts = {field.name: getattr(new, field.name) for field in fields(new) if field.name not in NOT_REDACTED}
    redacted = {name: _truncate_to_column(name, value, redact_value(value, counts)) for name, value in texts.items()}
    return replace(new, **redacted) if counts else new


def _truncate_to_column(name: str, before: Any, after: Any) -> Any:
    """Truncate to the column's length: “[e-mail]” may be longer than the address it replaces."""
    if name in UNBOUNDED_COLUMNS:
        return after
    if isinstance(after, tuple):
        return tuple(_truncate_to_column(name, *pair) for pair in zip(before, after, strict=True))
    return after[: max(len(before), MAX_COLUMN_LENGTH)] if isinstance(after, str) and isinstance(before, str) else after
