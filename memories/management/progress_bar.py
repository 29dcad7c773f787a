"""How far a long command is: a bar on a terminal, else a plain line now and then."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

WIDTH = 24  # characters
EVERY = {True: 0.2, False: 5.0}  # seconds between two reports, on a terminal and elsewhere


class Terminal(Protocol):
    """Where progress is told."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


@dataclass
class Progress:
    """Lines and bytes done, their rate, and the time that is left where the whole is known."""

    out: Terminal
    total: int | None  # bytes
    first_line: int = 0
    first_byte: int = 0
    began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)

    def tell(self, line: int, byte: int, counts: Mapping[str, int], *, last: bool = False) -> None:
        """Report, unless it was just done."""
        now, bar = time.monotonic(), self.out.isatty()
        if now - self.told < EVERY[bar] and not (last and bar):
            return
        self.told = now
        text = self.text(line, byte, counts, now - self.began)
        self.out.write(f"\r\x1b[K{self.bar(byte)}{text}" if bar else f"{text}\n")
        if last and bar:
            self.out.write("\n")
        self.out.flush()

    def text(self, line: int, byte: int, counts: Mapping[str, int], seconds: float) -> str:
        """Lines, rate, outcomes, time left."""
        rate = (line - self.first_line) / seconds if seconds else 0.0
        outcomes = "".join(f", {count} {name}" for name, count in counts.items())
        return f"{line} lines, {rate:.0f} a second{outcomes}{self.left(byte, seconds)}"

    def left(self, byte: int, seconds: float) -> str:
        """The time that the rest takes at this rate."""
        if self.total is None or byte <= self.first_byte:
            return ""
        rest = seconds * max(0, self.total - byte) / (byte - self.first_byte)
        minutes, seconds = divmod(round(rest), 60)
        return f", {minutes}:{seconds:02.0f} left"

    def bar(self, byte: int) -> str:
        """How much of the whole is done, drawn."""
        if not self.total:
            return ""
        done = min(WIDTH, WIDTH * byte // self.total)
        return f"[{'█' * done}{'·' * (WIDTH - done)}] "
