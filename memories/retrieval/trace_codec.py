"""Signals as bytes: every array exactly as it was, without the vectors, which are kept by reference."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memories.retrieval.candidate_vectors import FINGERPRINT_BYTES
from scoring.signals import Edges, Signals
from scoring.term import Array

LAYOUT = 1
FASTEST = 1  # zlib's level: most columns are constant, so more effort wins nothing
EDGE_COLUMNS = [one.name for one in fields(Edges)]
COLUMNS = list(Signals.columns())


def pack_signals(signals: Signals, fingerprints: Sequence[bytes], embedder: str) -> bytes:
    """A head that tells what follows, and the arrays one after another."""
    arrays = {
        **{name: getattr(signals, name) for name in COLUMNS},
        **{f"rank {route}": ranks for route, ranks in signals.ranks.items()},
        **{f"score {route}": scores for route, scores in signals.scores.items()},
        **{f"edge {name}": getattr(signals.edges, name) for name in EDGE_COLUMNS},
        "marks": np.frombuffer(b"".join(fingerprints), dtype=np.uint8),
    }
    if signals.tags is not None:
        arrays["tags"] = signals.tags
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    head = orjson.dumps({"arrays": shapes, "intent": signals.intent, "embedder": embedder})
    body = [array.tobytes() for array in arrays.values()]
    return zlib.compress(b"".join([len(head).to_bytes(4), head, *body]), FASTEST)


def unpack_arrays(data: bytes, prefix: str = "") -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
    """The arrays and the head of what was packed; perhaps only the arrays whose names begin in a certain way."""
    raw = zlib.decompress(data)
    size = int.from_bytes(raw[:4])
    head = orjson.loads(raw[4 : 4 + size])
    arrays, place = {}, 4 + size
    for name, (dtype, shape) in head["arrays"].items():
        kind, count = np.dtype(dtype), prod(shape)
        if name.startswith(prefix):
            arrays[name] = np.frombuffer(raw, dtype=kind, count=count, offset=place).reshape(shape)
        place += count * kind.itemsize
    return arrays, head


def decode_signals(
    ids: Sequence[str] | NDArray[np.str_],
    arrays: Mapping[str, NDArray[Any]],
    head: Mapping[str, Any],
    vectors: Array | None,
) -> Signals:
    """The signals again, with vectors from where they are kept; a trace may be older than some of the columns."""
    columns = {name: arrays[name] for name in COLUMNS if name in arrays}
    if "of_whom" not in arrays:
        named = arrays["entity_match"] > 0
        columns["of_whom"] = (named | ~named.any()).astype(float)
    return Signals(
        ids=np.array(ids, dtype=str),
        ranks={name.removeprefix("rank "): array for name, array in arrays.items() if name.startswith("rank ")},
        scores={name.removeprefix("score "): array for name, array in arrays.items() if name.startswith("score ")},
        edges=Edges(**{name: arrays[f"edge {name}"] for name in EDGE_COLUMNS}),
        vectors=vectors,
        tags=arrays.get("tags"),
        intent=head["intent"],
        **columns,
    )


def unpack_fingerprints(arrays: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """The marks of the vectors, one for each candidate."""
    whole = arrays["marks"].tobytes()
    return [whole[place : place + FINGERPRINT_BYTES] for place in range(0, len(whole), FINGERPRINT_BYTES)]
