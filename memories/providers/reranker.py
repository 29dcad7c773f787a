"""Rerankers: MaxSim over stored token states, which needs no model, or a cross-encoder from a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from django.conf import settings

from memories.providers.model_registry import ModelRegistry
from memories.text.provider_error import ProviderError
from scoring.term import Array

MAXSIM = "maxsim"
GRAPHS = ("model.onnx", "onnx/model.onnx")  # as exported by optimum, and by sentence-transformers
TOKENIZER = "tokenizer.json"
ALLOWED: str = f"{MAXSIM} or a folder that holds a cross-encoder ({' or '.join(GRAPHS)}, and {TOKENIZER})"


class RerankerError(ProviderError):
    """A reranker that is unavailable; the message says why."""


class Reranker(Protocol):
    """Scores a query together with each text."""

    name: str

    def scores(self, query: str, texts: Sequence[str], *, within: float) -> Array:
        """How well each text answers, 0 to 1; RerankerError if it fails or takes longer than `within` seconds."""


_loaded: ModelRegistry[Reranker] = ModelRegistry()


def is_known_reranker(name: str) -> bool:
    """Whether a name is MaxSim or a folder with the files of a cross-encoder."""
    return name == MAXSIM or (find_graph(Path(name)) is not None and (Path(name) / TOKENIZER).is_file())


def find_graph(folder: Path) -> Path | None:
    """The ONNX graph in a folder."""
    return next((folder / graph for graph in GRAPHS if (folder / graph).is_file()), None)


def reranker(name: str) -> Reranker:
    """The cross-encoder in this folder, loaded on first use."""
    return _loaded.get_or_load(name, load_cross_encoder)


def load_cross_encoder(name: str) -> Reranker:
    """Load the cross-encoder in a folder."""
    from memories.providers.cross_encoder import CrossEncoder

    return CrossEncoder(Path(name), threads=settings.RECALL_EMBED_THREADS)
