"""Pairs of memories labelled contradicts, compatible or same: two thirds to tune rules on, a third to check them.

`contradicts`: of one thing, and they cannot both hold at one time, so the later makes the earlier outdated.
`compatible`: both may hold, or they are about two things, people, times or occasions. `same`: one says what the other
does. A side is a memory's fields; what it does not state is empty.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memories.models import Memory
from scoring.dedup import fallback_subject

FILE = Path(__file__).with_suffix(".jsonl")
TIMES = ("valid_from", "valid_until", "event_at")


@dataclass(frozen=True)
class LabelledPair:
    """Two memories, and how they relate."""

    kind: str
    label: str
    split: str
    first: Memory
    second: Memory

    def __str__(self) -> str:
        return f"{self.kind}: {self.first.content} | {self.second.content}"


def labelled_pairs(split: str = "") -> Iterator[LabelledPair]:
    """The pairs of a split, or all."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if split in ("", row["split"]):
            first, second = (side_memory(row[side]) for side in "ab")
            yield LabelledPair(row["kind"], row["label"], row["split"], first, second)


def side_memory(side: dict[str, Any]) -> Memory:
    """A memory of these fields, not stored."""
    times = {name: datetime.fromisoformat(side[name]).replace(tzinfo=UTC) for name in TIMES if name in side}
    texts = {name: side.get(name, "") for name in ("content", "user", "predicate", "object")}
    subject = side.get("subject", "")
    fallback = fallback_subject(subject) if subject else None
    return Memory(**texts, **times, subject_surface=subject, subject_fallback=fallback)
