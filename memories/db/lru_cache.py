"""A cache per process that evicts the least recently used entries."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """Values by key up to a total size; an entry may be valid for one version only."""

    def __init__(self, max_size: int, *, size: Callable[[Value], int] = lambda value: 1) -> None:
        self.max_size, self.total_size = max_size, 0
        self._size, self._lock = size, Lock()
        self._entries: OrderedDict[Key, tuple[Hashable, Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, *, version: Hashable = None) -> Value | None:
        """The value of a key, if it is of this version."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry[0] != version:
                return None
            self._entries.move_to_end(key)
            return entry[1]

    def put(self, key: Key, value: Value, *, version: Hashable = None) -> None:
        """Store a value and evict the least recently used until all fit; one larger than the cache empties it."""
        with self._lock:
            if key in self._entries:
                self._evict(key)
            self._entries[key] = version, value
            self.total_size += self._size(value)
            while self.total_size > self.max_size:
                self._evict(next(iter(self._entries)))

    def get_or_compute(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The value of a key, computed on a miss; two threads that miss at once both compute it."""
        value = self.get(key)
        if value is None:
            value = compute()
            self.put(key, value)
        return value

    def clear(self) -> None:
        """Evict everything."""
        with self._lock:
            self._entries.clear()
            self.total_size = 0

    def _evict(self, key: Key) -> None:
        self.total_size -= self._size(self._entries.pop(key)[1])
