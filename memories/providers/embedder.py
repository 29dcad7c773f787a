"""Embedders: texts in, unit vectors out; found by name, loaded once per process."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memories.providers.model_registry import ModelRegistry
from memories.providers.token_matrix import TokenMatrix
from memories.text.provider_error import ProviderError

Vectors: TypeAlias = NDArray[np.float32]

# Set before onnxruntime is imported: since 1.29 it sends telemetry from a thread that keeps a forked process from
# exiting.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class EmbedderError(ProviderError):
    """An embedder that is unavailable; the message says what to do."""


class Embedder(Protocol):
    """Turns texts into vectors; only vectors of the same embedder name are comparable."""

    name: str

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    @property
    def limit(self) -> int:
        """The model's token limit; longer texts are embedded in pieces and pooled."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also gives token states, for MaxSim; check with isinstance."""

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """The token states of each text."""

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Vectors and token states from one pass."""


def load_minilm(name: str) -> Embedder:
    """The default: all-MiniLM-L6-v2 on onnxruntime."""
    from memories.providers.minilm import MiniLM

    return MiniLM(threads=settings.RECALL_EMBED_THREADS)


def load_wordllama(name: str) -> Embedder:
    """Mean of token vectors: less accurate, a hundred times as fast."""
    from memories.providers.wordllama import WordLlamaEmbedder

    return WordLlamaEmbedder()


def load_openai_embedder(name: str) -> Embedder:
    """A model behind an OpenAI-compatible API."""
    from memories.providers.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        name,
        base_url=settings.OPENAI_BASE_URL,
        key=settings.OPENAI_API_KEY,
        limit=settings.OPENAI_EMBED_LIMIT,
        timeout=settings.OPENAI_TIMEOUT,
    )


def load_fastembed(name: str) -> Embedder:
    """A model that fastembed downloads and runs."""
    from memories.providers.fastembed import FastEmbedEmbedder

    return FastEmbedEmbedder(name, threads=settings.RECALL_EMBED_THREADS)


EMBEDDERS: dict[str, Callable[[str], Embedder]] = {"all-MiniLM-L6-v2": load_minilm, "wordllama-256": load_wordllama}
FAMILIES: dict[str, Callable[[str], Embedder]] = {"openai": load_openai_embedder, "fastembed": load_fastembed}
ALLOWED: str = ", ".join([*EMBEDDERS, "openai/MODEL", "openai/MODEL@DIMENSIONS"]) + " or fastembed/MODEL"

_loaded: ModelRegistry[Embedder] = ModelRegistry()


def is_known_embedder(name: str) -> bool:
    """Whether a name is a built-in embedder or names a model of a family."""
    family, _, model = name.partition("/")
    return name in EMBEDDERS or (family in FAMILIES and bool(model))


def embedder(name: str) -> Embedder:
    """The embedder of this name, loaded on first use."""
    if not is_known_embedder(name):
        raise ValueError(f"embedder must be one of {ALLOWED}; got {name!r}.")
    return _loaded.get_or_load(name, EMBEDDERS.get(name) or FAMILIES[name.partition("/")[0]])


def warm_up(name: str) -> None:
    """Load a built-in embedder and embed a word, so that the first query does not wait; others load on first use."""
    if name in EMBEDDERS:
        with suppress(EmbedderError):
            embedder(name).embed(["first"])


def unload() -> None:
    """Free all embedders, as before a fork."""
    _loaded.clear()


@contextmanager
def replace_embedder(model: Embedder) -> Iterator[None]:
    """Replace the embedder of the model's name within the context."""
    original, _loaded[model.name] = embedder(model.name), model
    try:
        yield
    finally:
        _loaded[model.name] = original
