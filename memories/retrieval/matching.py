"""The words of a query matched one by one against the words of each candidate, as the embedder sees them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.providers.token_matrix import TOKEN_DIMENSIONS
from memories.retrieval.facts import Facts
from memories.retrieval.reading import Reading
from scoring.fusion import best_words, matched
from scoring.term import Array


def matches(
    facts: Facts, tokens: Sequence[tuple[UUID, UUID | None, bytes | None]], reading: Reading, params: Any
) -> dict[str, Any]:
    """MaxSim of each candidate, how well it meets what is asked for, and how much of that it leaves unmet.

    MaxSim is infinite where a candidate's words are not stored.
    """
    count = len(facts.ids)
    found = {"maxsim": np.full(count, np.inf), "met": np.ones(count), "unmet": np.zeros(count)}
    stored = {memory: packed for memory, _, packed in tokens if packed}
    if not stored or reading.tokens is None:
        return found
    before = {memory: other for memory, other, _ in tokens if other}
    columns = {memory: place for place, memory in enumerate(stored)}
    best = best_words(reading.tokens.astype(np.float32), states_of(stored), starts_of(stored))
    with_before = best.copy()
    for memory, other in before.items():
        if memory in columns and other in columns:
            here, there = columns[memory], columns[other]
            with_before[:, here] = np.maximum(best[:, here], params.word_before * best[:, there])
    each = {
        "maxsim": matched(with_before, reading.words_weights(params.stop_weight), params.word_power),
        **met_by(best, reading, params.word_met),
    }
    known = np.array([columns.get(memory, -1) for memory in facts.ids], dtype=np.intp)
    return {name: np.where(known >= 0, each[name][known], usual) for name, usual in found.items()}


def states_of(stored: Mapping[UUID, bytes]) -> NDArray[np.float32]:
    """The states of all words, each of length one: so the scale of each memory's falls out."""
    states = np.frombuffer(b"".join(stored.values()), dtype=np.int8).reshape(-1, TOKEN_DIMENSIONS)
    words = states.astype(np.float32)
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    units: NDArray[np.float32] = words / np.maximum(lengths, 1e-9)
    return units


def starts_of(stored: Mapping[UUID, bytes]) -> NDArray[np.intp]:
    """Where the words of each memory begin."""
    counts = [len(packed) // TOKEN_DIMENSIONS for packed in stored.values()]
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)


def met_by(best: NDArray[Any], reading: Reading, least: float) -> dict[str, Array]:
    """How well each memory meets the words that say what is asked for, and the share of them that it does not meet."""
    asked = reading.asked_words()
    if not asked:
        return {"met": np.ones(best.shape[1]), "unmet": np.zeros(best.shape[1])}
    weights = np.array([weight for _, weight in asked])
    likeness = np.array([best[tokens].mean(axis=0) for tokens, _ in asked])
    whole = weights.sum()
    return {"met": np.asarray(weights @ likeness / whole), "unmet": np.asarray(weights @ (likeness < least) / whole)}
