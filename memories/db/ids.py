"""Ids that sort by creation time (UUIDv7, RFC 9562)."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Lock
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 74
NAME_BITS = 42  # of the random bits of a replayed id; the others are a counter
_lock = Lock()
_latest = 0
_random_pool = bytearray()
os.register_at_fork(after_in_child=_random_pool.clear)  # or parent and child would create the same ids
_replayed: ContextVar[Iterator[UUID] | None] = ContextVar("replayed", default=None)


def uuid7() -> UUID:
    """A new id, greater than all that this process created before."""
    global _latest
    if (replayed := _replayed.get()) is not None:
        return next(replayed)
    now = time.time_ns() // 1_000_000
    with _lock:
        # Within a millisecond, and if the clock steps back, add a random step to the latest (RFC 9562, 6.2).
        same_tick = now <= _latest >> RANDOM_BITS
        _latest = _latest + 1 + _random(32) if same_tick else now << RANDOM_BITS | _random(RANDOM_BITS)
        return _identifier(_latest >> RANDOM_BITS, _latest)


def _random(bits: int) -> int:
    """Random bits from a pool: a system call per id would dominate."""
    size = -(-bits // 8)
    if len(_random_pool) < size:
        _random_pool.extend(os.urandom(4096))
    value = int.from_bytes(_random_pool[-size:])
    del _random_pool[-size:]
    return value & (1 << bits) - 1


def time_of(identifier: UUID) -> datetime:
    """When an id was created, to the millisecond."""
    if identifier.version != 7:
        raise ValueError(f"must be a UUIDv7; got {identifier}, version {identifier.version}")
    return EPOCH + timedelta(milliseconds=identifier.int >> 80)


def first_id_at(timestamp: datetime) -> UUID:
    """The smallest id of a timestamp, as the lower bound of a range."""
    return _identifier((timestamp - EPOCH) // timedelta(milliseconds=1), 0)


def derive_id(timestamp: datetime, name: str) -> UUID:
    """The id of a name at a timestamp; its random bits are the name's SHA-256."""
    return _identifier((timestamp - EPOCH) // timedelta(milliseconds=1), _digest(name))


@contextmanager
def replay_ids(timestamp: datetime, name: str) -> Iterator[None]:
    """Let `uuid7` create the ids of a past timestamp: increasing, and the same for the same name."""
    milliseconds = (timestamp - EPOCH) // timedelta(milliseconds=1)
    # A counter in the upper bits makes them increase; the name in the lower bits tells two runs apart.
    ids = (
        _identifier(milliseconds, index << NAME_BITS | _digest(f"{name} {index}") % 2**NAME_BITS) for index in count()
    )
    previous = _replayed.set(ids)
    try:
        yield
    finally:
        _replayed.reset(previous)


def _identifier(milliseconds: int, random: int) -> UUID:
    """A UUIDv7 from its time and random bits."""
    high, low = random >> 62 & 0xFFF, random & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low)


def _digest(name: str) -> int:
    """A name's SHA-256 as a number."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest())
