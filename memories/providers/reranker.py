"""Rerankers: MaxSim over the stored states of words, which needs no model here, or a cross-encoder in a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from django.conf import settings

from memories.providers.loaded import Loaded
from memories.providers.unavailable import ProviderError
from scoring.term import Array

MAXSIM = "maxsim"
GRAPHS = ("model.onnx", "onnx/model.onnx")  # where optimum and where sentence-transformers write it
TOKENIZER = "tokenizer.json"
ALLOWED: str = f"{MAXSIM} or a folder that holds a cross-encoder ({' or '.join(GRAPHS)}, and {TOKENIZER})"


class RerankerError(ProviderError):
    """A reranker that cannot work here and now; says why."""


class Reranker(Protocol):
    """Reads a query together with each text."""

    name: str

    def scores(self, query: str, texts: Sequence[str], *, within: float) -> Array:
        """How well each text answers, 0 to 1; RerankerError where it fails or takes longer than so many seconds."""


_loaded: Loaded[Reranker] = Loaded()


def known(name: str) -> bool:
    """Whether a name stands for MaxSim or for a folder with all that a cross-encoder needs."""
    return name == MAXSIM or (graph_in(Path(name)) is not None and (Path(name) / TOKENIZER).is_file())


def graph_in(folder: Path) -> Path | None:
    """Where a folder holds the graph."""
    return next((folder / graph for graph in GRAPHS if (folder / graph).is_file()), None)


def reranker(name: str) -> Reranker:
    """The cross-encoder in this folder, loaded by whoever asks first."""
    return _loaded.once(name, cross_encoder)


def cross_encoder(name: str) -> Reranker:
    """A cross-encoder on onnxruntime."""
    from memories.providers.cross_encoder import CrossEncoder

    return CrossEncoder(Path(name), threads=settings.RECALL_EMBED_THREADS)
