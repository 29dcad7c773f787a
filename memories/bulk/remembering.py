"""Lines that each tell a memory, as `POST memories/` takes it, and what becomes of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework.exceptions import ValidationError

from memories.api.memories import read
from memories.bulk.lines import Line, value
from memories.models import Namespace
from memories.writing.new_memory import NewMemory
from memories.writing.remember import Outcome, remember
from recall_site.problems import flat, shortened

# What is told of a line: its number and its outcome, then the memory and the reason, or the problems.
Told = dict[str, Any]


def remembered(namespace: Namespace, lines: Sequence[Line], *, by: str) -> list[Told]:
    """Remember what the lines tell; one that is refused holds up nobody."""
    items = understood(namespace, lines)
    news = [one for one in items if isinstance(one, NewMemory)]
    outcomes = iter(remember(namespace, news, by=by))
    results = [became(next(outcomes)) if isinstance(one, NewMemory) else one for one in items]
    return [{"line": line.number, **result} for line, result in zip(lines, results, strict=True)]


def understood(namespace: Namespace, lines: Iterable[Line]) -> list[NewMemory | Told]:
    """For each line a memory to be, or what is wrong with it."""
    values = [value_or_refusal(line) for line in lines]
    checked = iter(read(namespace, [body for body, refusal in values if refusal is None]))
    return [refusal or next(checked) for _, refusal in values]


def value_or_refusal(line: Line) -> tuple[Any, Told | None]:
    """The JSON of a line, or what is wrong with it."""
    try:
        return value(line), None
    except ValidationError as error:
        return None, {"outcome": "refused", "problems": shortened(list(flat(error.detail)))}


def became(outcome: Outcome) -> Told:
    """What became of a memory, in short."""
    return {"outcome": outcome.outcome, "memory": str(outcome.memory.id), "reason": outcome.reason}
