"""A token bucket per caller, shared by all processes of a machine.

A bucket is stored as one timestamp, the time at which it is full again (generic cell rate algorithm, GCRA). A request
advances it by its share of the period; one that would move it more than a period ahead is rejected. The timestamps live
in a memory-mapped file, so rate limiting needs no database query.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from recall_site import data_folder
from recall_site.environment import Rate

BUCKET = struct.Struct("<16sq")  # caller hash, and when its bucket is full again, in nanoseconds
SLOTS = 65_536
PROBES = 8  # slots probed per caller; a new caller replaces the bucket that is full soonest


class TokenBuckets:
    """The buckets of all callers, in one file: an open-addressing hash table."""

    def __init__(self, path: Path) -> None:
        data_folder.prepare(path.parent)
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # open for as long as the process lives
        os.ftruncate(self.file, BUCKET.size * (SLOTS + PROBES))
        self.mapping = mmap.mmap(self.file, 0)
        self.thread_lock = threading.Lock()

    def take_token(self, caller: str, rate: Rate) -> int:
        """Take one token from a caller's bucket; return 0, or the nanoseconds to wait if it is empty."""
        who, now, period = hashlib.blake2b(caller.encode(), digest_size=16).digest(), time.time_ns(), rate.nanoseconds
        with self.locked():
            offset, full_at = self.find_slot(who)
            # Clamped to one period from now: the clock may have been set back or the rate lowered.
            next_full_at = min(max(full_at, now), now + period) + period // rate.count
            wait = next_full_at - now - period
            if wait <= 0:
                BUCKET.pack_into(self.mapping, offset, who, next_full_at)
        return max(wait, 0)

    def find_slot(self, caller_hash: bytes) -> tuple[int, int]:
        """The offset of a caller's bucket and when it is full; for a new caller the slot that is cheapest to evict."""
        first = BUCKET.size * (int.from_bytes(caller_hash[:8]) % SLOTS)
        slots = [
            (offset, *BUCKET.unpack_from(self.mapping, offset))
            for offset in range(first, first + BUCKET.size * PROBES, BUCKET.size)
        ]
        for offset, owner, full_at in slots:
            if owner == caller_hash:
                return offset, full_at
        return min(slots, key=lambda slot: slot[2])[0], 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other threads and, through the file lock, other processes."""
        with self.thread_lock:
            fcntl.lockf(self.file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self.file, fcntl.LOCK_UN)


@cache
def token_buckets(path: Path) -> TokenBuckets:
    """This process's mapping of a file of buckets."""
    return TokenBuckets(path)
