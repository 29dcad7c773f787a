"""A trace replayed under any score parameters equals a live retrieval with them."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import MemoryVector, Namespace
from memories.models.choices import Route
from memories.retrieval.candidate_rows import NO_VECTOR
from memories.retrieval.config import override_params
from memories.retrieval.replay import replay
from memories.retrieval.retrieve import rank_candidates, retrieve
from memories.retrieval.trace import config_from_trace, redact_forgotten, to_json_text
from memories.retrieval.trace_codec import decode_signals, pack_signals, unpack_arrays
from memories.writing.correct import correct_memory
from memories.writing.edit import edit_memory
from memories.writing.feedback import confirm_memory, contradict_memories, forget_memory
from scoring.signals import Signals
from scoring.systems import SYSTEMS
from tests.support.examples import examples
from tests.support.retrieval_world import NOW, answer_to_dict, make_query, memory
from tests.support.scoring_inputs import random_params
from tests.support.traces import ranking_outcome, record_trace

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

QUERIES = (
    "Which database does invoicing use?",
    "What does Maya prefer?",
    "Who left Arrive two months ago?",
    "What did we agree on last October in Lisbon, and who reviews the schema?",
    "backup",
)


BETWEEN, AFTER = NOW + timedelta(days=5), NOW + timedelta(days=20)


@pytest.fixture
def later_world(world: Namespace) -> Namespace:
    """The world later, after some of it was confirmed, corrected, dated anew and contradicted."""
    Namespace.objects.filter(id=world.id).update(clock=AFTER)
    now = Namespace.objects.get(id=world.id)
    confirm_memory(now, memory(now, "The kitchen at Arrive").id, by="tests")
    edit_memory(now, memory(now, "Maya prefers").id, {"valid_from": AFTER}, by="tests")
    contradict_memories(now, memory(now, "Invoicing stores").id, memory(now, "Maya drinks").id, reason="", by="tests")
    correct_memory(now, memory(now, "Standup begins").id, {"content": "Standup begins at ten"}, by="tests")
    return now


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=examples(5, fuzz=12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from(QUERIES),
    seed=st.integers(0, 2**32 - 1),
    top_k=st.integers(1, 12),
    as_of=st.sampled_from([None, BETWEEN]),
)
def test_a_replay_is_what_a_live_retrieval_would_be(
    later_world: Namespace, system: str, text: str, seed: int, top_k: int, as_of: datetime | None
) -> None:
    world = later_world
    every_weight = dict.fromkeys(SYSTEMS[system].weights_of(SYSTEMS[system].retrievers), 0.1)
    query = make_query(world, text, system, params=every_weight, top_k=top_k, user="maya", session="s", as_of=as_of)
    declared = SYSTEMS[system].params.declarations()
    drawn = random_params(SYSTEMS[system].params, np.random.default_rng(seed)).as_dict()
    moved = {name: value for name, value in drawn.items() if declared[name].scope == "score"}
    moved = {name: value or declared[name].high if name in every_weight else value for name, value in moved.items()}
    wanted = override_params(query.config, moved)
    done = replay(record_trace(query), wanted)
    plan = done.retrieval.query_plan.plan
    before, now = (SYSTEMS[system].reads_vectors(one.params_under(plan), plan) for one in (query.config, wanted))
    assert (done.rerun_because, done.changed) == (("mmr",) if now and not before else (), ())
    assert ranking_outcome(done.retrieval) == ranking_outcome(
        retrieve(make_query(world, text, system, params=moved, **context(query)))
    )


def context(query: Any) -> dict[str, Any]:
    """How a query was asked, besides its text and setting."""
    return {"top_k": query.top_k, "user": query.user, "session": query.session, "as_of": query.as_of}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_parameter_that_decides_about_candidates_needs_a_new_query_and_the_answer_says_so(
    world: Namespace, system: str
) -> None:
    declared = SYSTEMS[system].params.declarations()
    name, one = next((name, one) for name, one in declared.items() if one.scope == "candidates")
    trace = record_trace(make_query(world, QUERIES[0], system))
    wanted = override_params(config_from_trace(trace), {name: one.low})  # type: ignore[attr-defined]
    assert replay(trace, wanted).rerun_because == (name,)


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.3), (0.3, 0.0)])
def test_a_weight_that_leaves_or_reaches_zero_needs_a_new_query(world: Namespace, before: float, after: float) -> None:
    query = make_query(world, QUERIES[0], "blend", params={"weight_traversal": before})
    wanted = make_query(world, QUERIES[0], "blend", params={"weight_traversal": after})
    done = replay(record_trace(query), wanted.config)
    assert done.rerun_because == ("weight_traversal",)
    assert ranking_outcome(done.retrieval) == ranking_outcome(retrieve(wanted))
    assert ("traversal" in done.retrieval.fetched.lists) == bool(after)


@pytest.mark.parametrize("system", ["recall", "adaptive"])
@pytest.mark.parametrize("before", ["plan", "on", "off"])
@pytest.mark.parametrize("after", ["plan", "on", "off"])
@pytest.mark.parametrize("text", ["backup", "What does Maya prefer?"])  # exploratory, entity-centric
def test_mmr_that_was_off_needs_a_new_query_and_one_that_was_on_replays(
    world: Namespace, system: str, before: str, after: str, text: str
) -> None:
    query, wanted = (make_query(world, text, system, params={"mmr": mmr, "cut": 12}) for mmr in (before, after))
    done = replay(record_trace(query), wanted.config)
    did, does = (mmr == "on" or (mmr == "plan" and text == "backup") for mmr in (before, after))
    assert done.rerun_because == (("mmr",) if does and not did else ())
    assert bool(done.retrieval.ranking.order.picks) == does
    assert ranking_outcome(done.retrieval) == ranking_outcome(retrieve(wanted))


@pytest.mark.parametrize("system", ["recall", "adaptive"])
@pytest.mark.parametrize("text", QUERIES)
def test_the_cosines_are_the_same_with_vectors_and_without(world: Namespace, system: str, text: str) -> None:
    on, off = (retrieve(make_query(world, text, system, params={"mmr": mmr})).signals for mmr in ("on", "off"))
    assert on.vectors is not None
    assert off.vectors is None
    np.testing.assert_array_equal(on.cosine, off.cosine)


def test_candidates_without_their_vectors_are_not_ranked_as_if_mmr_were_off(world: Namespace) -> None:
    retrieval = retrieve(make_query(world, QUERIES[0], params={"mmr": "off"}))
    query, plan = make_query(world, QUERIES[0], params={"mmr": "on"}), retrieval.query_plan.plan
    with pytest.raises(ValueError, match="MMR must have the candidates' vectors; got none"):
        rank_candidates(query, retrieval.signals, query.config.params_under(plan), plan)


def test_another_system_runs_live(world: Namespace) -> None:
    trace = record_trace(make_query(world, QUERIES[0]))
    done = replay(trace, make_query(world, QUERIES[0], "contextdb").config)
    assert done.rerun_because == ("system",)
    assert ranking_outcome(done.retrieval) == ranking_outcome(retrieve(make_query(world, QUERIES[0], "contextdb")))


@pytest.mark.parametrize("mmr", ["on", "off"])
def test_a_replay_names_the_candidates_whose_vectors_are_others_now_if_it_reads_them(
    world: Namespace, mmr: str
) -> None:
    trace = record_trace(make_query(world, QUERIES[0], params={"mmr": mmr}))
    before, other = replay(trace, config_from_trace(trace)), trace.candidates[0]
    vectors = MemoryVector.objects.within(world).filter(memory_id=other, route=Route.FULL)
    vectors.update(vector=np.eye(1, 384)[0].tolist())
    after = replay(trace, config_from_trace(trace))
    assert after.changed == ((other,) if mmr == "on" else ())
    if mmr == "off":
        assert ranking_outcome(after.retrieval) == ranking_outcome(before.retrieval)


def test_a_replay_names_the_retriever_that_timed_out_then(world: Namespace) -> None:
    trace = record_trace(make_query(world, QUERIES[0]))
    trace.answer["timed_out"] = [{"retriever": "bm25", "reason": "took longer than 500 ms"}]
    assert answer_to_dict(replay(trace, config_from_trace(trace)).retrieval)["timed_out"] == trace.answer["timed_out"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_was_forgotten_since_is_read_in_no_replay_and_no_trace(world: Namespace, system: str) -> None:
    trace = record_trace(
        make_query(world, QUERIES[0], system, params={"abstain_below": 0.0} if system == "blend" else {})
    )
    first = next(one for one in trace.answer["results"] if one["level"] == "fact" or system == "memsense")
    forget_memory(world, UUID(first["id"]), by="tests")
    done = replay(trace, config_from_trace(trace))
    again, kept = answer_to_dict(done.retrieval), json.loads(to_json_text(redact_forgotten(trace).to_dict()))
    assert UUID(first["id"]) in done.changed
    assert kept["gone"] == [first["id"]]
    for answer in (json.loads(to_json_text(again)), kept):
        assert first["content"] not in json.dumps(answer, ensure_ascii=False)
        assert first["id"] not in [one["id"] for group in answer["context"].values() for one in group]
        [shown] = [one for one in answer["results"] if one["id"] == first["id"]]
        assert shown["gone"]
        assert [shown[name] for name in ("rank", "score", "confidence", "type")] == [
            first[name] for name in ("rank", "score", "confidence", "type")
        ]


def test_what_a_trace_keeps_is_small(world: Namespace) -> None:
    trace = record_trace(make_query(world, QUERIES[0], "memsense"))
    assert len(trace.candidates) > 10
    assert len(bytes(trace.signals)) < 400 * len(trace.candidates) + 4_000


def test_a_trace_from_before_the_evidence_gate_protects_by_belief_alone() -> None:
    signals = Signals(ids=np.array(["a", "b"]), belief=np.array([8.0, 8.5]))
    arrays, header = unpack_arrays(pack_signals(signals, [NO_VECTOR] * 2, "minilm"))
    older = {name: array for name, array in arrays.items() if name != "protected"}
    assert decode_signals(["a", "b"], arrays, header, None).protected.tolist() == [False, False]
    assert decode_signals(["a", "b"], older, header, None).protected.tolist() == [False, True]
