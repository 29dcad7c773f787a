"""A text's token states, quantised to int8 for storage and MaxSim."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

TOKEN_DIMENSIONS = 96
STEPS = 127  # the largest int8


@dataclass(frozen=True, eq=False)
class TokenMatrix:
    """One int8 row per token, times one scale; from an embedder also each token's span in the text."""

    states: NDArray[np.int8]
    scale: float
    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def quantise(cls, vectors: NDArray[np.float32], spans: tuple[tuple[int, int], ...] = ()) -> Self:
        """Round to int8, with one scale for all rows."""
        scale = float(np.abs(vectors).max(initial=0.0)) / STEPS
        return cls(np.rint(vectors / (scale or 1.0)).astype(np.int8), scale, spans)

    @classmethod
    def from_bytes(cls, data: bytes, tokens: int, scale: float) -> Self:
        """The matrix stored by `to_bytes`."""
        return cls(np.frombuffer(data, dtype=np.int8).reshape(tokens, TOKEN_DIMENSIONS), scale)

    def to_bytes(self) -> bytes:
        """The int8 rows, concatenated."""
        return self.states.tobytes()

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return len(self.states)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The rows as unit vectors, whose products are cosines."""
        rows = self.states.astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        normalised: NDArray[np.float32] = rows / np.maximum(lengths, 1e-9)
        return normalised
