"""Random batches of candidates for the scoring tests, deterministic per seed."""

from typing import Any

import numpy as np

from scoring.params import Choice, Declaration, Number, Params, ParamsError
from scoring.signals import EDGE_KINDS, KINDS, MEMSENSE_RETRIEVERS, RETRIEVERS, TYPES, Edges, Signals
from scoring.systems.recall import RERANK


def ids(n: int) -> np.ndarray[Any, Any]:
    """Ids in ascending order."""
    return np.array([f"{i:032x}" for i in range(n)])


def batch(n: int, seed: int = 0, **changes: Any) -> Signals:
    """A batch in which every signal varies, unless a column is given."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 24))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    columns = {
        "ids": rng.permutation(ids(n)),
        "type": rng.integers(0, len(TYPES), n),
        "kind": rng.integers(0, len(KINDS), n),
        "session": rng.integers(-1, n // 5 + 1, n),
        "position": rng.integers(0, 10, n),
        "age_days": rng.exponential(100, n),
        "valid_hours": rng.exponential(1000, n),
        "hours_left": np.where(rng.random(n) < 0.3, rng.exponential(50, n) + 0.1, np.inf),
        "confidence": rng.random(n),
        "belief": rng.uniform(0, 10, n),
        "protected": rng.random(n) < 0.3,
        "provenance_depth": rng.integers(0, 4, n),
        "importance": rng.random(n),
        "quality": rng.random(n),
        "memory_score": np.where(rng.random(n) < 0.5, rng.random(n), np.nan),
        "access_count": rng.integers(0, 50, n),
        "useful": rng.integers(0, 9, n),
        "not_useful": rng.integers(0, 9, n),
        "cosine": rng.uniform(-1, 1, n),
        "cluster_cosine": np.where(rng.random(n) < 0.5, rng.uniform(-1, 1, n), np.nan),
        "maxsim": np.where(rng.random(n) < 0.8, rng.random(n), np.inf),
        "term_coverage": rng.random(n),
        "uncovered_terms": rng.random(n),
        "answer_entity_match": np.where(rng.random(n) < 0.5, rng.random(n), 0.0),
        "answer_type_match": rng.random(n) < 0.8,
        "about_another": rng.random(n) < 0.3,
        "entity_match": np.where(rng.random(n) < 0.3, 1.0, 0.0),
        "affinity": np.where(rng.random(n) < 0.5, rng.random(n), 0.0),
        "returned": rng.random(n) < 0.2,
        "ranks": {retriever: _ranks(rng, n) for retriever in (*RETRIEVERS, *MEMSENSE_RETRIEVERS, RERANK)},
        "scores": {retriever: np.where(rng.random(n) < 0.6, rng.random(n) * 12, np.inf) for retriever in RETRIEVERS},
        "edges": _edges(rng, n, 2 * n),
        "vectors": vectors,
        "tags": rng.random((n, 12)) < 0.2,
    }
    return Signals(**{**columns, **changes})


def _ranks(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return np.where(rng.random(n) < 0.5, rng.permutation(n) + 1.0, np.inf)


def _edges(rng: np.random.Generator, n: int, count: int) -> Edges:
    if not n:
        return Edges()
    ends = rng.integers(0, n, (2, count))
    return Edges(ends[0], ends[1], rng.integers(0, len(EDGE_KINDS), count), rng.random(count))


def with_sessions(n: int, seed: int = 0) -> Signals:
    """A batch with session chunks, turns and facts."""
    return batch(n, seed, level=np.random.default_rng(seed + 1).integers(0, 3, n))


def without_retrievers(n: int, seed: int = 0) -> Signals:
    """A batch in which no retriever found half of the chunks, so that memsense uses their neighbours."""
    plain = batch(n, seed)
    missing = np.random.default_rng(seed + 2).random(n) < 0.5
    ranks = {retriever: np.where(missing, np.inf, rank) for retriever, rank in plain.ranks.items()}
    return batch(n, seed, ranks=ranks)


def random_value(declaration: Declaration, rng: np.random.Generator) -> Any:
    """A random allowed value, sometimes a bound of the range."""
    if isinstance(declaration, Choice):
        return str(rng.choice(declaration.options))
    if not isinstance(declaration, Number):
        return bool(rng.integers(2))
    low, high = declaration.low, declaration.high
    inside = np.exp(rng.uniform(np.log(low), np.log(high))) if declaration.log and low > 0 else rng.uniform(low, high)
    sampled = rng.choice([low, high, inside], p=[0.15, 0.15, 0.7])
    return round(float(sampled)) if declaration.is_integer else float(sampled)


def random_params(declared: type[Params], rng: np.random.Generator) -> Params:
    """A random valid parameter set; about half of the values are defaults."""
    while True:
        values = {name: random_value(one, rng) for name, one in declared.declarations().items() if rng.random() < 0.5}
        try:
            return declared.of(values)
        except ParamsError:
            continue
