"""Models loaded once per process, on first use."""

import threading
from collections.abc import Callable
from typing import TypeVar

Model = TypeVar("Model")


class ModelRegistry(dict[str, Model]):
    """Loaded models by name. A process that forks must `clear` it first: a model's threads do not survive a fork."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def get_or_load(self, name: str, load: Callable[[str], Model]) -> Model:
        """The model of this name, loaded on first use."""
        if name not in self:
            with self._lock:
                if name not in self:
                    self[name] = load(name)
        return self[name]
