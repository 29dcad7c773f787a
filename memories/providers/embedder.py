"""Embedders: texts in, vectors of length one out; found by name, loaded once per process."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memories.providers.loaded import Loaded
from memories.providers.token_matrix import TokenMatrix
from memories.providers.unavailable import ProviderError

Vectors: TypeAlias = NDArray[np.float32]

# Before anything imports onnxruntime: from 1.29 on it reports its use to Microsoft, in a thread without which a forked
# process cannot end.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class EmbedderError(ProviderError):
    """An embedder that cannot work here and now; says what to do."""


class Embedder(Protocol):
    """Turns texts into vectors. The name stands for the space: vectors of one name can be compared."""

    name: str

    @property
    def dimensions(self) -> int:
        """How long a vector is."""

    @property
    def limit(self) -> int:
        """How many tokens the model sees at once; longer texts are embedded in pieces and pooled."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length one for each text."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """What an embedder also can whose tokens can be compared one by one, for MaxSim; ask with isinstance."""

    def token_states(self, texts: Sequence[str]) -> list[TokenMatrix]:
        """The states of each text's tokens."""

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenMatrix]]:
        """Both, for the price of one."""


def minilm(name: str) -> Embedder:
    """The default: all-MiniLM-L6-v2 on onnxruntime."""
    from memories.providers.minilm import MiniLM

    return MiniLM(threads=settings.RECALL_EMBED_THREADS)


def wordllama(name: str) -> Embedder:
    """Means of word vectors: less exact, a hundred times as fast."""
    from memories.providers.wordllama import WordLlamaEmbedder

    return WordLlamaEmbedder()


def openai(name: str) -> Embedder:
    """A model behind an OpenAI-compatible address."""
    from memories.providers.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        name,
        address=settings.OPENAI_BASE_URL,
        key=settings.OPENAI_API_KEY,
        limit=settings.OPENAI_EMBED_LIMIT,
        timeout=settings.OPENAI_TIMEOUT,
    )


def fastembed(name: str) -> Embedder:
    """A model that fastembed fetches and runs."""
    from memories.providers.fastembed import FastEmbedEmbedder

    return FastEmbedEmbedder(name, threads=settings.RECALL_EMBED_THREADS)


EMBEDDERS: dict[str, Callable[[str], Embedder]] = {"all-MiniLM-L6-v2": minilm, "wordllama-256": wordllama}
FAMILIES: dict[str, Callable[[str], Embedder]] = {"openai": openai, "fastembed": fastembed}
ALLOWED: str = ", ".join([*EMBEDDERS, "openai/MODEL", "openai/MODEL@DIMENSIONS"]) + " or fastembed/MODEL"

_loaded: Loaded[Embedder] = Loaded()


def known(name: str) -> bool:
    """Whether a name is one of the shipped or names a model of a family."""
    family, _, model = name.partition("/")
    return name in EMBEDDERS or (family in FAMILIES and bool(model))


def embedder(name: str) -> Embedder:
    """The embedder of this name, loaded by whoever asks first."""
    if not known(name):
        raise ValueError(f"embedder must be one of {ALLOWED}, not {name!r}.")
    return _loaded.once(name, EMBEDDERS.get(name) or FAMILIES[name.partition("/")[0]])


def warm(name: str) -> None:
    """Load a shipped embedder and let it read a word, so that the first question does not wait for it.

    Whether one of another family is there, whoever asks first is told.
    """
    if name in EMBEDDERS:
        with suppress(EmbedderError):
            embedder(name).embed(["first"])


@contextmanager
def standing_in(model: Embedder) -> Iterator[None]:
    """Let another model answer to its name for a while; it makes the same vectors, some other way."""
    usual, _loaded[model.name] = embedder(model.name), model
    try:
        yield
    finally:
        _loaded[model.name] = usual
