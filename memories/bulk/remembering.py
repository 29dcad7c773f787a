"""Lines that each tell a memory, as `POST memories/` takes it, and what becomes of them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rest_framework.exceptions import ValidationError

from memories.api.memories import validate_memories
from memories.bulk.lines import Batch, Line, value
from memories.models import Namespace
from memories.web.validation_errors import flatten_errors as flat
from memories.web.validation_errors import truncate_errors as shortened
from memories.writing.judge_verdicts import JudgeVerdicts
from memories.writing.new_memory import NewMemory
from memories.writing.prepare import PreparedMemories, prepare_ahead
from memories.writing.remember import Outcome, remember, write_batch

# What is told of a line: its number and its outcome, then the memory and the reason, or the problems.
Told = dict[str, Any]


def remembered(namespace: Namespace, lines: Sequence[Line], *, by: str) -> list[Told]:
    """Remember what the lines tell; one that is refused holds up nobody."""
    items = understood(namespace, lines)
    return told(lines, items, remember(namespace, memories_of(items), by=by))


def remembered_ahead(
    namespace: Namespace, batches: Iterator[Batch], *, by: str
) -> Iterator[tuple[Batch, Callable[[], list[Told]]]]:
    """Give each batch with what remembers it; the next one is read and prepared meanwhile."""
    waiting: deque[tuple[Batch, list[NewMemory | Told]]] = deque()

    def parts() -> Iterator[list[NewMemory]]:
        for some in batches:
            waiting.append((some, understood(namespace, some.lines)))
            yield memories_of(waiting[-1][1])

    def store(
        some: Batch, items: list[NewMemory | Told], ready: PreparedMemories, opinions: JudgeVerdicts
    ) -> list[Told]:
        outcomes = write_batch(namespace, ready, by, dry_run=False, verdicts=opinions) if ready.new_memories else []
        return told(some.lines, items, outcomes)

    for ready in prepare_ahead(namespace, parts()):
        some, items = waiting.popleft()
        # Here, because what stores a batch is called in the transaction of its bookmark.
        yield some, partial(store, some, items, ready, JudgeVerdicts.collect(namespace, ready))


def told(lines: Sequence[Line], items: Iterable[NewMemory | Told], outcomes: Iterable[Outcome]) -> list[Told]:
    """What is told of each line: the outcome of its memory, or why it has none."""
    ended = iter(outcomes)
    results = (became(next(ended)) if isinstance(one, NewMemory) else one for one in items)
    return [{"line": line.number, **result} for line, result in zip(lines, results, strict=True)]


def memories_of(items: Iterable[NewMemory | Told]) -> list[NewMemory]:
    """Those items that can be remembered."""
    return [one for one in items if isinstance(one, NewMemory)]


def understood(namespace: Namespace, lines: Iterable[Line]) -> list[NewMemory | Told]:
    """For each line a memory to be, or what is wrong with it."""
    values = [value_or_refusal(line) for line in lines]
    checked = iter(validate_memories(namespace, [body for body, refusal in values if refusal is None]))
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
