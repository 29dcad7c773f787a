"""A cross-encoder from a folder scores each text with the query; an invalid one is refused."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from django.conf import settings
from onnx import TensorProto

from memories.providers.cross_encoder import CrossEncoder
from memories.providers.reranker import RerankerError, is_known_reranker, reranker
from recall_site.data_folder import StartError
from recall_site.run import check_reranker
from tests.support.cross_encoders import (
    INPUTS,
    endless,
    graph,
    integer_tensor,
    length,
    node,
    not_finite,
    shared_words,
    write_cross_encoder,
)

QUERY = "the cello of maya"
TEXTS = ["maya plays the cello", "the oven is new", "nobody knows", ""]
LONG = 10.0  # seconds


def make_encoder(folder: Path, drawn: onnx.GraphProto, **more: int | None) -> CrossEncoder:
    """A cross-encoder that knows the words of these tests."""
    return CrossEncoder(write_cross_encoder(folder, [QUERY, *TEXTS], drawn, **more), threads=1)


def logistic(x: float) -> float:
    """A logit as a chance."""
    return float(1 / (1 + np.exp(-x)))


def test_a_text_scores_what_the_model_says_of_it_and_the_query(tmp_path: Path) -> None:
    scores = make_encoder(tmp_path, shared_words()).scores(QUERY, TEXTS, within=LONG)
    assert scores.tolist() == pytest.approx([logistic(shared - 3) for shared in (3, 1, 0, 0)])
    assert scores.dtype == float


def test_a_model_that_takes_no_token_types_is_given_none(tmp_path: Path) -> None:
    scores = make_encoder(tmp_path, length()).scores("maya", TEXTS, within=LONG)
    tokens = [len(text.split()) + 4 for text in TEXTS]  # the query's one and three marks
    assert scores.tolist() == pytest.approx([logistic(count / 100) for count in tokens], rel=1e-6)


def test_texts_score_the_same_alone_and_among_others(tmp_path: Path) -> None:
    model = make_encoder(tmp_path, shared_words())
    many = [f"{text} {'oven ' * (place % 7)}" for place, text in enumerate(TEXTS * 20)]
    together = model.scores(QUERY, many, within=LONG)
    alone = [float(model.scores(QUERY, [text], within=LONG)[0]) for text in many]
    assert together.tolist() == alone
    assert model.scores(QUERY, [], within=LONG).tolist() == []


@pytest.mark.parametrize("limit", [16, None])
def test_of_a_long_text_the_best_piece_counts_and_none_is_left_unread(tmp_path: Path, limit: int | None) -> None:
    model = make_encoder(tmp_path, shared_words(), limit=limit)
    filler = "oven " * 700
    scores = model.scores(QUERY, [f"{filler} maya cello", f"maya {filler} cello", filler], within=LONG)
    assert scores.tolist() == pytest.approx([logistic(-1), logistic(-2), logistic(-3)])


def test_a_long_query_leaves_room_for_the_text(tmp_path: Path) -> None:
    model = make_encoder(tmp_path, shared_words(), limit=16)
    assert model.scores("nobody " * 5_000, ["nobody", "oven"], within=LONG).tolist() == pytest.approx(
        [logistic(6 - 3), logistic(-3)]
    )


def test_a_model_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    model, began = make_encoder(tmp_path, endless()), time.monotonic()
    with pytest.raises(RerankerError, match=r"^took longer than 100 ms$"):
        model.scores(QUERY, TEXTS, within=0.1)
    assert time.monotonic() - began < 5


def test_scores_that_are_no_numbers_are_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match=r"^failed: it must output one number per text"):
        make_encoder(tmp_path, not_finite()).scores(QUERY, TEXTS, within=LONG)


def floats() -> onnx.GraphProto:
    """A graph that wants its ids as something else."""
    drawn = length()
    drawn.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return drawn


def with_positions() -> onnx.GraphProto:
    """A graph that wants to be told where each token stands."""
    nodes = [
        node("Cast", ["position_ids"], "places", to=TensorProto.FLOAT),
        node("ReduceSum", ["places", "one"], "logits"),
    ]
    return graph(nodes, [integer_tensor("one", [1])], inputs=[*INPUTS, "position_ids"])


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        (with_positions(), "its inputs must be input_ids, .* got position_ids as tensor\\(int64\\)"),
        (floats(), "its inputs must be .* as integers; got input_ids as tensor\\(float\\)"),
        (length(columns=3), "it must output one number per text; got logits of shape \\['batch', 3\\]"),
    ],
)
def test_a_graph_that_is_no_cross_encoder_is_refused(tmp_path: Path, drawn: onnx.GraphProto, told: str) -> None:
    with pytest.raises(RerankerError, match=f"The model in {tmp_path} is not a cross-encoder: {told}"):
        make_encoder(tmp_path, drawn)


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_files_that_cannot_be_read_are_refused_and_the_site_does_not_start(
    tmp_path: Path, settings: pytest.FixtureRequest, broken: str
) -> None:
    (write_cross_encoder(tmp_path, TEXTS, length()) / broken).write_text("nothing of the kind")
    settings.RECALL_RERANKER = str(tmp_path)  # type: ignore[attr-defined]
    with pytest.raises(StartError, match=f"RECALL_RERANKER .* The cross-encoder in {tmp_path} could not be loaded: "):
        check_reranker()


def test_a_whole_folder_lets_the_site_start_and_is_loaded_once(tmp_path: Path, settings: pytest.FixtureRequest) -> None:
    check_reranker()
    settings.RECALL_RERANKER = str(write_cross_encoder(tmp_path / "small", TEXTS, length()))  # type: ignore[attr-defined]
    check_reranker()
    model = reranker(str(tmp_path / "small"))
    assert reranker(str(tmp_path / "small")) is model
    assert model.name == "small"


def test_both_places_of_the_graph_are_known(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "flat", TEXTS, length())
    assert is_known_reranker("maxsim")
    assert is_known_reranker(str(folder))
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert is_known_reranker(str(folder))
    assert CrossEncoder(folder, threads=1).name == "flat"
    (folder / "tokenizer.json").unlink()
    assert not is_known_reranker(str(folder))
    assert not is_known_reranker(str(tmp_path / "nowhere"))
    assert not is_known_reranker("bm25")


def test_a_folder_that_holds_no_model_is_refused_by_name_at_the_start(tmp_path: Path) -> None:
    came = {**os.environ, "DJANGO_SETTINGS_MODULE": "recall_site.settings", "RECALL_RERANKER": str(tmp_path)}
    command = [sys.executable, "-c", "import django; django.setup()"]
    done = subprocess.run(command, env=came, cwd=settings.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert (
        "RECALL_RERANKER must be maxsim or a folder that holds a cross-encoder "
        f"(model.onnx or onnx/model.onnx, and tokenizer.json); got '{tmp_path}'."
    ) in done.stderr
