"""Finds the 96 axes that keep most of MiniLM's token states, and writes minilm_axes.npy.

Run it with `python -m memories.providers.minilm_axes`. The axes are the first 96 eigenvectors of the states' second
moment (a PCA without centring, as cosines are taken from zero) over the demo world's memories and turns. Token states
that are stored lie on these axes, so another file means another space: states stored before must be made anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memories.providers.minilm import AXES, MiniLM
from memories.providers.token_matrix import TOKEN_DIMENSIONS

DEMO = Path(__file__).parents[1] / "demo"


def texts() -> Iterator[str]:
    """All that is remembered and said in the demo world."""
    for line in (DEMO / "memories.jsonl").read_text().splitlines():
        yield json.loads(line)["content"]
    for line in (DEMO / "sessions.jsonl").read_text().splitlines():
        yield from (turn["text"] for turn in json.loads(line)["turns"])


def main() -> None:
    """Fit, write, and say how much of the states' squared length stays."""
    # Which axes it has now is no matter: the states are asked for in all dimensions.
    axes = np.eye(MiniLM.dimensions, TOKEN_DIMENSIONS, dtype=np.float32)
    moment = np.zeros((MiniLM.dimensions, MiniLM.dimensions))
    tokens = 0
    for states in MiniLM(threads=0, axes=axes).full_states(list(texts())):
        moment += states.T.astype(np.float64) @ states
        tokens += len(states)
    kept, found = np.linalg.eigh(moment / tokens)
    np.save(AXES, found[:, : -TOKEN_DIMENSIONS - 1 : -1].astype(np.float16))
    print(f"{tokens} tokens, {kept[-TOKEN_DIMENSIONS:].sum() / kept.sum():.3f} of their squared length kept")


if __name__ == "__main__":
    main()
