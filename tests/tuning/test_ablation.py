"""A system without one of its retrievers ranks as a retrieval that never runs it."""

from dataclasses import replace

import numpy as np
import pytest

from memories.models import Namespace
from memories.retrieval.config import system_config
from memories.retrieval.query import Config
from memories.retrieval.retrieve import retrieve
from memories.tuning import traced_sets
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import MAIN_METRIC, measure_config
from memories.tuning.objective import Objective
from memories.tuning.retriever_ablation import OVERLAP_DEPTH, ablate_retrievers, drop_retriever
from scoring.resampling import holm
from scoring.systems import SYSTEMS
from tests.support.judged_arrays import noise_arrays, planted_arrays

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

ROUTES = [(name, route) for name, system in SYSTEMS.items() for route in system.retrievers]


@pytest.mark.parametrize(("name", "route"), ROUTES)
def test_leaving_a_retriever_out_ranks_as_a_live_retrieval_that_never_asks_it(
    world: Namespace, arrays: dict[str, Arrays], name: str, route: str
) -> None:
    system = SYSTEMS[name]
    lacking = replace(system, retrievers=tuple(one for one in system.retrievers if one != route))
    setting = replace(system_config(world, system), system=lacking)
    less = drop_retriever(arrays[name], route)
    found = measure_config(less, setting)
    for number, query in enumerate(less.queries):
        stack = next((stack for stack in less.stacks if number in stack.queries), None)
        places = found.places[number][found.places[number] >= 0]
        mine = [] if stack is None else stack.signals.ids[places].tolist()
        live = retrieve(traced_sets.evaluation_query(world, query, setting))
        rows = [] if live.ranking.abstained else live.ranking.order.rows[: traced_sets.DEPTH].tolist()
        assert mine == [str(live.candidates.rows[row]["id"]) for row in rows]


def test_a_retriever_that_carries_the_answers_is_missed_and_one_that_does_not_is_not() -> None:
    whole, setting = planted_arrays(SYSTEMS["recall"], 60), Config(SYSTEMS["recall"], {"weight_semantic": 0.1})
    told = ablate_retrievers(whole, setting, Objective(MAIN_METRIC))
    by_route = {one.retriever: one for one in told.retrievers}
    assert by_route["bm25"].gain.difference < -0.5
    assert by_route["bm25"].significant
    assert by_route["semantic"].gain.difference >= 0
    assert by_route["bm25"].mean == pytest.approx(told.mean + by_route["bm25"].gain.difference)
    entity = by_route["entity"]
    assert (entity.queries, entity.gain.difference, entity.gain.p_value) == (0, 0, 1)


def test_the_more_retrievers_are_left_out_the_smaller_the_p_value_must_be() -> None:
    whole, setting = noise_arrays(SYSTEMS["recall"], 40), Config(SYSTEMS["recall"])
    told = ablate_retrievers(whole, setting, Objective(MAIN_METRIC)).retrievers
    tested = [one for one in told if one.gain.won + one.gain.lost > 5]
    expected = holm(np.array([one.gain.p_value for one in tested]))
    assert [one.corrected for one in tested] == pytest.approx(expected.tolist())
    assert len(tested) > 1
    assert min(tested, key=lambda one: one.gain.p_value).corrected > min(one.gain.p_value for one in tested)


def test_what_only_one_found_is_counted_once_for_it() -> None:
    whole = planted_arrays(SYSTEMS["recall"], 20)
    told = {
        one.retriever: one
        for one in ablate_retrievers(whole, Config(SYSTEMS["recall"]), Objective(MAIN_METRIC)).retrievers
    }
    expected = sum(
        int(((stack.grades > 0) & ~np.isfinite(stack.signals.rank("semantic"))).sum()) for stack in whole.stacks
    )
    assert told["bm25"].unique == expected > 0
    assert told["semantic"].unique == 0
    assert told["bm25"].returned <= expected


def test_the_overlap_of_two_lists_is_what_their_first_ten_share() -> None:
    whole = noise_arrays(SYSTEMS["recall"], 12)
    (stack,) = whole.stacks
    routes = whole.system.retrievers
    found = ablate_retrievers(whole, Config(whole.system), Objective(MAIN_METRIC)).overlap
    for a, one in enumerate(routes):
        for b, other in enumerate(routes):
            shares = []
            for rows in stack.signals.batches.split(np.arange(len(stack.signals))):
                first, second = (
                    {int(r) for r in rows if stack.signals.rank(x)[r] <= OVERLAP_DEPTH} for x in (one, other)
                )
                if first and second:
                    shares.append(len(first & second) / min(len(first), len(second)))
            assert found[a][b] == pytest.approx(np.mean(shares))
    assert all(found[a][a] == 1.0 for a in range(len(routes)))
