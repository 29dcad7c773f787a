"""Every system against a second implementation made of plain loops, over random batches and random settings."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import reference_systems as reference
from scoring_batches import batch, ids, with_sessions, without_routes

from scoring.params import Choice, Declaration, Number, Params, ParamsError
from scoring.signals import EDGES, INTENTS, LEVELS, Edges, Signals
from scoring.systems import SYSTEMS
from scoring.systems.memorysync import MemorysyncParams
from scoring.systems.memsense import MemsenseParams
from scoring.systems.recall import RecallParams
from scoring.systems.system import Ranking, rank

SIZES = (0, 1, 2, 7, 60)
ROUNDS = 6


def stale(n: int, seed: int = 0) -> Signals:
    """A batch in which some have expired, some do not hold yet, and some clocks went wrong."""
    rng = np.random.default_rng(seed + 3)
    return replace(
        with_sessions(n, seed),
        hours_left=rng.choice([-5.0, 0.0, 30.0, np.inf], n),
        valid_hours=rng.choice([-2.0, 0.0, 40.0, 400.0], n),
        age_days=rng.choice([-3.0, -1.0, 0.0, 20.0], n),
    )


def partly_known(n: int, seed: int = 0) -> Signals:
    """A batch in which some have no place in their session, and some were read with the turn before them."""
    rng = np.random.default_rng(seed + 6)
    plain = without_routes(n, seed)
    context = np.where(rng.random(n) < 0.6, rng.random(n), np.inf)
    return replace(plain, position=rng.integers(-1, 4, n), scores={**plain.scores, "context": context})


def bare(n: int, seed: int = 0) -> Signals:
    """A batch of which nobody knows vectors, tags, edges, ranks or raw scores."""
    return replace(batch(n, seed), vectors=None, tags=None, edges=Edges(), ranks={}, scores={})


def flat(n: int, seed: int = 0) -> Signals:
    """A batch whose scores hardly differ, so that tiebreaks decide."""
    rng = np.random.default_rng(seed + 4)
    same = batch(1, seed).permuted(np.zeros(n, np.intp)) if n else batch(0)
    names, importance, age = rng.permutation(ids(n)), rng.choice([0.2, 0.7], n), rng.choice([1.0, 9.0], n)
    # A vector along one axis, so that its cosine to its copy is 1 without rounding.
    along = np.tile(np.eye(1, 24), (n, 1))
    return replace(same, ids=names, edges=Edges(), importance=importance, age_days=age, vectors=along)


BATCHES: dict[str, Callable[[int, int], Signals]] = {
    "mixed": batch,
    "sessions": with_sessions,
    "neighbours": without_routes,
    "stale": stale,
    "partly known": partly_known,
    "bare": bare,
    "flat": flat,
}


def apart(edges: Edges) -> Edges:
    """The edges that join two memories; the data model refuses any other."""
    real = edges.source != edges.target
    return Edges(edges.source[real], edges.target[real], edges.kind[real], edges.weight[real])


def value(declaration: Declaration, rng: np.random.Generator) -> Any:
    """One allowed value, now and then an end of the range."""
    if isinstance(declaration, Choice):
        return str(rng.choice(declaration.options))
    if not isinstance(declaration, Number):
        return bool(rng.integers(2))
    low, high = declaration.low, declaration.high
    inside = np.exp(rng.uniform(np.log(low), np.log(high))) if declaration.log and low > 0 else rng.uniform(low, high)
    drawn = rng.choice([low, high, inside], p=[0.15, 0.15, 0.7])
    return round(float(drawn)) if declaration.whole else float(drawn)


def setting(declared: type[Params], rng: np.random.Generator) -> Params:
    """A random set that no rule refuses, in which about half of the values keep their defaults."""
    while True:
        drawn = {name: value(one, rng) for name, one in declared.declared().items() if rng.random() < 0.5}
        try:
            return declared.of(drawn)
        except ParamsError:
            continue


@cache
def cases(system: str, kind: str) -> tuple[tuple[str, Signals, Any, int, bool], ...]:
    """Batches of every size with the defaults and with random settings, and how to ask."""
    made = []
    for n in SIZES:
        for seed in range(ROUNDS):
            rng = np.random.default_rng([n, seed, list(SYSTEMS).index(system), list(BATCHES).index(kind)])
            signals = replace(BATCHES[kind](n, seed), intent=str(rng.choice(INTENTS)))
            signals = replace(signals, edges=apart(signals.edges))
            for params in (SYSTEMS[system].params(), setting(SYSTEMS[system].params, rng)):
                top_k, diversify = int(rng.integers(1, n + 3)), bool(rng.integers(2))
                told = f"{n} candidates, seed {seed}, top {top_k}, diversify {diversify}, {params}"
                made.append((told, signals, params, top_k, diversify))
    return tuple(made)


def expected(system: str, signals: Signals, params: Params, top_k: int, diversify: bool, claimed: list[Any]) -> Any:
    """What the second implementation brings back."""
    return getattr(reference, f"order_{system}")(signals, params, top_k, diversify, claimed)


def came_back(system: str, signals: Signals, params: Params, top_k: int = 10, diversify: bool = False) -> list[Any]:
    """The ids in the order of the code under test."""
    return list(signals.ids[ranked(system, signals, params, top_k, diversify).order.rows])


def ranked(system: str, signals: Signals, params: Params, top_k: int = 10, diversify: bool = False) -> Ranking:
    """The code under test."""
    return rank(SYSTEMS[system], signals, params, top_k=top_k, diversify=diversify)


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_scores_agree_with_the_plain_loops(system: str, kind: str) -> None:
    for told, signals, params, _, _ in cases(system, kind):
        want = np.array(getattr(reference, system)(signals, params), float)
        said = ~np.isnan(want)
        got = SYSTEMS[system].score(signals, params).value
        np.testing.assert_allclose(got[said], want[said], rtol=1e-9, atol=1e-15, err_msg=told)


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_order_agrees_with_the_plain_loops(system: str, kind: str) -> None:
    # Candidates whose values differ by less than 1e-12 may come in either order; the next test settles exact ties.
    for told, signals, params, top_k, diversify in cases(system, kind):
        got = came_back(system, signals, params, top_k, diversify)
        assert got == expected(system, signals, params, top_k, diversify, got), told


@pytest.mark.parametrize("diversify", [False, True])
@pytest.mark.parametrize("system", SYSTEMS)
def test_candidates_that_differ_in_nothing_but_the_id_come_in_the_order_of_the_plain_loops(
    system: str, diversify: bool
) -> None:
    one = replace(batch(1), confidence=np.ones(1), edges=Edges())
    signals = replace(one.permuted(np.zeros(9, np.intp)), ids=np.random.default_rng(5).permutation(ids(9)))
    params = SYSTEMS[system].params()
    got = came_back(system, signals, params, 9, diversify)
    assert got
    assert got == expected(system, signals, params, 9, diversify, claimed=[])


@pytest.mark.parametrize("kind", BATCHES)
def test_the_tiebreak_is_announced_when_the_hybrid_scores_of_the_batch_are_flat(kind: str) -> None:
    for told, signals, params, top_k, _ in cases("memorysync", kind):
        order = ranked("memorysync", signals, params, top_k).order
        if len(order.rows):
            assert order.tiebreak_applied == reference.flat(signals, params), told


def test_the_spread_that_calls_for_a_tiebreak_is_that_of_the_batch_and_not_of_what_the_gates_leave() -> None:
    # "If the per-batch standard deviation of hybrid_score falls below 0.02": the third candidate belongs to the batch.
    signals = Signals(ids=ids(3), cosine=np.array([0.9, 0.9, 0.1]), hours_left=np.array([np.inf, np.inf, -1.0]))
    assert not ranked("memorysync", signals, MemorysyncParams()).order.tiebreak_applied


def test_in_a_tiebreak_an_age_before_zero_counts_as_zero() -> None:
    signals = Signals(ids=ids(2), age_days=np.array([-1.0, 0.0]))
    assert came_back("memorysync", signals, MemorysyncParams()) == list(ids(2)[::-1])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_walk_does_not_boost_the_memory_it_started_from(depth: int) -> None:
    supports = Edges(np.array([0]), np.array([1]), np.array([EDGES.index("supports")]), np.ones(1))
    signals = Signals(ids=ids(2), cosine=np.array([1.0, 0.0]), edges=supports)
    params = MemorysyncParams(anchors=1, traversal_depth=depth, weight_cluster=0.0)
    first, second = reference.hybrid(signals, params)
    np.testing.assert_allclose(SYSTEMS["memorysync"].score(signals, params).value, [first, second + 0.08])


def test_raw_relevance_is_the_papers_rrf_without_freshness_and_access() -> None:
    # The second is first by RRF, and old; alike vectors leave relevance alone to decide.
    signals = Signals(
        ids=ids(2),
        ranks={"semantic": np.array([2.0, 1.0])},
        age_days=np.array([0.0, 900.0]),
        vectors=np.ones((2, 1)),
    )
    params = RecallParams(mmr="on", mmr_relevance="raw")
    assert came_back("recall", signals, params) == [ids(2)[1], ids(2)[0]]


def test_a_session_chunk_that_cannot_come_back_does_not_silence_the_other_chunks() -> None:
    # "If no session chunk is available, retrieval falls back to the normal chunk-level ranking path."
    signals = Signals(
        ids=ids(2),
        level=np.array([LEVELS.index("session"), LEVELS.index("turn")]),
        session=np.array([0, 0]),
        hours_left=np.array([-1.0, np.inf]),
        ranks={"vec_full": np.array([1.0, 2.0])},
    )
    assert came_back("memsense", signals, MemsenseParams()) == [ids(2)[1]]
