"""A token bucket per caller, in the memory of each process.

Each of the WORKERS processes allows its share of the rate, so a caller whose requests all reach one worker gets less
than the whole. It's OK to be a little inexact here for the sake of simplicity.
"""

import threading
import time
from dataclasses import dataclass

from django.conf import settings

from memories.db.lru_cache import LRUCache

PERIOD_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
MAX_CALLERS = 10_000  # buckets per process


@dataclass(frozen=True)
class RateLimit:
    """So many requests per period."""

    count: int
    period: str

    @classmethod
    def from_settings(cls) -> "RateLimit | None":
        """RECALL_RATE; None if it is off."""
        return cls(*settings.RECALL_RATE) if settings.RECALL_RATE else None

    @property
    def seconds(self) -> int:
        """The length of the period."""
        return PERIOD_SECONDS[self.period]

    def share(self, processes: int) -> "RateLimit":
        """The part of the limit that one of several processes allows, at least one request."""
        return RateLimit(max(1, self.count // processes), self.period)


class TokenBuckets:
    """A bucket per caller, stored as the time at which it is full again (GCRA); an LRU cache."""

    def __init__(self) -> None:
        self.full_at = LRUCache[str, float](MAX_CALLERS)
        self.lock = threading.Lock()

    def take_token(self, caller: str, rate: RateLimit) -> float:
        """Take a token from a caller's bucket; return 0, or the seconds to wait if it is empty."""
        step = rate.seconds / rate.count
        with self.lock:
            now = time.monotonic()
            # At most one period ahead: the rate may have been lowered.
            full_at = min(max(self.full_at.get(caller) or now, now), now + rate.seconds)
            wait = full_at + step - now - rate.seconds - 1e-6  # slack for rounding
            self.full_at.put(caller, full_at + step if wait <= 0 else full_at)
        return max(wait, 0.0)


token_buckets = TokenBuckets()
