"""Why not: the smallest change equals that of a search over every step of every slider."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memories.contracts.why_not import ListRank, WhyNot
from memories.models import Memory, Namespace
from memories.retrieval import smallest_change
from memories.retrieval.config import override_params
from memories.retrieval.retrieve import Retrieval, rank_candidates, retrieve
from memories.retrieval.smallest_change import MAX_TRIALS, answer_rank, range_fraction, rank_in_order
from memories.retrieval.why_not import why_not
from scoring.params import Choice, Number, ParamsError
from tests.support.retrieval_world import make_query, memory

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def every_value(one: Any) -> list[Any]:
    """All values that a person can choose, of sliders with not too many steps."""
    if isinstance(one, Choice):
        return list(one.options)
    if not isinstance(one, Number):
        return [False, True]
    steps = round((one.high - one.low) / one.step)
    if steps > MAX_TRIALS:
        return []
    values = [min(round(one.low + step * one.step, 10), one.high) for step in range(steps + 1)]
    return [round(value) for value in values] if one.is_integer else values


def smallest(retrieval: Retrieval, row: int) -> float | None:
    """The smallest share of a range that brings a candidate in, by trying everything."""
    found, system = [], retrieval.query.config.system
    for name, one in retrieval.params.declarations().items():
        for value in every_value(one) if one.scope == "score" else ():
            try:
                params = retrieval.params.with_values(**retrieval.params.as_requested({name: value}))
            except ParamsError:
                continue
            if system.weighted_retrievers(params) != system.weighted_retrievers(retrieval.params):
                continue
            if retrieval.signals.vectors is None and name in system.diversified_by:
                continue
            ranking = rank_candidates(retrieval.query, retrieval.signals, params, retrieval.query_plan.plan)
            if rank_in_order(ranking, row):
                found.append(range_fraction(retrieval.params, name, value))
    return min(found, default=None)


def assert_change_works(retrieval: Retrieval, asked: WhyNot, missed: Memory) -> None:
    """Hold a change against a live retrieval with it."""
    change = asked.change
    assert change is not None
    config = retrieval.query.config
    moved = override_params(config, config.system.params.as_requested({change.param: change.after}))
    assert answer_rank(retrieve(replace(retrieval.query, config=moved)), missed.id) == change.rank


@pytest.mark.parametrize("system", ["recall", "adaptive", "contextdb", "memsense"])
@pytest.mark.parametrize("text", ["Which database does invoicing use?", "What does Maya prefer?"])
def test_the_least_change_is_no_larger_than_a_search_over_every_step_finds(
    world: Namespace, system: str, text: str
) -> None:
    retrieval = retrieve(make_query(world, text, system, top_k=3))
    back = set(retrieval.ranking.order.rows.tolist())
    out = [row for row in np.argsort(-retrieval.ranking.score.value).tolist() if row not in back]
    brought = 0
    for row in out[:2] + out[-1:]:
        missed = Memory.objects.within(world).get(id=retrieval.candidates.rows[row]["id"])
        asked, least = why_not(retrieval.query, missed.id), smallest(retrieval, row)
        assert (least is None) or (asked.change is not None and asked.change.fraction <= least + 1e-12)
        untried = {"mmr"} if retrieval.signals.vectors is None else set()
        assert asked.tried == tuple(
            name
            for name, one in retrieval.params.declarations().items()
            if one.scope == "score" and name not in untried
        )
        if asked.change:
            assert_change_works(retrieval, asked, missed)
            brought += 1
    assert brought or system in ("contextdb", "memsense")  # of which the search over every step finds none either


@pytest.mark.parametrize(("mmr", "tried"), [("on", True), ("off", False), ("plan", False)])
def test_mmr_is_tried_only_where_it_ran_as_it_needs_vectors(world: Namespace, mmr: str, tried: bool) -> None:
    query = make_query(world, "Which database does invoicing use?", top_k=3, params={"mmr": mmr})
    back = retrieve(query).ranking.order.rows.tolist()
    missed = next(row["id"] for place, row in enumerate(retrieve(query).candidates.rows) if place not in back)
    assert ("mmr" in why_not(query, missed).tried) == tried


def test_a_window_of_two_steps_is_not_missed(world: Namespace) -> None:
    asked = why_not(make_query(world, "Which database does invoicing use?", top_k=3), memory(world, "Jonas left").id)
    assert asked.change is not None


def test_a_gate_that_a_switch_would_add_is_tried_like_all_else(world: Namespace) -> None:
    asked = why_not(make_query(world, "0", "blend"), memory(world, "Alma").id)
    assert asked.change is not None or "confidence_gate" in asked.tried


def test_what_was_tried_in_vain_is_reported(world: Namespace) -> None:
    query = make_query(world, "Which database does invoicing use?", "contextdb", top_k=1)
    facts = Memory.objects.within(world).filter(level="fact", status="active").order_by("id")
    told = [why_not(query, one.id) for one in facts[:6]]
    vain = [one for one in told if not one.rank and not one.change and not one.exclusions]
    assert vain
    assert "those that select the candidates were not tried" in vain[0].reason
    assert "similarity" in vain[0].tried


def test_on_a_scale_of_powers_of_ten_a_fraction_is_one_of_powers(world: Namespace) -> None:
    params = make_query(world, "x", "contextdb").config.system.params().with_values(alpha=1.0)
    assert range_fraction(params, "alpha", 0.001) == pytest.approx(3 / (np.log10(999) + 6))


@pytest.mark.parametrize("system", ["blend", "memsense"])
def test_whom_no_list_reaches_longer_lists_bring_in(world: Namespace, system: str) -> None:
    """For memsense each of four parameters lengthens them."""
    short = {"limit_factor": 1, "limit_least": 1, "route_widening": 1, "route_least": 1}
    params = short if system == "memsense" else {"pool": 10}
    query = make_query(world, "bread and butter", system, params=params, top_k=10 if system == "blend" else 1)
    retrieval = retrieve(query)
    there = {one["id"] for one in retrieval.candidates.rows}
    active = Memory.objects.within(world).filter(status="active", level__in=query.levels)
    lost = [one for one in active if one.id not in there]
    asked = [why_not(query, one.id) for one in lost]
    assert asked
    assert all(one.tried or "no retriever finds it" in one.reason for one in asked)
    for one, missed in zip(asked, lost, strict=True):
        if one.change:
            assert one.change.fraction > 0
            assert_change_works(retrieval, one, missed)


def test_what_only_a_retriever_of_weight_zero_would_find_is_brought_in_by_its_weight(world: Namespace) -> None:
    query = make_query(world, "Where is Priya?", "blend", params={"pool": 10, "abstain_below": 0.0}, top_k=50)
    there = {one["id"] for one in retrieve(query).candidates.rows}
    everybody = retrieve(replace(query, all_retrievers=True))
    missed = [row["id"] for row in everybody.candidates.rows if row["id"] not in there]
    assert missed
    for id in missed:
        explained = why_not(query, id)
        unasked = [name for name, one in explained.retrievers.items() if one.rank and "weight is 0" in one.why]
        assert unasked
        assert explained.change is not None
        assert explained.change.param in {*(f"weight_{name}" for name in unasked), "pool"}
        assert_change_works(retrieve(query), explained, Memory.objects.within(world).get(id=id))


def test_a_retriever_that_timed_out_is_no_reason_to_shorten_its_list(world: Namespace) -> None:
    query = make_query(world, "coffee", "recall")
    retrieval = retrieve(query)
    nobody = replace(
        retrieval,
        candidates=replace(retrieval.candidates, rows=[]),
        fetched=replace(retrieval.fetched, timed_out={"semantic": "took longer than 500 ms"}),
    )
    sought = smallest_change.smallest_change(
        nobody, memory(world, "Maya drinks").id, {"semantic": ListRank(1, 0.5, "")}
    )
    assert sought.change is None
