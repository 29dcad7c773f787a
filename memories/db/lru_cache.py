"""A cache per process: least recently used entries are evicted, and an entry is valid for one version only."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Version = TypeVar("Version")
Value = TypeVar("Value")


class LRUCache(Generic[Key, Version, Value]):
    """Values by key, each of one version, up to a total size."""

    def __init__(self, max_size: int, *, size: Callable[[Value], int] = lambda value: 1) -> None:
        self.max_size, self.total_size = max_size, 0
        self._size, self._lock = size, Lock()
        self._entries: OrderedDict[Key, tuple[Version, Value]] = OrderedDict()

    def get(self, key: Key, version: Version) -> Value | None:
        """The value of a key if it is of this version."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry[0] != version:
                return None
            self._entries.move_to_end(key)
            return entry[1]

    def put(self, key: Key, version: Version, value: Value) -> None:
        """Store a value, and evict others until all fit; one that is too large by itself is not stored."""
        with self._lock:
            if key in self._entries:
                self._evict(key)
            self._entries[key] = version, value
            self.total_size += self._size(value)
            while self.total_size > self.max_size:
                self._evict(next(iter(self._entries)))

    def _evict(self, key: Key) -> None:
        self.total_size -= self._size(self._entries.pop(key)[1])
