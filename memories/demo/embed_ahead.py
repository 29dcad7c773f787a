"""Embeds the demo world's texts in large batches on a thread while the world is written."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from memories.demo.world_records import DemoWorld
from memories.models import Turn
from memories.models.choices import TurnRole
from memories.providers.embedder import Vectors, embedder, replace_embedder
from memories.providers.minilm import MiniLM
from memories.providers.token_matrix import TokenMatrix
from memories.text.extraction import ConversationContext
from memories.writing.turns.exchanges import split_exchanges
from memories.writing.turns.extracted_facts import extract_facts
from memories.writing.turns.route_texts import facet_texts, facts_of_turns

BATCH = 256  # texts: enough to sort by length, few enough that writing soon begins


class PrefetchedEmbedder:
    """An embedder with most texts submitted in advance; its model embeds the others on demand."""

    def __init__(self, model: MiniLM) -> None:
        self.name, self.dimensions, self.limit = model.name, model.dimensions, model.limit
        self.model = model
        self.prefetched: dict[str, tuple[Future[tuple[Vectors, list[TokenMatrix]]], int]] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return self.embed_with_tokens(texts)[0]

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """Token states of each text."""
        return self.embed_with_tokens(texts)[1]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Both; waits for texts that are still being embedded."""
        others = [text for text in texts if text not in self.prefetched]
        results = dict(zip(others, zip(*self.model.embed_with_tokens(others), strict=True), strict=True))
        for text in texts:
            if text not in results:
                future, index = self.prefetched[text]
                vectors, states = future.result()
                results[text] = vectors[index], states[index]
        return np.array([results[text][0] for text in texts]), [results[text][1] for text in texts]


@contextmanager
def embed_ahead(name: str, world: DemoWorld) -> Iterator[None]:
    """Embed all texts of the world in the order they will be written."""
    model = embedder(name)
    if not isinstance(model, MiniLM):
        yield  # the other embedders are fast, or remote
        return
    prefetching, texts = PrefetchedEmbedder(model), list(dict.fromkeys(world_texts(world)))
    with ThreadPoolExecutor(1, thread_name_prefix="embed") as thread, replace_embedder(prefetching):
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            future = thread.submit(model.embed_with_tokens, batch)
            prefetching.prefetched |= {text: (future, index) for index, text in enumerate(batch)}
        yield


def world_texts(world: DemoWorld) -> Iterator[str]:
    """Texts to embed, session by session: exchanges, their facets and the memories."""
    for session in world.sessions.values():
        names = {TurnRole.USER: world.entities[session.user].name}
        turns = [
            Turn(role=turn.role, text=turn.text, said_at=turn.at, speaker=names.get(TurnRole(turn.role), ""))
            for turn in session.turns
        ]
        facts = extract_facts("rules", turns, ConversationContext(session.key, session.user))
        for exchange in split_exchanges(turns):
            yield from exchange.route_texts().values()
            yield from facet_texts(facts_of_turns(facts, [turn.id for turn in exchange.turns])).values()
        yield from (memory.content for memory in world.memories.values() if memory.session == session.key)
