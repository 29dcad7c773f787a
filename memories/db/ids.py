"""UUIDv7 identifiers (RFC 9562), which sort by creation time."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from itertools import count
from secrets import randbits
from threading import Lock
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 74
NAME_BITS = 42  # of the random bits of a replayed id; the others count up
_lock = Lock()
_latest = 0
_replay: ContextVar[Iterator[UUID] | None] = ContextVar("replay", default=None)


def uuid7() -> UUID:
    """A new id, greater than all that this process has generated."""
    global _latest
    if (replay := _replay.get()) is not None:
        return next(replay)
    now = time.time_ns() // 1_000_000
    with _lock:
        # Within one millisecond, or if the clock steps back, increment by a random amount (RFC 9562, 6.2).
        same_tick = now <= _latest >> RANDOM_BITS
        _latest = _latest + 1 + randbits(32) if same_tick else now << RANDOM_BITS | randbits(RANDOM_BITS)
        return _uuid(_latest >> RANDOM_BITS, _latest)


def id_timestamp(identifier: UUID) -> datetime:
    """The creation time of an id, to the millisecond."""
    if identifier.version != 7:
        raise ValueError(f"only a UUIDv7 carries its time; {identifier} is version {identifier.version}")
    return EPOCH + timedelta(milliseconds=identifier.int >> 80)


def first_id_at(at: datetime) -> UUID:
    """The smallest id of a time, as the lower bound of a range."""
    return _uuid(_milliseconds(at), 0)


def derived_id(at: datetime, name: str) -> UUID:
    """A reproducible id: its time is given, its random bits are the SHA-256 of a name."""
    return _uuid(_milliseconds(at), _digest(name))


@contextmanager
def replay_ids(at: datetime, name: str) -> Iterator[None]:
    """Make `uuid7` return ascending ids of a past time, the same on every replay of a name."""
    # The high bits count up, so that ids ascend within the millisecond; the low bits depend on the name.
    ids = (
        _uuid(_milliseconds(at), number << NAME_BITS | _digest(f"{name} {number}") % 2**NAME_BITS) for number in count()
    )
    token = _replay.set(ids)
    try:
        yield
    finally:
        _replay.reset(token)


def _milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def _uuid(milliseconds: int, random: int) -> UUID:
    """Time and random bits around the version and variant bits."""
    high, low = random >> 62 & 0xFFF, random & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low)


def _digest(name: str) -> int:
    """The SHA-256 of a name as a number."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest())
