"""Why not, of a trace: answered by its own candidates, else by a new query; the answer says which."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memories.contracts.new_memory import NewMemory
from memories.contracts.why_not import WhyNot
from memories.models import Memory, Namespace, Trace
from memories.retrieval.config import override_params
from memories.retrieval.replay import replay
from memories.retrieval.trace import config_from_trace
from memories.retrieval.why_not import TracedWhyNot, why_not, why_not_in_trace
from memories.writing.correct import correct_memory
from memories.writing.feedback import confirm_memory
from memories.writing.remember import remember
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import NOW, make_query, memory
from tests.support.traces import record_trace

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

KITCHEN = "What is new in the kitchen at Arrive?"


def asked_of(trace: Trace, missed: Memory, **moved: object) -> TracedWhyNot:
    """Why a memory did not come back in a trace, perhaps under moved parameters."""
    return why_not_in_trace(trace, replay(trace, override_params(config_from_trace(trace), moved)), missed)


def idle(asked: WhyNot) -> set[str]:
    """The retrievers that had nothing to look for."""
    return {route for route, one in asked.retrievers.items() if one.why == "the query has nothing for it to search for"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_while_nothing_changed_why_not_of_a_trace_equals_a_live_one(world: Namespace, system: str) -> None:
    query = make_query(world, "Which database does invoicing use?", system, top_k=2)
    trace = record_trace(query)
    for id in trace.candidates[:5]:
        then, now = asked_of(trace, Memory.objects.within(world).get(id=id)), why_not(query, id)
        ranked = {route: one.rank for route, one in now.retrievers.items() if one.rank and not one.why}
        assert not then.live
        assert replace(then.why_not, retrievers={}) == replace(now, retrievers={})
        assert {route: one.rank for route, one in then.why_not.retrievers.items() if one.rank} == ranked
        assert then.why_not.retrievers.keys() == now.retrievers.keys()
        assert idle(then.why_not) == idle(now)


def test_what_filtered_a_memory_then_is_reported_after_it_no_longer_would(world: Namespace) -> None:
    unsure, query = memory(world, "The kitchen at Arrive"), make_query(world, KITCHEN)
    trace = record_trace(query)
    for _ in range(6):
        confirm_memory(world, unsure.id, by="tests")
    assert why_not(query, unsure.id).rank
    then = asked_of(trace, unsure)
    assert (then.why_not.rank, then.why_not.gates, then.live) == (None, ["low_confidence"], "")
    assert asked_of(trace, unsure, confidence_gate=False).why_not.rank


def test_a_memory_that_is_replaced_today_is_explained_as_it_stood(world: Namespace) -> None:
    trace = record_trace(make_query(world, "When does standup begin?"))
    began = memory(world, "Standup begins")
    correct_memory(world, began.id, {"content": "Standup begins at ten"}, by="tests")
    then = asked_of(trace, Memory.objects.within(world).get(id=began.id))
    assert (then.why_not.exclusions, then.live) == ([], "")
    assert then.why_not.rank


def test_what_was_stored_later_could_not_come_back_though_the_clock_stands_still(world: Namespace) -> None:
    trace = record_trace(make_query(world, KITCHEN))
    [later] = remember(world, [NewMemory(content="A piano tuner comes on Thursdays", importance=0.5)], by="tests")
    then = asked_of(trace, Memory.objects.within(world).get(id=later.memory.id))
    assert then.why_not.reason == "It cannot be returned: it was not stored yet."
    assert then.live == ""


def test_what_was_no_candidate_needs_a_new_query_and_the_answer_says_so(world: Namespace) -> None:
    query = make_query(world, "bread and butter", "blend", params={"pool": 10})
    trace = record_trace(query)
    lost = next(
        one
        for one in Memory.objects.within(world).filter(status="active", level__in=query.levels).order_by("id")
        if one.id not in trace.candidates
    )
    then = asked_of(trace, lost)
    assert then.live == "a trace stores nothing of a memory that was no candidate"
    assert then.why_not.reason.startswith("It was no candidate when the query ran. Run again now: it was no ")
    assert then.why_not.retrievers == why_not(query, lost.id).retrievers


def test_where_the_ranking_needed_a_new_query_why_not_is_of_that_ranking(world: Namespace) -> None:
    trace, unsure = record_trace(make_query(world, KITCHEN)), memory(world, "The kitchen at Arrive")
    Namespace.objects.filter(id=world.id).update(clock=NOW + timedelta(days=20))
    then = asked_of(trace, unsure, bm25_b=0.1)
    assert then.live == "the ranking needed a new query"
    assert then.why_not.gates == ["low_confidence"]
