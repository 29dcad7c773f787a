"""What a process keeps of what it has read, for as long as it is as it was."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, Protocol, TypeVar

MAX_REQUESTED = 10_000  # keys that were asked for and are not kept


class Sized(Protocol):
    """What takes room."""

    @property
    def size(self) -> int:
        """In bytes."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Sized)


class LRUCache(Generic[Key, Value]):
    """Values by their keys, each of some version, in so many bytes; those asked for longest ago go first."""

    def __init__(self, most: int) -> None:
        self.max_bytes, self.size, self.lock = most, 0, Lock()
        self.entries: OrderedDict[Key, tuple[str, Value]] = OrderedDict()
        self.requested: dict[Key, str] = {}  # of which version they were when they were asked for

    def get(self, key: Key) -> tuple[str, Value] | None:
        """What is kept under a key, and of which version it is."""
        with self.lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: Key, version: str, value: Value) -> None:
        """Keep a value, and let go of others where they become too many."""
        with self.lock:
            if key in self.entries:
                self.size -= self.entries.pop(key)[1].size
            self.entries[key] = version, value
            self.size += value.size
            while self.size > self.max_bytes:
                self._evict(next(iter(self.entries)))

    def evict(self, outdated: Callable[[Key, str], bool]) -> None:
        """Let go of what nobody will ask for any more."""
        with self.lock:
            for key in [key for key, (version, _) in self.entries.items() if outdated(key, version)]:
                self._evict(key)

    def _evict(self, key: Key) -> None:
        self.size -= self.entries.pop(key)[1].size
        self.requested.pop(key, None)  # or keys that go for each other would be read again each time

    @property
    def free_bytes(self) -> int:
        """How many bytes are left."""
        return self.max_bytes - self.size

    def seen_before(self, key: Key, version: str) -> bool:
        """Whether a key is asked for again as it was the last time."""
        with self.lock:
            if len(self.requested) > MAX_REQUESTED:
                self.requested.clear()
            before, self.requested[key] = self.requested.get(key), version
        return before == version
