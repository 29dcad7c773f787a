"""How much of its allowance each caller has left, counted by all processes of a machine together.

Of a caller one number is kept, the moment at which its allowance will be whole again: a request moves that moment on by
its share of the period, and one that would move it further ahead than a period is refused (the generic cell rate
algorithm). The numbers lie in a file that every process maps as memory, so counting costs no question to the database.
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

ENTRY = struct.Struct("<16sq")  # who, and when the allowance is whole again, in nanoseconds
PLACES = 65_536
NEAR = 8  # places that a caller may have; who comes last takes the one that is whole soonest


class Allowances:
    """The allowances of all callers, in one file."""

    def __init__(self, path: Path) -> None:
        data_folder.prepare(path.parent)
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # open for as long as the process lives
        os.ftruncate(self.file, ENTRY.size * (PLACES + NEAR))
        self.memory = mmap.mmap(self.file, 0)
        self.threads = threading.Lock()

    def take(self, caller: str, rate: Rate) -> int:
        """Take one request out of a caller's allowance; give the nanoseconds to wait where it is used up."""
        who, now, period = hashlib.blake2b(caller.encode(), digest_size=16).digest(), time.time_ns(), rate.nanoseconds
        with self.alone():
            place, whole = self.find(who)
            # Not before now, nor later than any request of this rate left it: clocks are set and rates are changed.
            after = min(max(whole, now), now + period) + period // rate.count
            wait = after - now - period
            if wait <= 0:
                ENTRY.pack_into(self.memory, place, who, after)
        return max(wait, 0)

    def find(self, who: bytes) -> tuple[int, int]:
        """A caller's place and number, or the place that is lost least where it has none."""
        first = ENTRY.size * (int.from_bytes(who[:8]) % PLACES)
        near = [
            (place, *ENTRY.unpack_from(self.memory, place))
            for place in range(first, first + ENTRY.size * NEAR, ENTRY.size)
        ]
        for place, held_by, whole in near:
            if held_by == who:
                return place, whole
        return min(near, key=lambda one: one[2])[0], 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads and, by the file's lock, other processes out for a moment."""
        with self.threads:
            fcntl.lockf(self.file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self.file, fcntl.LOCK_UN)


@cache
def allowances(path: Path) -> Allowances:
    """This process's view of a file of allowances."""
    return Allowances(path)
