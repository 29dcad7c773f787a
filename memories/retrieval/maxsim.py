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

    MaxSim is that of the best passage: somewhere in a long text there is something similar to any token. It is infinite
    for candidates without token states.
    """
    count = len(tables)
    defaults = {"maxsim": np.full(count, np.inf), "term_coverage": np.ones(count), "uncovered_terms": np.zeros(count)}
    stored = {memory: packed for memory, _, packed in tokens if packed}
    if not stored or parsed.tokens is None:
        return defaults
    previous = {memory: predecessor for memory, predecessor, _ in tokens if predecessor}
    index = {memory: number for number, memory in enumerate(stored)}
    lengths = np.array([len(packed) // TOKEN_DIMENSIONS for packed in stored.values()], dtype=np.intp)
    passages = split_passages(lengths, params.maxsim_window)
    halves = best_token_matches(parsed.tokens.astype(np.float32), token_states(stored), passages.halves)
    best = np.maximum(halves[:, passages.first], halves[:, passages.second])
    ends = np.append(passages.starts[1:], best.shape[1])
    with_previous = best.copy()
    for memory, predecessor in previous.items():
        if memory in index and predecessor in index:
            own = slice(passages.starts[index[memory]], ends[index[memory]])
            last_passage = best[:, ends[index[predecessor]] - 1][:, None]
            with_previous[:, own] = np.maximum(best[:, own], params.maxsim_before * last_passage)
    by_passage = weighted_match(with_previous, parsed.token_weights(params.stop_weight), params.maxsim_power)
    features = {
        "maxsim": np.maximum.reduceat(by_passage, passages.starts),
        **term_coverage(np.maximum.reduceat(best, passages.starts, axis=1), parsed, params.maxsim_covered),
    }
    columns = np.array([index.get(memory, -1) for memory in tables.ids], dtype=np.intp)
    return {name: np.where(columns >= 0, features[name][columns], default) for name, default in defaults.items()}


def token_states(packed: Mapping[UUID, bytes]) -> NDArray[np.float32]:
    """All token states, normalised, so that their quantisation scales cancel out."""
    states = np.frombuffer(b"".join(packed.values()), dtype=np.int8).reshape(-1, TOKEN_DIMENSIONS)
    vectors = states.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: NDArray[np.float32] = vectors / np.maximum(norms, 1e-9)
    return normalised


def term_coverage(best: NDArray[Any], parsed: ParsedQuery, threshold: float) -> dict[str, Array]:
    """Mean similarity to the content words of the query, and the share of them below the threshold."""
    content = parsed.content_tokens()
    if not content:
        return {"term_coverage": np.ones(best.shape[1]), "uncovered_terms": np.zeros(best.shape[1])}
    weights = np.array([weight for _, weight in content])
    similarities = np.array([best[tokens].mean(axis=0) for tokens, _ in content])
    total = weights.sum()
    return {
        "term_coverage": np.asarray(weights @ similarities / total),
        "uncovered_terms": np.asarray(weights @ (similarities < threshold) / total),
    }
