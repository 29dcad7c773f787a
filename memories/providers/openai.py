"""Embedding models behind an OpenAI-compatible API (`POST /embeddings`)."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from memories.db import counters
from memories.providers.embedder import EmbedderError, Vectors
from memories.providers.endpoint import Endpoint, NoAnswerError
from memories.providers.pooling import pool_pieces, split_pieces

BATCH = 128  # pieces per request


class OpenAIEmbedder:
    """An embedder over HTTP, named openai/MODEL, or openai/MODEL@DIMENSIONS for shortened vectors."""

    def __init__(self, name: str, *, base_url: str, key: str, limit: int, timeout: float) -> None:
        self.name = name
        self.limit = limit
        self._model, _, self._chosen_dimensions = name.removeprefix("openai/").partition("@")
        chosen = self._chosen_dimensions
        if chosen and not (chosen.isascii() and chosen.isdigit() and int(chosen)):
            raise ValueError(f"dimensions after @ must be a whole number from 1; got {chosen!r}.")
        self._endpoint = Endpoint(base_url, key, timeout)
        self._url = self._endpoint.url("embeddings")

    @cached_property
    def dimensions(self) -> int:
        """The dimensions chosen by name, else those of the model."""
        return int(self._chosen_dimensions) if self._chosen_dimensions else self._request(["dimensions"]).shape[1]

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""
        # The tokenizer is unknown, but a token is at least one byte.
        parts = [(i, piece) for i, text in enumerate(texts) for piece in split_pieces(text, self.limit)]
        rows = [
            self._request([piece or " " for _, piece in parts[start : start + BATCH]])  # empty input is rejected
            for start in range(0, len(parts), BATCH)
        ]
        if not rows:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        sizes = [max(1, len(piece.encode())) for _, piece in parts]
        return pool_pieces(np.concatenate(rows), sizes, [i for i, _ in parts], len(texts))

    def _request(self, inputs: list[str]) -> Vectors:
        """The vectors of one request, in the order of its inputs."""
        body: dict[str, Any] = {"model": self._model, "input": inputs, "encoding_format": "float"}
        if self._chosen_dimensions:
            body["dimensions"] = int(self._chosen_dimensions)
        try:
            answer = self._endpoint.post("embeddings", body)
        except NoAnswerError as error:
            message = f"{self._url} returned no embeddings for the model {self._model}: {error}"
            raise EmbedderError(message) from error
        try:
            items = sorted(json.loads(answer)["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in items], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"{self._url} returned something other than a list of embeddings.") from error
        expected = int(self._chosen_dimensions) if self._chosen_dimensions else rows.shape[-1]
        if rows.ndim != 2 or rows.shape != (len(inputs), expected) or not np.isfinite(rows).all():
            raise EmbedderError(
                f"{self._url} must return {len(inputs)} finite vectors of one length"
                f"{f', {self._chosen_dimensions}' if self._chosen_dimensions else ''}; got shape {rows.shape}."
            )
        return rows
