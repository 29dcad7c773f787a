"""Formulas against independent implementations of the same thing."""

from collections.abc import Callable

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import metrics
from scoring.bm25 import bm25
from scoring.diversity import mmr
from scoring.graph import traverse
from scoring.term import Array
from tests.support.examples import examples
from tests.support.trec_eval import trec_eval

WORDS = ["invoice", "postgres", "redis", "lisbon", "maya", "priya", "deploy", "friday", "coffee", "ledger"]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 0.0), (2.0, 1.0)])
def test_bm25_agrees_with_bm25s_in_lucenes_variant(k1: float, b: float) -> None:
    rng = np.random.default_rng(3)
    corpus = [rng.choice(WORDS, size=rng.integers(2, 20)).tolist() for _ in range(200)]
    query = ["postgres", "lisbon", "friday"]
    # Lucene's variant has this IDF and leaves the constant (k1 + 1) out.
    reference = bm25s.BM25(method="lucene", k1=k1, b=b)
    reference.index(corpus, show_progress=False)
    theirs = reference.get_scores(query) * (k1 + 1)

    frequencies = np.array([[document.count(word) for word in query] for document in corpus], float)
    lengths = np.array([len(document) for document in corpus], float)
    ours = bm25(
        frequencies, lengths, (frequencies > 0).sum(axis=0).astype(float),
        documents=len(corpus), average_length=lengths.mean(), k1=k1, b=b,
    )  # fmt: skip
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def random_judgements(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(40)]
    judged = {
        f"q{q}": {document: int(rng.integers(1, 4)) for document in rng.choice(documents, 6, replace=False)}
        for q in range(25)
    }
    return judged, {query: rng.permutation(documents)[:30].tolist() for query in judged}


@pytest.mark.parametrize(
    ("ours", "metric"),
    [
        (lambda grades, ideal: metrics.ndcg(grades, ideal, 10), "ndcg@10"),
        (lambda grades, ideal: metrics.ndcg(grades, ideal, 30), "ndcg@30"),
        (lambda grades, ideal: metrics.recall_at_k(grades, ideal, 5), "recall@5"),
        (lambda grades, ideal: metrics.recall_at_k(grades, ideal, 10), "recall@10"),
        (lambda grades, ideal: metrics.reciprocal_rank(grades), "mrr"),
        (metrics.average_precision, "map"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_metrics_agree_with_trec_eval(ours: Callable[[Array, Array], Array], metric: str, seed: int) -> None:
    judged, ranked = random_judgements(seed)
    grades = np.array([[judged[query].get(document, 0) for document in ranked[query]] for query in judged], float)
    ideal = np.array([sorted(judged[query].values(), reverse=True) for query in judged], float)
    assert ours(grades, ideal).tolist() == pytest.approx(list(trec_eval(judged, ranked, metric).values()), abs=1e-9)


def naive_mmr(
    relevance: list[float], similarity: list[list[float]], balance: float, top_k: int, skip: float
) -> list[int]:
    """The textbook loop, candidate by candidate."""
    left, chosen = list(range(len(relevance))), []
    while left and len(chosen) < top_k:

        def worth(one: int) -> float:
            return balance * relevance[one] - (1 - balance) * max((similarity[one][s] for s in chosen), default=0.0)

        best = max(left, key=lambda one: (worth(one), -one))
        chosen.append(best)
        left = [one for one in left if one != best and max(similarity[one][s] for s in chosen) < skip]
    return chosen


@settings(max_examples=examples(20, fuzz=60))
@given(st.integers(0, 10_000), st.integers(1, 25), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.94, np.inf]))
def test_mmr_picks_what_the_naive_loop_picks(seed: int, n: int, balance: float, skip: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance = rng.random(n)
    picks = mmr(relevance[None], vectors[None], balance=balance, top_k=10, skip_at=skip).picks(0)
    assert [pick.row for pick in picks] == naive_mmr(
        relevance.tolist(), (vectors @ vectors.T).tolist(), balance, 10, skip
    )


@settings(max_examples=examples(15, fuzz=40))
@given(st.integers(0, 10_000), st.integers(1, 20))
def test_mmr_with_tags_counts_the_larger_of_cosine_and_tag_overlap(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance, tags = rng.random(n), rng.random((n, 6)) < 0.4
    alike = [[0.0] * n for _ in range(n)]
    for a in range(n):
        for b in range(n):
            mine, theirs = set(np.flatnonzero(tags[a])), set(np.flatnonzero(tags[b]))
            overlap = len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0
            alike[a][b] = max(float(vectors[a] @ vectors[b]), 0.35 * overlap)
    picks = mmr(
        relevance[None], vectors[None], balance=0.78, top_k=8, tags=tags[None], tag_share=0.35, skip_at=0.94
    ).picks(0)
    assert [pick.row for pick in picks] == naive_mmr(relevance.tolist(), alike, 0.78, 8, 0.94)


@settings(max_examples=examples(20, fuzz=60))
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.floats(0.01, 1.0)), max_size=20))
def test_traversal_finds_the_best_of_all_paths(edges: list[tuple[int, int, float]]) -> None:
    scores = (1.0, 0.6, 0.35)
    best: dict[int, float] = {}
    paths = [(0, 1.0, 0)]
    while paths:
        here, confidence, hops = paths.pop()
        if hops == len(scores):
            continue
        for one, other, edge in [*edges, *((b, a, c) for a, b, c in edges)]:
            if one == here:
                weakest = min(confidence, edge)
                if other != 0:
                    best[other] = max(best.get(other, 0.0), scores[hops] * weakest)
                paths.append((other, weakest, hops + 1))
    assert {entity: reached.score for entity, reached in traverse(edges, [0], scores).items()} == pytest.approx(best)


@settings(max_examples=examples(20, fuzz=60))
@given(st.permutations(range(8)), st.permutations(range(8)), st.sampled_from([0.5, 0.9, 0.98]))
def test_rank_biased_overlap_is_the_sum_over_all_depths(one: list[int], other: list[int], p: float) -> None:
    # Two full rankings of the same things agree wholly beyond their end, so the infinite sum can be written out.
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, 9)] + [1.0] * 4000
    endless = (1 - p) * sum(share * p**depth for depth, share in enumerate(agreement))
    assert metrics.rank_biased_overlap(one, other, p) == pytest.approx(endless, abs=1e-9)


@settings(max_examples=examples(25, fuzz=80))
@given(st.lists(st.integers(0, 12), unique=True, max_size=10), st.lists(st.integers(0, 12), unique=True, max_size=10))
def test_rank_biased_overlap_is_symmetric_and_within_bounds(one: list[int], other: list[int]) -> None:
    overlap = metrics.rank_biased_overlap(one, other, 0.9)
    assert overlap == pytest.approx(metrics.rank_biased_overlap(other, one, 0.9))
    assert -1e-9 <= overlap <= 1 + 1e-9
    assert metrics.rank_biased_overlap(one, one, 0.9) == pytest.approx(1.0)


@settings(max_examples=examples(25, fuzz=80))
@given(st.permutations(range(7)))
def test_kendalls_tau_counts_the_pairs_that_agree(order: list[int]) -> None:
    pairs = [(a, b) for a in range(7) for b in range(a + 1, 7)]
    agreeing = sum(1 if order.index(a) < order.index(b) else -1 for a, b in pairs)
    assert metrics.kendall_tau(list(range(7)), order) == pytest.approx(agreeing / len(pairs))


@pytest.mark.parametrize("other", ["", "xyz", "cxy"])
def test_rankings_that_share_no_pair_have_no_tau(other: str) -> None:
    assert metrics.kendall_tau("abc", other) is None
