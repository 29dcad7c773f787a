"""Fits the 96 axes that token states are projected on: `python -m memories.providers.minilm_axes`.

The axes are the first 96 eigenvectors of the states' second moment (PCA without centring, since cosines are taken from
the origin) over the demo world's memories and turns. Stored token states depend on the file minilm_axes.npy: if it
changes, they must be recomputed.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memories.providers.minilm import AXES, MiniLM
from memories.providers.token_matrix import TOKEN_DIMENSIONS

DEMO = Path(__file__).parents[1] / "demo"


def demo_texts() -> Iterator[str]:
    """The memories and turns of the demo world."""
    for line in (DEMO / "memories.jsonl").read_text().splitlines():
        yield json.loads(line)["content"]
    for line in (DEMO / "sessions.jsonl").read_text().splitlines():
        yield from (turn["text"] for turn in json.loads(line)["turns"])


def main() -> None:
    """Fit and save the axes, and print how much of the states' squared length they keep."""
    # Any axes will do here: only the full states are used.
    axes = np.eye(MiniLM.dimensions, TOKEN_DIMENSIONS, dtype=np.float32)
    moment = np.zeros((MiniLM.dimensions, MiniLM.dimensions))
    tokens = 0
    for states in MiniLM(threads=0, axes=axes).full_states(list(demo_texts())):
        moment += states.T.astype(np.float64) @ states
        tokens += len(states)
    eigenvalues, eigenvectors = np.linalg.eigh(moment / tokens)
    np.save(AXES, eigenvectors[:, : -TOKEN_DIMENSIONS - 1 : -1].astype(np.float16))
    print(f"{tokens} tokens, {eigenvalues[-TOKEN_DIMENSIONS:].sum() / eigenvalues.sum():.3f} of their squared length")


if __name__ == "__main__":
    main()
