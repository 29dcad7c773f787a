"""UUIDs as numpy arrays, as creating, hashing and comparing UUID objects would dominate a retrieval."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

ID = np.dtype([("head", np.uint64), ("tail", np.uint64)])  # high and low 64 bits, ordered as UUIDs are
Ids = NDArray[np.void]  # of dtype ID
GROUPS = (0, 8, 12, 16, 20, 32)  # hex digits between hyphens


def id_halves(id: UUID) -> tuple[int, int]:
    """The high and low half of a UUID."""
    return id.int >> 64, id.int & (2**64 - 1)


def id_array(ids: Iterable[UUID]) -> Ids:
    """UUIDs as an array."""
    return np.array([id_halves(id) for id in ids], ID)


def uuid_from_halves(head: int, tail: int) -> UUID:
    """The UUID of two halves."""
    return UUID(int=head << 64 | tail)


def to_uuids(ids: Ids) -> list[UUID]:
    """An array as UUIDs."""
    return [uuid_from_halves(*halves) for halves in ids.tolist()]


def format_ids(ids: Ids) -> NDArray[np.str_]:
    """Ids as text.

    >>> format_ids(id_array([UUID(int=1), UUID(int=2**127)])).tolist()
    ['00000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000000']
    """
    values = np.array([ids["head"], ids["tail"]], ">u8").T.tobytes().hex().encode()
    digits = np.frombuffer(values, np.uint8).reshape(-1, 32)
    chars = np.full((len(ids), 36), ord("-"), np.uint32)
    for hyphens, (start, end) in enumerate(pairwise(GROUPS)):
        chars[:, start + hyphens : end + hyphens] = digits[:, start:end]
    return chars.view("U36")[:, 0] if len(ids) else np.empty(0, "U36")


def unite_ids(arrays: Sequence[Ids]) -> tuple[Ids, list[NDArray[np.intp]]]:
    """The sorted union of several arrays, and the index of each element in it."""
    # As plain integers: numpy compares structured values one field at a time.
    halves = np.concatenate([np.empty(0, np.uint64), *(np.ascontiguousarray(ids).view(np.uint64) for ids in arrays)])
    heads, tails = halves[::2], halves[1::2]
    order = np.lexsort((tails, heads))
    heads, tails = heads[order], tails[order]
    new = np.ones(len(order), bool)
    new[1:] = (heads[1:] != heads[:-1]) | (tails[1:] != tails[:-1])
    indexes = np.empty(len(order), np.intp)
    indexes[order] = np.cumsum(new) - 1
    ends = [0, *accumulate(map(len, arrays))]
    union = np.stack([heads[new], tails[new]], axis=1).view(ID)[:, 0]
    return union, [indexes[start:end] for start, end in pairwise(ends)]
