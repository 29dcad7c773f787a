"""The demo's texts, embedded beside the telling: each once, in large batches of texts of like length."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from memories.demo.world_records import World
from memories.models import Turn
from memories.models.choices import TurnRole
from memories.providers.embedder import Vectors, embedder, standing_in
from memories.providers.extractor import Context, extractor
from memories.providers.minilm import MiniLM
from memories.providers.token_matrix import TokenMatrix
from memories.writing.turns.exchanges import split_exchanges
from memories.writing.turns.facet_texts import facet_texts, facts_of_turns

TOGETHER = 256  # texts: enough to sort by length, few enough that the telling soon begins


class Ahead:
    """An embedder that knows most texts before it is asked, and asks its model for the others."""

    def __init__(self, model: MiniLM) -> None:
        self.name, self.dimensions, self.limit = model.name, model.dimensions, model.limit
        self.model = model
        self.coming: dict[str, tuple[Future[tuple[Vectors, list[TokenMatrix]]], int]] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        return self.embed_with_tokens(texts)[0]

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """The states of each text's tokens."""
        return self.embed_with_tokens(texts)[1]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Both; what is still being embedded is waited for."""
        others = [text for text in texts if text not in self.coming]
        known = dict(zip(others, zip(*self.model.embed_with_tokens(others), strict=True), strict=True))
        for text in texts:
            if text not in known:
                future, place = self.coming[text]
                vectors, states = future.result()
                known[text] = vectors[place], states[place]
        return np.array([known[text][0] for text in texts]), [known[text][1] for text in texts]


@contextmanager
def embedded_ahead(name: str, world: World) -> Iterator[None]:
    """Embed all texts of the world in the order of the story, while it is told."""
    model = embedder(name)
    if not isinstance(model, MiniLM):
        yield  # nothing is won where embedding is fast, or far away
        return
    ahead, known = Ahead(model), list(dict.fromkeys(texts(world)))
    with ThreadPoolExecutor(1, thread_name_prefix="embed") as thread, standing_in(ahead):
        for start in range(0, len(known), TOGETHER):
            part = known[start : start + TOGETHER]
            future = thread.submit(model.embed_with_tokens, part)
            ahead.coming |= {text: (future, place) for place, text in enumerate(part)}
        yield


def texts(world: World) -> Iterator[str]:
    """What will be embedded, session by session: what is said, what that says of people, and the memories."""
    for session in world.sessions.values():
        names = {TurnRole.USER: world.entities[session.user].name}
        turns = [
            Turn(role=turn.role, text=turn.text, said_at=turn.at, speaker=names.get(TurnRole(turn.role), ""))
            for turn in session.turns
        ]
        read = extractor("rules").extract(turns, Context(session.key, session.user))
        for exchange in split_exchanges(turns):
            yield from exchange.route_texts().values()
            yield from facet_texts(facts_of_turns(read, [turn.id for turn in exchange.turns])).values()
        yield from (memory.content for memory in world.memories.values() if memory.session == session.key)
