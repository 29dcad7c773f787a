"""Differential test: every system against a plain-loop implementation, over random batches and parameters."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from scoring.params import Params
from scoring.signals import EDGE_KINDS, EMPHASES, INTENTS, LEVELS, NO_EMPHASIS, Edges, Signals
from scoring.systems import SYSTEMS
from scoring.systems.memorysync import MemorysyncParams
from scoring.systems.memsense import MemsenseParams
from scoring.systems.recall import RecallParams
from scoring.systems.system import Ranking, rank
from tests.support import reference_systems as reference
from tests.support.scoring_inputs import batch, ids, random_params, with_sessions, without_retrievers

SIZES = (0, 1, 2, 7, 60)
ROUNDS = 6


def stale(n: int, seed: int = 0) -> Signals:
    """A batch with expired, not yet valid and future-dated candidates."""
    rng = np.random.default_rng(seed + 3)
    return replace(
        with_sessions(n, seed),
        hours_left=rng.choice([-5.0, 0.0, 30.0, np.inf], n),
        valid_hours=rng.choice([-2.0, 0.0, 40.0, 400.0], n),
        age_days=rng.choice([-3.0, -1.0, 0.0, 20.0], n),
    )


def partly_known(n: int, seed: int = 0) -> Signals:
    """A batch in which some have no position in their session, and some have a context score."""
    rng = np.random.default_rng(seed + 6)
    plain = without_retrievers(n, seed)
    context = np.where(rng.random(n) < 0.6, rng.random(n), np.inf)
    return replace(plain, position=rng.integers(-1, 4, n), scores={**plain.scores, "context": context})


def bare(n: int, seed: int = 0) -> Signals:
    """A batch without vectors, tags, edges, ranks and raw scores."""
    return replace(batch(n, seed), vectors=None, tags=None, edges=Edges(), ranks={}, scores={})


def flat(n: int, seed: int = 0) -> Signals:
    """A batch whose scores hardly differ, so that the tiebreak decides."""
    rng = np.random.default_rng(seed + 4)
    same = batch(1, seed).permute(np.zeros(n, np.intp)) if n else batch(0)
    names, importance, age = rng.permutation(ids(n)), rng.choice([0.2, 0.7], n), rng.choice([1.0, 9.0], n)
    # A unit vector along one axis: its cosine to itself is exactly 1.
    axis = np.tile(np.eye(1, 24), (n, 1))
    return replace(same, ids=names, edges=Edges(), importance=importance, age_days=age, vectors=axis)


BATCHES: dict[str, Callable[[int, int], Signals]] = {
    "mixed": batch,
    "sessions": with_sessions,
    "neighbours": without_retrievers,
    "stale": stale,
    "partly known": partly_known,
    "bare": bare,
    "flat": flat,
}


def without_self_loops(edges: Edges) -> Edges:
    """The edges without self-loops, which the data model rejects."""
    mask = edges.source != edges.target
    return Edges(edges.source[mask], edges.target[mask], edges.kind[mask], edges.weight[mask])


@cache
def cases(system: str, kind: str) -> tuple[tuple[str, Signals, Any, int, bool], ...]:
    """Batches of every size with default and random parameters, top k and diversify."""
    result = []
    for n in SIZES:
        for seed in range(ROUNDS):
            rng = np.random.default_rng([n, seed, list(SYSTEMS).index(system), list(BATCHES).index(kind)])
            emphasis = str(rng.choice((NO_EMPHASIS, *EMPHASES)))
            signals = replace(BATCHES[kind](n, seed), intent=str(rng.choice(INTENTS)), emphasis=emphasis)
            signals = replace(signals, edges=without_self_loops(signals.edges))
            for params in (SYSTEMS[system].params(), random_params(SYSTEMS[system].params, rng)):
                top_k, diversify = int(rng.integers(1, n + 3)), bool(rng.integers(2))
                label = f"{n} candidates, seed {seed}, top {top_k}, diversify {diversify}, {params}"
                result.append((label, signals, params, top_k, diversify))
    return tuple(result)


def reference_order(
    system: str, signals: Signals, params: Params, top_k: int, diversify: bool, claimed: list[Any]
) -> Any:
    """Ids returned by the reference implementation."""
    return getattr(reference, f"order_{system}")(signals, params, top_k, diversify, claimed)


def returned_ids(system: str, signals: Signals, params: Params, top_k: int = 10, diversify: bool = False) -> list[Any]:
    """Ids returned by the code under test."""
    return list(signals.ids[ranked_ids(system, signals, params, top_k, diversify).order.rows])


def ranked_ids(system: str, signals: Signals, params: Params, top_k: int = 10, diversify: bool = False) -> Ranking:
    """Ranking by the code under test."""
    return rank(SYSTEMS[system], signals, params, top_k=top_k, diversify=diversify)


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_agree_with_the_plain_loops(system: str, kind: str) -> None:
    for label, signals, params, _, _ in cases(system, kind):
        want = np.array(getattr(reference, system)(signals, params), float)
        defined = ~np.isnan(want)
        got = SYSTEMS[system].score(signals, params).value
        np.testing.assert_allclose(got[defined], want[defined], rtol=1e-9, atol=1e-15, err_msg=label)


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_order_agrees_with_the_plain_loops(system: str, kind: str) -> None:
    # Candidates that differ by less than 1e-12 may come in either order; the next test covers exact ties.
    for label, signals, params, top_k, diversify in cases(system, kind):
        got = returned_ids(system, signals, params, top_k, diversify)
        assert got == reference_order(system, signals, params, top_k, diversify, got), label


@pytest.mark.parametrize("diversify", [False, True])
@pytest.mark.parametrize("system", SYSTEMS)
def test_candidates_that_differ_only_by_id_are_ordered_as_by_the_plain_loops(system: str, diversify: bool) -> None:
    one = replace(batch(1), confidence=np.ones(1), edges=Edges())
    signals = replace(one.permute(np.zeros(9, np.intp)), ids=np.random.default_rng(5).permutation(ids(9)))
    params = SYSTEMS[system].params()
    got = returned_ids(system, signals, params, 9, diversify)
    assert got
    assert got == reference_order(system, signals, params, 9, diversify, claimed=[])


@pytest.mark.parametrize("kind", BATCHES)
def test_the_tiebreak_is_announced_when_the_hybrid_scores_of_the_batch_are_flat(kind: str) -> None:
    for label, signals, params, top_k, _ in cases("memorysync", kind):
        order = ranked_ids("memorysync", signals, params, top_k).order
        if len(order.rows):
            assert order.tiebreak_applied == reference.is_flat(signals, params), label


def test_the_tiebreak_depends_on_the_deviation_of_the_candidates_that_can_come_back() -> None:
    # "using only the memories in the current result batch": the third candidate is filtered, so it is not in the batch.
    signals = Signals(ids=ids(3), cosine=np.array([0.9, 0.9, 0.1]), hours_left=np.array([np.inf, np.inf, -1.0]))
    assert ranked_ids("memorysync", signals, MemorysyncParams()).order.tiebreak_applied


def test_in_a_tiebreak_a_negative_age_counts_as_zero() -> None:
    signals = Signals(ids=ids(2), age_days=np.array([-1.0, 0.0]))
    assert returned_ids("memorysync", signals, MemorysyncParams()) == list(ids(2)[::-1])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_path_does_not_boost_its_anchor(depth: int) -> None:
    supports = Edges(np.array([0]), np.array([1]), np.array([EDGE_KINDS.index("supports")]), np.ones(1))
    ranks = {"semantic": np.array([1.0, np.inf])}
    signals = Signals(ids=ids(2), cosine=np.array([1.0, 0.0]), edges=supports, ranks=ranks)
    params = MemorysyncParams(anchors=1, traversal_depth=depth, weight_cluster=0.0)
    first, second = reference.hybrid(signals, params)
    np.testing.assert_allclose(SYSTEMS["memorysync"].score(signals, params).value, [first, second + 0.08])


def test_raw_relevance_is_the_papers_rrf_without_freshness_and_access() -> None:
    # The second is first by RRF, and old; with equal vectors only relevance decides.
    signals = Signals(
        ids=ids(2),
        ranks={"semantic": np.array([2.0, 1.0])},
        age_days=np.array([0.0, 900.0]),
        vectors=np.ones((2, 1)),
    )
    params = RecallParams(mmr="on", mmr_relevance="raw")
    assert returned_ids("recall", signals, params) == [ids(2)[1], ids(2)[0]]


def test_a_filtered_session_chunk_does_not_filter_the_other_chunks() -> None:
    # "If no session chunk is available, retrieval falls back to the normal chunk-level ranking path."
    signals = Signals(
        ids=ids(2),
        level=np.array([LEVELS.index("session"), LEVELS.index("turn")]),
        session=np.array([0, 0]),
        hours_left=np.array([-1.0, np.inf]),
        ranks={"vec_full": np.array([1.0, 2.0])},
    )
    assert returned_ids("memsense", signals, MemsenseParams()) == [ids(2)[1]]
