"""MaxSim (late interaction) between the tokens of the query and of each candidate."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.providers.token_matrix import TOKEN_DIMENSIONS
from memories.retrieval.candidate_rows import CandidateTables
from memories.retrieval.parse import ParsedQuery
from scoring.fusion import best_token_matches, split_passages, weighted_match
from scoring.term import Array


def maxsim_features(
    tables: CandidateTables, tokens: Sequence[tuple[UUID, UUID | None, bytes | None]], parsed: ParsedQuery, params: Any
) -> dict[str, Any]:
    """MaxSim and term coverage of each candidate.

    MaxSim is that of the best passage, as a long text contains something similar to any token somewhere. It is infinite
    for candidates without token states.
    """
    count = len(tables)
    found = {"maxsim": np.full(count, np.inf), "term_coverage": np.ones(count), "uncovered_terms": np.zeros(count)}
    stored = {memory: packed for memory, _, packed in tokens if packed}
    if not stored or parsed.tokens is None:
        return found
    before = {memory: other for memory, other, _ in tokens if other}
    columns = {memory: place for place, memory in enumerate(stored)}
    lengths = np.array([len(packed) // TOKEN_DIMENSIONS for packed in stored.values()], dtype=np.intp)
    cut = split_passages(lengths, params.maxsim_window)
    halves = best_token_matches(parsed.tokens.astype(np.float32), token_states(stored), cut.halves)
    best = np.maximum(halves[:, cut.first], halves[:, cut.second])
    ends = np.append(cut.starts[1:], best.shape[1])
    with_before = best.copy()
    for memory, other in before.items():
        if memory in columns and other in columns:
            here, there = columns[memory], columns[other]
            mine = slice(cut.starts[here], ends[here])
            # Of the previous memory, its last passage.
            with_before[:, mine] = np.maximum(best[:, mine], params.maxsim_before * best[:, ends[there] - 1][:, None])
    by_passage = weighted_match(with_before, parsed.token_weights(params.stop_weight), params.maxsim_power)
    each = {
        "maxsim": np.maximum.reduceat(by_passage, cut.starts),
        **term_coverage(np.maximum.reduceat(best, cut.starts, axis=1), parsed, params.maxsim_covered),
    }
    known = np.array([columns.get(memory, -1) for memory in tables.ids], dtype=np.intp)
    return {name: np.where(known >= 0, each[name][known], usual) for name, usual in found.items()}


def token_states(packed: Mapping[UUID, bytes]) -> NDArray[np.float32]:
    """All token states, normalised; quantisation scales cancel out."""
    states = np.frombuffer(b"".join(packed.values()), dtype=np.int8).reshape(-1, TOKEN_DIMENSIONS)
    words = states.astype(np.float32)
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    units: NDArray[np.float32] = words / np.maximum(lengths, 1e-9)
    return units


def term_coverage(best: NDArray[Any], parsed: ParsedQuery, threshold: float) -> dict[str, Array]:
    """Mean similarity to the content words of the query, and the share of them below the threshold."""
    asked = parsed.content_tokens()
    if not asked:
        return {"term_coverage": np.ones(best.shape[1]), "uncovered_terms": np.zeros(best.shape[1])}
    weights = np.array([weight for _, weight in asked])
    likeness = np.array([best[tokens].mean(axis=0) for tokens, _ in asked])
    whole = weights.sum()
    return {
        "term_coverage": np.asarray(weights @ likeness / whole),
        "uncovered_terms": np.asarray(weights @ (likeness < threshold) / whole),
    }
