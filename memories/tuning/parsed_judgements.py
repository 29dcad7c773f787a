"""Judged queries parsed from a file, before they are stored."""

from dataclasses import dataclass, field
from typing import Any

from memories.tuning.judgement_store import NewQuery

MAX_QUERIES = 20_000  # in one file
GRADES = range(4)


@dataclass
class ParsedJudgements:
    """The queries of a file and its problems by location; a file with a problem is not stored."""

    queries: list[NewQuery] = field(default_factory=list)
    problems: dict[str, Any] = field(default_factory=dict)
