"""Signals as bytes, exact to the bit; of the vectors, only their fingerprints."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memories.retrieval.candidate_rows import FINGERPRINT_BYTES
from scoring.policy import WritePolicyParams
from scoring.signals import NO_EMPHASIS, Edges, Signals
from scoring.term import Array

LAYOUT = 1
FASTEST = 1  # zlib level: most columns are constant, so a higher one gains nothing
EDGE_COLUMNS = [field.name for field in fields(Edges)]
COLUMNS = list(Signals.columns())


def pack_signals(signals: Signals, fingerprints: Sequence[bytes], embedder: str) -> bytes:
    """A header with dtypes and shapes, followed by the arrays."""
    arrays = {
        **{name: getattr(signals, name) for name in COLUMNS},
        **{f"rank {retriever}": ranks for retriever, ranks in signals.ranks.items()},
        **{f"score {retriever}": scores for retriever, scores in signals.scores.items()},
        **{f"edge {name}": getattr(signals.edges, name) for name in EDGE_COLUMNS},
        "fingerprints": np.frombuffer(b"".join(fingerprints), dtype=np.uint8),
    }
    if signals.tags is not None:
        arrays["tags"] = signals.tags
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    header = orjson.dumps(
        {"arrays": shapes, "intent": signals.intent, "emphasis": signals.emphasis, "embedder": embedder}
    )
    body = [array.tobytes() for array in arrays.values()]
    return zlib.compress(b"".join([len(header).to_bytes(4), header, *body]), FASTEST)


def unpack_arrays(data: bytes, prefix: str = "") -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
    """The packed arrays whose names start with a prefix, and the header; the inverse of `pack_signals`."""
    raw = zlib.decompress(data)
    size = int.from_bytes(raw[:4])
    header = orjson.loads(raw[4 : 4 + size])
    arrays, offset = {}, 4 + size
    for name, (dtype, shape) in header["arrays"].items():
        item, count = np.dtype(dtype), prod(shape)
        if name.startswith(prefix):
            arrays[name] = np.frombuffer(raw, dtype=item, count=count, offset=offset).reshape(shape)
        offset += count * item.itemsize
    return arrays, header


def decode_signals(
    ids: Sequence[str] | NDArray[np.str_],
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
    vectors: Array | None,
) -> Signals:
    """The signals of a trace, which may be older than some of the columns; a trace has no vectors."""
    columns = {name: arrays[name] for name in COLUMNS if name in arrays}
    if "answer_entity_match" not in arrays:
        named = arrays["entity_match"] > 0
        columns["answer_entity_match"] = (named | ~named.any()).astype(float)
    if "protected" not in arrays:
        # Belief could pass the shipped level only with the corroborations it needs.
        columns["protected"] = arrays["belief"] > WritePolicyParams().belief_protected
    return Signals(
        ids=np.array(ids, dtype=str),
        ranks={name.removeprefix("rank "): array for name, array in arrays.items() if name.startswith("rank ")},
        scores={name.removeprefix("score "): array for name, array in arrays.items() if name.startswith("score ")},
        edges=Edges(**{name: arrays[f"edge {name}"] for name in EDGE_COLUMNS}),
        vectors=vectors,
        tags=arrays.get("tags"),
        intent=header["intent"],
        emphasis=header.get("emphasis", NO_EMPHASIS),
        **columns,
    )


def unpack_fingerprints(arrays: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """The fingerprint of each candidate's vector."""
    packed = arrays["fingerprints"].tobytes()
    return [packed[start : start + FINGERPRINT_BYTES] for start in range(0, len(packed), FINGERPRINT_BYTES)]
