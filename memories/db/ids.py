"""Identifiers that sort by the time they were made (UUIDv7, RFC 9562)."""

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
COUNTED_BITS = 42  # what is left of the random bits to the name where the others count
_lock = Lock()
_latest = 0
_drawn = bytearray()
os.register_at_fork(after_in_child=_drawn.clear)  # or parent and child would make the same
_replayed: ContextVar[Iterator[UUID] | None] = ContextVar("replayed", default=None)


def uuid7() -> UUID:
    """Make an identifier greater than all that this process made before."""
    global _latest
    if (replayed := _replayed.get()) is not None:
        return next(replayed)
    now = time.time_ns() // 1_000_000
    with _lock:
        # Within one millisecond, and when the clock steps back, go on from the latest by a random step (RFC 9562, 6.2).
        same_tick = now <= _latest >> RANDOM_BITS
        _latest = _latest + 1 + _random(32) if same_tick else now << RANDOM_BITS | _random(RANDOM_BITS)
        return _identifier(_latest >> RANDOM_BITS, _latest)


def _random(bits: int) -> int:
    """Draw from what the system gave at once: to ask it for each identifier takes longer than all else."""
    size = -(-bits // 8)
    if len(_drawn) < size:
        _drawn.extend(os.urandom(4096))
    some = int.from_bytes(_drawn[-size:])
    del _drawn[-size:]
    return some & (1 << bits) - 1


def time_of(identifier: UUID) -> datetime:
    """Tell when an identifier was made, to the millisecond."""
    if identifier.version != 7:
        raise ValueError(f"only a UUIDv7 carries its time, and {identifier} is version {identifier.version}")
    return EPOCH + timedelta(milliseconds=identifier.int >> 80)


def first_id_at(moment: datetime) -> UUID:
    """Give the smallest identifier that can be made at a moment: the lower bound of a range."""
    return _identifier((moment - EPOCH) // timedelta(milliseconds=1), 0)


def derived(moment: datetime, name: str) -> UUID:
    """Give the one identifier of a name at a moment: its random bits are the name's SHA-256."""
    return _identifier((moment - EPOCH) // timedelta(milliseconds=1), _digest(name))


@contextmanager
def replayed(moment: datetime, name: str) -> Iterator[None]:
    """Let `uuid7` give the identifiers of a past moment: they rise, and are the same whenever it is told again."""
    milliseconds = (moment - EPOCH) // timedelta(milliseconds=1)
    # Counted above, so that they rise within the millisecond; the name below keeps two tellings apart.
    made = (
        _identifier(milliseconds, place << COUNTED_BITS | _digest(f"{name} {place}") % 2**COUNTED_BITS)
        for place in count()
    )
    past = _replayed.set(made)
    try:
        yield
    finally:
        _replayed.reset(past)


def _identifier(milliseconds: int, random: int) -> UUID:
    """Lay time and randomness around the version and variant bits."""
    high, low = random >> 62 & 0xFFF, random & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low)


def _digest(name: str) -> int:
    """A name as a number."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest())
