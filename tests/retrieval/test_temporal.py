"""Temporal: a bell curve over the distance from the window."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from memories.models import Memory, MemoryVector, Namespace
from memories.retrieval.parse import understand
from memories.retrieval.retrieve import retrieve
from memories.retrieval.retrievers.context import RetrieverContext
from tests.support.retrieval_world import (
    NOW,
    assert_same_list,
    cosines,
    is_certain,
    make_query,
    run_retriever,
    searchable_memories,
    sort_scores,
)
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def near_in_time(
    namespace: Namespace, start: datetime, until: datetime, sigma: float, floor: float
) -> dict[UUID, float]:
    """A bell curve over the distance of each memory's time from the window, in half-widths."""
    scores = {}
    for one in searchable_memories(namespace):
        if not is_certain(one):
            continue
        if one.event_at:
            begins, ends = one.event_at, one.event_until or one.event_at
        elif one.valid_from:
            begins, ends = one.valid_from, one.valid_until or one.valid_from
        else:
            begins = ends = one.happened_at or one.created_at
        outside = max(start - ends, begins - until, timedelta(0)) / ((until - start) / 2)
        score = math.exp(-(outside**2) / (2 * sigma**2))
        if score >= floor:
            scores[one.id] = score
    return scores


def moment(year: int, month: int, day: int) -> datetime:
    """The beginning of a day."""
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(("sigma", "floor"), [(1.0, 0.01), (0.1, 0.01), (5.0, 0.5), (1.0, 0.0)])
@pytest.mark.parametrize(
    ("text", "start", "until"),
    [
        ("Who left two months ago?", moment(2026, 1, 1), moment(2026, 2, 1)),
        ("What was agreed in October 2025?", moment(2025, 10, 1), moment(2025, 11, 1)),
        ("What happened on 2026-01-31?", moment(2026, 1, 31), moment(2026, 2, 1)),
        ("What was new recently?", NOW - timedelta(days=30), NOW),
        ("What was there in 1987?", moment(1987, 1, 1), moment(1988, 1, 1)),
    ],
)
def test_time_is_a_bell_curve_over_half_widths_of_the_window(
    world: Namespace, text: str, start: datetime, until: datetime, sigma: float, floor: float
) -> None:
    query = make_query(world, text, params={"temporal_sigma": sigma, "temporal_floor": floor})
    expected = near_in_time(world, start, until, sigma, max(floor, 1e-12))
    listed = sort_scores(expected, cosines(world, understand(query)))
    assert_same_list(run_retriever(query, "temporal"), listed)
    for pool in range(1, len(listed)):
        assert_same_list(run_retriever(query, "temporal", pool=pool), listed[:pool])


def test_the_time_of_a_memory_is_its_event_else_its_validity_else_when_it_was_said() -> None:
    namespace = Namespace.objects.create(slug="times", title="Times", clock=NOW)
    start, until = moment(2026, 1, 1), moment(2026, 2, 1)
    before, within, after = moment(2025, 6, 1), moment(2026, 1, 10), moment(2026, 6, 1)
    half = (until - start) / 2
    rows: list[tuple[dict[str, Any], float]] = [
        ({"event_at": within, "valid_from": before, "happened_at": before}, 0),
        ({"event_at": before, "event_until": after}, 0),
        ({"event_at": before, "event_until": start - half}, 1),
        ({"event_at": before, "happened_at": within}, math.inf),
        ({"event_at": until + 2 * half, "event_until": after}, 2),
        ({"valid_from": before, "valid_until": within}, 0),
        ({"valid_from": within, "happened_at": before}, 0),
        ({"valid_from": before, "happened_at": within}, math.inf),
        ({"valid_until": after, "happened_at": within}, 0),
        ({"happened_at": within, "created_at": before}, 0),
        ({"created_at": within}, 0),
        ({"created_at": until + half * 3.03}, 3.03),
        ({"created_at": until + half * 3.04}, math.inf),
    ]
    expected = {}
    for given, away in rows:
        stored = row(Memory, namespace, **{"created_at": before, "happened_at": None, **given})
        if away < math.inf:
            expected[stored.id] = math.exp(-(away**2) / 2)
    assert dict(run_retriever(make_query(namespace, "two months ago"), "temporal")) == pytest.approx(expected)


@pytest.mark.parametrize("indexed", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("compared", [3, 6, 1_000])
def test_of_many_in_a_window_the_latest_are_compared(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, indexed: float, compared: int
) -> None:
    query = make_query(world, "What was new in 2026?")
    inside = {id for id, score in run_retriever(query, "temporal") if score == 1.0}
    assert len(inside) > 6
    near = cosines(world, understand(query))
    ids = list(MemoryVector.objects.within(world).order_by("id").values_list("id", flat=True))
    index_vectors(world, ids[: int(indexed * len(ids))])
    monkeypatch.setattr(RetrieverContext, "max_compared", compared)
    listed = run_retriever(query, "temporal", pool=3)
    assert listed == sort_scores(dict.fromkeys(latest_of(world, inside, compared), 1.0), near)[:3]


def test_memories_in_a_window_that_other_retrievers_find_are_in_its_list(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = make_query(world, "Who prefers PostgreSQL in 2026?")
    inside = {id for id, score in run_retriever(query, "temporal") if score == 1.0}
    near = cosines(world, understand(query))
    index_vectors(world)
    monkeypatch.setattr("memories.retrieval.retrieve.list_depth", lambda params, top_k: 3)
    monkeypatch.setattr(RetrieverContext, "max_compared", 3)
    retrieval = retrieve(query)
    others = set[UUID]().union(*(ids for name, ids in retrieval.fetched.lists.items() if name != "temporal"))
    expected = sort_scores(dict.fromkeys((others & inside) | latest_of(world, inside, 3), 1.0), near)[:3]
    assert not {id for id, _ in expected} <= latest_of(world, inside, 3)
    ranks = retrieval.signals.ranks["temporal"]
    assert [retrieval.candidates.ids[row] for row in np.argsort(ranks)[:3]] == [id for id, _ in expected]
    assert np.isfinite(ranks).sum() == 3


def latest_of(namespace: Namespace, ids: set[UUID], count: int) -> set[UUID]:
    """The memories among these that begin last."""
    memories = [one for one in searchable_memories(namespace) if one.id in ids]
    return {one.id for one in sorted(memories, key=begins, reverse=True)[:count]}


def begins(memory: Memory) -> datetime:
    """When a memory takes place, else when it is valid, else when it was said."""
    return memory.event_at or memory.valid_from or memory.happened_at or memory.created_at
