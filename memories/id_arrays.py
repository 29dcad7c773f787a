"""Many ids as one array: an object for each takes longer to make and to look up than most that is done with it."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

ID = np.dtype([("head", np.uint64), ("tail", np.uint64)])  # an id as two numbers, in whose order ids are
Ids = NDArray[np.void]  # of the above
HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)
DIGITS = [place for place in range(36) if place not in (8, 13, 18, 23)]  # of an id as it is written


def halves(id: UUID) -> tuple[int, int]:
    """An id as an array has it."""
    return id.int >> 64, id.int & (2**64 - 1)


def ids_of(some: Iterable[UUID]) -> Ids:
    """Ids as an array."""
    return np.array([halves(id) for id in some], ID)


def uuids(ids: Ids) -> list[UUID]:
    """Ids as others know them."""
    return [UUID(int=head << 64 | tail) for head, tail in ids.tolist()]


def written(ids: Ids) -> NDArray[np.str_]:
    """Ids as they are written.

    >>> written(ids_of([UUID(int=1), UUID(int=2**127)])).tolist()
    ['00000000-0000-0000-0000-000000000001', '80000000-0000-0000-0000-000000000000']
    """
    values = np.frombuffer(ids.astype(ID.newbyteorder(">")).tobytes(), np.uint8).reshape(-1, 16)
    signs = np.full((len(ids), 36), ord("-"), np.uint32)
    signs[:, DIGITS] = HEXADECIMAL[np.stack([values >> 4, values & 15], axis=2).reshape(-1, 32)]
    return signs.view("U36")[:, 0] if len(ids) else np.empty(0, "U36")


def united(several: Sequence[Ids]) -> tuple[Ids, list[NDArray[np.intp]]]:
    """The ids of several arrays in their order, each once; and where those of each array stand among them."""
    whole = np.concatenate(several) if several else np.empty(0, ID)
    order = np.lexsort((whole["tail"], whole["head"]))
    ordered = whole[order]
    new = np.ones(len(whole), bool)
    new[1:] = (ordered["head"][1:] != ordered["head"][:-1]) | (ordered["tail"][1:] != ordered["tail"][:-1])
    places = np.empty(len(whole), np.intp)
    places[order] = np.cumsum(new) - 1
    return ordered[new], np.split(places, np.cumsum([len(one) for one in several])[:-1])
