"""A cross-encoder on onnxruntime, as exported by optimum or sentence-transformers."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from memories.providers.reranker import TOKENIZER, RerankerError, find_graph
from scoring.term import Array

BATCH = 16  # pieces
DEFAULT_LIMIT = 512  # tokens, if the tokenizer sets no limit
PADDING_TOKENS = ("[PAD]", "<pad>")
# The graph's possible inputs, and the attribute of an Encoding that holds each.
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
INTEGER_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """One score per query and text; a long text scores as its best piece."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        """Load the model; `threads` 0 uses all cores."""
        self.name = folder.name
        try:
            self._session = load_session(find_graph(folder), threads)
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:  # each library has its own
            raise RerankerError(f"The cross-encoder in {folder} could not be loaded: {error_line(error)}") from error
        if fault := graph_fault(self._session):
            raise RerankerError(f"The model in {folder} is not a cross-encoder: {fault}")
        truncation, padding = self._tokenizer.truncation, self._tokenizer.padding
        special = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self._token_budget = (truncation["max_length"] if truncation else DEFAULT_LIMIT) - special
        pad_ids = (self._tokenizer.token_to_id(token) for token in PADDING_TOKENS)
        self._padding = padding["pad_id"] if padding else next((id for id in pad_ids if id is not None), 0)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def scores(self, query: str, texts: Sequence[str], *, within: float) -> Array:
        """How well each text answers, 0 to 1; stops after `within` seconds."""
        options = onnxruntime.RunOptions()
        timer = threading.Timer(within, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return self._scores(query, texts, options)
        except RerankerError:
            raise
        except Exception as error:
            timeout = f"took longer than {1000 * within:.0f} ms"
            raise RerankerError(timeout if options.terminate else f"failed: {error_line(error)}") from error
        finally:
            timer.cancel()

    def _scores(self, query: str, texts: Sequence[str], options: onnxruntime.RunOptions) -> Array:
        pieces = [(index, piece) for index, text in enumerate(self._pieces(query, texts)) for piece in text]
        pieces.sort(key=lambda pair: len(pair[1].ids))  # less padding
        best = np.full(len(texts), -np.inf)
        for start in range(0, len(pieces), BATCH):
            batch = pieces[start : start + BATCH]
            (logits,) = self._session.run(
                [self._session.get_outputs()[0].name], self._inputs([piece for _, piece in batch]), options
            )
            if logits.size != len(batch) or not np.isfinite(logits).all():
                raise RerankerError(f"failed: it must output one number per text; got {logits.shape}")
            np.maximum.at(best, [index for index, _ in batch], logits.reshape(-1))
        return np.asarray(1.0 / (1.0 + np.exp(-best)))

    def _pieces(self, query: str, texts: Sequence[str]) -> Iterator[list[Encoding]]:
        """Each text after the query, in as many pieces as needed; the query takes at most half of a piece."""
        query_tokens = self._tokenizer.encode(query, add_special_tokens=False)
        if len(query_tokens.ids) > self._token_budget // 2:
            end = query_tokens.offsets[self._token_budget // 2][0]
            query_tokens = self._tokenizer.encode(query[:end], add_special_tokens=False)
        for text in self._tokenizer.encode_batch(list(texts), add_special_tokens=False):
            text.truncate(max(1, self._token_budget - len(query_tokens.ids)))
            yield [self._tokenizer.post_process(query_tokens, piece) for piece in (text, *text.overflowing)]

    def _inputs(self, pieces: Sequence[Encoding]) -> dict[str, NDArray[Any]]:
        """The graph's inputs, padded to the longest piece."""
        longest = max(len(piece.ids) for piece in pieces)
        inputs = {}
        for node in self._session.get_inputs():
            column = np.zeros((len(pieces), longest), dtype=INTEGER_TYPES[node.type])
            if node.name == "input_ids":
                column[:] = self._padding
            for row, piece in enumerate(pieces):
                column[row, : len(piece.ids)] = getattr(piece, INPUTS[node.name])
            inputs[node.name] = column
        return inputs


def load_session(graph: Path | None, threads: int) -> onnxruntime.InferenceSession:
    """Load a graph with its weights."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Spinning threads would take cores from the database and other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def graph_fault(model: onnxruntime.InferenceSession) -> str:
    """Why a graph is not a cross-encoder; empty if it is."""
    inputs, output = model.get_inputs(), model.get_outputs()[0]
    allowed = f"its inputs must be {', '.join(INPUTS)} or some of them, as integers"
    if wrong := [node for node in inputs if node.name not in INPUTS or node.type not in INTEGER_TYPES]:
        return f"{allowed}; got {wrong[0].name} as {wrong[0].type}"
    if "input_ids" not in [node.name for node in inputs]:
        return f"{allowed}; got no input_ids"
    columns = output.shape[1:]
    if len(columns) > 1 or any(isinstance(size, int) and size != 1 for size in columns):
        return f"it must output one number per text; got {output.name} of shape {output.shape}"
    return ""


def error_line(error: Exception) -> str:
    """An error's message as one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
