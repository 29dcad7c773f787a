"""Models behind an OpenAI-compatible address (`POST /embeddings`): OpenAI's own, or a server of one's own."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from memories.db import counters
from memories.providers.embedder import EmbedderError, Vectors
from memories.providers.endpoint import Endpoint, NoAnswerError
from memories.providers.pooling import pieces, pooled

BATCH = 128  # pieces in one request


class OpenAIEmbedder:
    """An embedder over HTTP; its name is openai/MODEL, or openai/MODEL@DIMENSIONS for shortened vectors."""

    def __init__(self, name: str, *, address: str, key: str, limit: int, timeout: float) -> None:
        self.name = name
        self.limit = limit
        self._model, _, self._asked = name.removeprefix("openai/").partition("@")
        if self._asked and not (self._asked.isascii() and self._asked.isdigit() and int(self._asked)):
            raise ValueError(f"dimensions after @ must be a whole number from 1, not {self._asked!r}.")
        self._endpoint = Endpoint(address, key, timeout)
        self._address = self._endpoint.at("embeddings")

    @cached_property
    def dimensions(self) -> int:
        """What was asked for, else what the model gives."""
        return int(self._asked) if self._asked else self._answered(["dimensions"]).shape[1]

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length one for each text."""
        # Its tokenizer is not known here, but no token is shorter than a byte.
        parts = [(i, piece) for i, text in enumerate(texts) for piece in pieces(text, self.limit)]
        rows = [
            self._answered([piece or " " for _, piece in parts[start : start + BATCH]])  # empty input is refused
            for start in range(0, len(parts), BATCH)
        ]
        if not rows:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        sizes = [max(1, len(piece.encode())) for _, piece in parts]
        return pooled(np.concatenate(rows), sizes, [i for i, _ in parts], len(texts))

    def _answered(self, inputs: list[str]) -> Vectors:
        """The vectors of one request, in the order asked, each of them whole."""
        body: dict[str, Any] = {"model": self._model, "input": inputs, "encoding_format": "float"}
        if self._asked:
            body["dimensions"] = int(self._asked)
        try:
            answer = self._endpoint.posted("embeddings", body)
        except NoAnswerError as wrong:
            said = f"{self._address} gave no embeddings for the model {self._model}: {wrong}"
            raise EmbedderError(said) from wrong
        try:
            given = sorted(json.loads(answer)["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in given], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as wrong:
            raise EmbedderError(f"{self._address} answered something that is no list of embeddings.") from wrong
        expected = int(self._asked) if self._asked else rows.shape[-1]
        if rows.ndim != 2 or rows.shape != (len(inputs), expected) or not np.isfinite(rows).all():
            raise EmbedderError(
                f"{self._address} must answer {len(inputs)} finite vectors of one length"
                f"{f', {self._asked}' if self._asked else ''}; the shape was {rows.shape}."
            )
        return rows
