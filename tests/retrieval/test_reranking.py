"""A configured cross-encoder ranks the reranker's list, and a replay needs no model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memories.db import counters
from memories.models import Namespace
from memories.providers.reranker import reranker
from memories.retrieval.config import override_params
from memories.retrieval.replay import replay
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.trace import config_from_trace
from tests.support.cross_encoders import endless, shared_words, write_cross_encoder
from tests.support.retrieval_world import MEMORIES, TURNS, answer_to_dict, make_query
from tests.support.traces import ranking_outcome, record_trace

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

QUERY = "Which database does invoicing use for its data?"
ON = {"reranker": "on"}


@pytest.fixture
def small(tmp_path: Path, settings: Any) -> Path:
    """A cross-encoder that counts the words that query and memory share."""
    texts = [QUERY, *(told[0] for told in MEMORIES), *(text for _, text in TURNS)]
    folder = write_cross_encoder(tmp_path / "shared-words", texts, shared_words())
    settings.RECALL_RERANKER = str(folder)
    return folder


def contents(retrieval: Retrieval) -> list[str]:
    """The texts of all candidates."""
    return [row["content"] for row in retrieval.candidates.rows]


@pytest.mark.parametrize("system", ["recall", "adaptive"])
def test_the_list_follows_the_cross_encoder_and_the_answer_names_it(world: Namespace, small: Path, system: str) -> None:
    retrieval = retrieve(make_query(world, QUERY, system, params=ON))
    scores = reranker(str(small)).scores(QUERY, contents(retrieval), within=10.0)
    assert len(set(scores.tolist())) > 2
    ranks, near = retrieval.signals.ranks["rerank"], retrieval.signals.cosine
    assert np.argsort(ranks).tolist() == np.lexsort((np.arange(len(near)), -near, -scores)).tolist()
    answer = answer_to_dict(retrieval)
    assert answer["plan"]["reranker"] == "shared-words"
    assert answer["took_ms"]["rerank"] > 0
    places = {row["id"]: place for place, row in enumerate(retrieval.candidates.rows)}
    for one in answer["results"]:
        found = one["retrievers"]["rerank"]
        assert found["score"] == pytest.approx(scores[places[one["id"]]])
        assert found["contribution"] == pytest.approx(1 / (60 + found["rank"]))


def test_without_a_cross_encoder_maxsim_reranks(world: Namespace) -> None:
    assert answer_to_dict(retrieve(make_query(world, QUERY, params=ON)))["plan"]["reranker"] == "maxsim"
    off = answer_to_dict(retrieve(make_query(world, QUERY, params={"reranker": "off"})))
    assert off["plan"]["reranker"] is None
    assert "rerank" not in off["took_ms"]


def test_it_reads_no_more_than_it_is_asked_to_and_the_best_first(world: Namespace, small: Path) -> None:
    whole = retrieve(make_query(world, QUERY, params=ON))
    few = retrieve(make_query(world, QUERY, params=ON | {"rerank_top": 4}))
    read = np.isfinite(few.signals.ranks["rerank"])
    assert read.sum() == 4 < len(whole.candidates)
    assert few.signals.maxsim[read].min() >= few.signals.maxsim[~read].max()
    assert np.isinf(few.signals.scores["rerank"][~read]).all()


@pytest.mark.parametrize("moved", [{}, {"rrf_k": 30.0}, {"weight_rerank": 3.0, "weight_semantic": 0.2}, {"mmr": "off"}])
def test_a_replay_is_exact_without_the_model(
    world: Namespace, small: Path, settings: Any, moved: dict[str, Any]
) -> None:
    start = ON | {"mmr": "on"}
    query = make_query(world, QUERY, params=start)
    trace = record_trace(query)
    live = retrieve(make_query(world, QUERY, params=start | moved))
    settings.RECALL_RERANKER = "/nowhere"
    done = replay(trace, override_params(query.config, moved))
    assert (done.rerun_because, done.changed) == ((), ())
    assert ranking_outcome(done.retrieval) == ranking_outcome(live)
    again, first = answer_to_dict(done.retrieval), answer_to_dict(live)
    assert again["plan"]["reranker"] == "shared-words"
    assert [one["retrievers"] for one in again["results"]] == [one["retrievers"] for one in first["results"]]


def test_how_many_it_reads_needs_a_new_query(world: Namespace, small: Path) -> None:
    trace = record_trace(make_query(world, QUERY, params=ON))
    assert replay(trace, override_params(config_from_trace(trace), {"rerank_top": 3})).rerun_because == ("rerank_top",)


def test_a_trace_from_before_rerankers_had_names_replays(world: Namespace) -> None:
    trace = record_trace(make_query(world, QUERY, params=ON))
    del trace.plan["reranker"]
    assert answer_to_dict(replay(trace, config_from_trace(trace)).retrieval)["plan"]["reranker"] is None


def left_out(retrieval: Retrieval) -> str:
    """Why the list is not there, where the others are."""
    answer = answer_to_dict(retrieval)
    assert "rerank" not in retrieval.signals.ranks
    assert answer["results"]
    assert answer["plan"]["reranker"] is None
    (late,) = answer["timed_out"]
    assert late["retriever"] == "rerank"
    reason: str = late["reason"]
    return reason


def test_a_cross_encoder_that_times_out_is_left_out_and_named(world: Namespace, tmp_path: Path, settings: Any) -> None:
    settings.RECALL_RERANKER, settings.RECALL_RERANKER_MS = (
        str(write_cross_encoder(tmp_path / "e", [QUERY], endless())),
        50,
    )
    assert left_out(retrieve(make_query(world, QUERY, params=ON))) == "took longer than 50 ms"


def test_one_that_cannot_be_loaded_is_left_out_and_counted(world: Namespace, tmp_path: Path, settings: Any) -> None:
    folder = write_cross_encoder(tmp_path / "broken", [QUERY], shared_words())
    (folder / "model.onnx").write_text("nothing of the kind")
    settings.RECALL_RERANKER = str(folder)
    retrieval = retrieve(make_query(world, QUERY, params=ON))
    assert left_out(retrieval) == "could not be loaded"
    before = counters.timed_out_retrievers.labels("rerank")._value.get()
    counters.count_retrieval(
        "recall",
        abstained=False,
        stages_ms=retrieval.took_ms,
        retrievers_ms=retrieval.fetched.took_ms,
        timed_out=retrieval.fetched.timed_out,
    )
    assert counters.timed_out_retrievers.labels("rerank")._value.get() == before + 1


def test_where_nothing_is_found_nothing_is_read(small: Path) -> None:
    empty = Namespace.objects.create(slug="empty", title="Empty")
    answer = answer_to_dict(retrieve(make_query(empty, QUERY, params=ON)))
    assert answer["abstained"]
    assert answer["timed_out"] == []
