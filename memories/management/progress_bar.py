"""Progress of a long command: a bar on a terminal, elsewhere a plain line every few seconds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

BAR_CHARS = 24
INTERVAL = {True: 0.2, False: 5.0}  # seconds between reports, on a terminal and elsewhere


class Terminal(Protocol):
    """Where progress is written."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


@dataclass
class ProgressBar:
    """Lines and bytes done, the rate, and the remaining time if the total is known."""

    out: Terminal
    total: int | None  # bytes
    first_line: int = 0
    first_byte: int = 0
    began: float = field(default_factory=time.monotonic)
    reported: float = field(default_factory=time.monotonic)

    def update(self, line: int, byte: int, counts: Mapping[str, int], *, last: bool = False) -> None:
        """Report, unless the last report is recent."""
        now, bar = time.monotonic(), self.out.isatty()
        if now - self.reported < INTERVAL[bar] and not (last and bar):
            return
        self.reported = now
        text = self.text(line, byte, counts, now - self.began)
        self.out.write(f"\r\x1b[K{self.bar(byte)}{text}" if bar else f"{text}\n")
        if last and bar:
            self.out.write("\n")
        self.out.flush()

    def text(self, line: int, byte: int, counts: Mapping[str, int], seconds: float) -> str:
        """Lines, rate, outcomes and remaining time."""
        rate = (line - self.first_line) / seconds if seconds else 0.0
        outcomes = "".join(f", {count} {name}" for name, count in counts.items())
        return f"{line} lines, {rate:.0f} per second{outcomes}{self.remaining_time(byte, seconds)}"

    def remaining_time(self, byte: int, seconds: float) -> str:
        """The time the rest takes at this rate."""
        if self.total is None or byte <= self.first_byte:
            return ""
        remaining = seconds * max(0, self.total - byte) / (byte - self.first_byte)
        minutes, remainder = divmod(round(remaining), 60)
        return f", {minutes}:{remainder:02d} left"

    def bar(self, byte: int) -> str:
        """The completed share as a bar."""
        if not self.total:
            return ""
        done = min(BAR_CHARS, BAR_CHARS * byte // self.total)
        return f"[{'█' * done}{'·' * (BAR_CHARS - done)}] "
