"""A cross-encoder on onnxruntime, as optimum and sentence-transformers export one: query and text read together."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from memories.providers.reranker import TOKENIZER, RerankerError, graph_in
from scoring.term import Array

BATCH = 16  # pieces
LIMIT = 512  # tokens, where the tokenizer names no limit of its own
PADDING = ("[PAD]", "<pad>")
# What a graph may ask for, and what of a piece answers it.
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """The one score that a model gives to a query and a text; of a long text its best piece counts."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        """Load; `threads` 0 takes as many as there are cores."""
        self.name = folder.name
        try:
            self._session = session(graph_in(folder), threads)
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as wrong:  # each library has its own
            raise RerankerError(f"The cross-encoder in {folder} could not be loaded: {told(wrong)}") from wrong
        if flaw := flaw_of(self._session):
            raise RerankerError(f"The model in {folder} is no cross-encoder: {flaw}")
        truncation, padding = self._tokenizer.truncation, self._tokenizer.padding
        marks = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self._room = (truncation["max_length"] if truncation else LIMIT) - marks
        known = (self._tokenizer.token_to_id(mark) for mark in PADDING)
        self._padding = padding["pad_id"] if padding else next((id for id in known if id is not None), 0)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def scores(self, query: str, texts: Sequence[str], *, within: float) -> Array:
        """How well each text answers, 0 to 1."""
        options = onnxruntime.RunOptions()
        alarm = threading.Timer(within, setattr, (options, "terminate", True))
        alarm.daemon = True
        alarm.start()
        try:
            return self._scores(query, texts, options)
        except RerankerError:
            raise
        except Exception as wrong:
            late = f"took longer than {1000 * within:.0f} ms"
            raise RerankerError(late if options.terminate else f"failed: {told(wrong)}") from wrong
        finally:
            alarm.cancel()

    def _scores(self, query: str, texts: Sequence[str], options: onnxruntime.RunOptions) -> Array:
        pieces = [(place, piece) for place, text in enumerate(self._pieces(query, texts)) for piece in text]
        pieces.sort(key=lambda one: len(one[1].ids))  # so that little is padding
        best = np.full(len(texts), -np.inf)
        for start in range(0, len(pieces), BATCH):
            part = pieces[start : start + BATCH]
            (logits,) = self._session.run(
                [self._session.get_outputs()[0].name], self._inputs([piece for _, piece in part]), options
            )
            if logits.size != len(part) or not np.isfinite(logits).all():
                raise RerankerError(f"failed: it must give one number for each text; got {logits.shape}")
            np.maximum.at(best, [place for place, _ in part], logits.reshape(-1))
        return np.asarray(1.0 / (1.0 + np.exp(-best)))

    def _pieces(self, query: str, texts: Sequence[str]) -> Iterator[list[Encoding]]:
        """Each text with the query before it, in as many pieces as it takes; at most half of a piece is the query."""
        asked = self._tokenizer.encode(query, add_special_tokens=False)
        if len(asked.ids) > self._room // 2:
            end = asked.offsets[self._room // 2][0]
            asked = self._tokenizer.encode(query[:end], add_special_tokens=False)
        for text in self._tokenizer.encode_batch(list(texts), add_special_tokens=False):
            text.truncate(max(1, self._room - len(asked.ids)))
            yield [self._tokenizer.post_process(asked, piece) for piece in (text, *text.overflowing)]

    def _inputs(self, pieces: Sequence[Encoding]) -> dict[str, NDArray[Any]]:
        """What the graph asks for, as long as the longest piece."""
        longest = max(len(piece.ids) for piece in pieces)
        made = {}
        for one in self._session.get_inputs():
            column = np.zeros((len(pieces), longest), dtype=WHOLE[one.type])
            if one.name == "input_ids":
                column[:] = self._padding
            for row, piece in enumerate(pieces):
                column[row, : len(piece.ids)] = getattr(piece, INPUTS[one.name])
            made[one.name] = column
        return made


def session(graph: Path | None, threads: int) -> onnxruntime.InferenceSession:
    """A graph with the weights that lie beside it or in it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin while they wait would take the cores from the database and the other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def flaw_of(model: onnxruntime.InferenceSession) -> str:
    """Why a graph is no cross-encoder, where it is none."""
    inputs, output = model.get_inputs(), model.get_outputs()[0]
    allowed = f"it must ask for {', '.join(INPUTS)} or some of them, as whole numbers"
    if wrong := [one for one in inputs if one.name not in INPUTS or one.type not in WHOLE]:
        return f"{allowed}; got {wrong[0].name} as {wrong[0].type}"
    if "input_ids" not in [one.name for one in inputs]:
        return f"{allowed}; got no input_ids"
    columns = output.shape[1:]
    if len(columns) > 1 or any(isinstance(size, int) and size != 1 for size in columns):
        return f"it must give one number for each text; got {output.name} of the shape {output.shape}"
    return ""


def told(error: Exception) -> str:
    """What an error says, in a line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
