"""Identifiers that sort by the time they were made (UUIDv7, RFC 9562)."""

import hashlib
import secrets
import time
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 74
_lock = Lock()
_latest = 0


def uuid7() -> UUID:
    """Make an identifier greater than all that this process made before."""
    global _latest
    fresh = time.time_ns() // 1_000_000 << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
    with _lock:
        # Within one millisecond, and when the clock steps back, go on from the latest by a random step (RFC 9562, 6.2).
        same_tick = fresh >> RANDOM_BITS <= _latest >> RANDOM_BITS
        _latest = _latest + 1 + secrets.randbits(32) if same_tick else fresh
        return _identifier(_latest >> RANDOM_BITS, _latest)


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
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest())
    return _identifier((moment - EPOCH) // timedelta(milliseconds=1), digest)


def _identifier(milliseconds: int, random: int) -> UUID:
    """Lay time and randomness around the version and variant bits."""
    high, low = random >> 62 & 0xFFF, random & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | low)
