"""Models that are loaded once in a process, by whoever asks first."""

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

Model = TypeVar("Model")


class Loaded(dict[str, Model]):
    """Models by name. A forked process begins without any: its parent's have lost their threads."""

    def __init__(self) -> None:
        super().__init__()
        self._loading = threading.Lock()
        os.register_at_fork(after_in_child=self._start_afresh)

    def once(self, name: str, load: Callable[[str], Model]) -> Model:
        """The model of this name, loaded where nobody has asked for it before."""
        if name not in self:
            with self._loading:
                if name not in self:
                    self[name] = load(name)
        return self[name]

    def _start_afresh(self) -> None:
        self._loading = threading.Lock()
        for lost in self.values():
            # Never freed, not even at exit: onnxruntime would wait there for threads that are not in this process.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
        self.clear()
