"""The states of a text's tokens, packed for storing and unpacked for MaxSim."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

TOKEN_DIMENSIONS = 96
STEPS = 127  # the largest int8 that has a negative of its own


@dataclass(frozen=True, eq=False)
class TokenMatrix:
    """One row of int8 for each token, times one scale; fresh from an embedder, also the tokens' places in the text."""

    states: NDArray[np.int8]
    scale: float
    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def quantised(cls, vectors: NDArray[np.float32], spans: tuple[tuple[int, int], ...] = ()) -> Self:
        """Round to int8 with the one scale that fits the largest number."""
        scale = float(np.abs(vectors).max(initial=0.0)) / STEPS
        return cls(np.rint(vectors / (scale or 1.0)).astype(np.int8), scale, spans)

    @classmethod
    def unpacked(cls, packed: bytes, tokens: int, scale: float) -> Self:
        """Read what `packed` gave."""
        return cls(np.frombuffer(packed, dtype=np.int8).reshape(tokens, TOKEN_DIMENSIONS), scale)

    @property
    def packed(self) -> bytes:
        """The rows one after another."""
        return self.states.tobytes()

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return len(self.states)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The rows as numbers again, each of length one, so that products are cosines."""
        rows = self.states.astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units: NDArray[np.float32] = rows / np.maximum(lengths, 1e-9)
        return units
