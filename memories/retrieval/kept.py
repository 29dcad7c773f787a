"""What a process keeps of what it has read, for as long as it is as it was."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, Protocol, TypeVar

MOST_ASKED = 10_000  # keys that were asked for and are not kept


class Sized(Protocol):
    """What takes room."""

    @property
    def size(self) -> int:
        """In bytes."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Sized)


class Kept(Generic[Key, Value]):
    """Values by their keys, each of some version, in so many bytes; those asked for longest ago go first."""

    def __init__(self, most: int) -> None:
        self.most, self.size, self.lock = most, 0, Lock()
        self.known: OrderedDict[Key, tuple[str, Value]] = OrderedDict()
        self.asked: dict[Key, str] = {}  # of which version they were when they were asked for

    def of(self, key: Key) -> tuple[str, Value] | None:
        """What is kept under a key, and of which version it is."""
        with self.lock:
            if key in self.known:
                self.known.move_to_end(key)
            return self.known.get(key)

    def keep(self, key: Key, version: str, value: Value) -> None:
        """Keep a value, and let go of others where they become too many."""
        with self.lock:
            if key in self.known:
                self.size -= self.known.pop(key)[1].size
            self.known[key] = version, value
            self.size += value.size
            while self.size > self.most:
                self._let_go(next(iter(self.known)))

    def let_go(self, outdated: Callable[[Key, str], bool]) -> None:
        """Let go of what nobody will ask for any more."""
        with self.lock:
            for key in [key for key, (version, _) in self.known.items() if outdated(key, version)]:
                self._let_go(key)

    def _let_go(self, key: Key) -> None:
        self.size -= self.known.pop(key)[1].size
        self.asked.pop(key, None)  # or keys that go for each other would be read again each time

    @property
    def room(self) -> int:
        """How many bytes are left."""
        return self.most - self.size

    def again(self, key: Key, version: str) -> bool:
        """Whether a key is asked for again as it was the last time."""
        with self.lock:
            if len(self.asked) > MOST_ASKED:
                self.asked.clear()
            before, self.asked[key] = self.asked.get(key), version
        return before == version
