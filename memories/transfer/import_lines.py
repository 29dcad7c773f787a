"""Lines that each hold a memory, as `POST memories/` takes it, and their outcomes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from memories.contracts.json_lines import InvalidLineError, Line, LineBatch, parse_line
from memories.contracts.new_memory import NewMemory
from memories.models import Namespace
from memories.writing.decide import JudgeVerdicts, Outcome
from memories.writing.prepare import PreparedMemories, prepare_ahead
from memories.writing.remember import remember, write_batch

# The line number and outcome, then the memory and the reason, or the problems.
LineOutcome = dict[str, Any]
# For each JSON value a memory to write, or a refusal; the edges own the request schema and pass it in.
MemoryValidator = Callable[[Namespace, Iterable[Any]], list[NewMemory | LineOutcome]]


def import_lines(
    namespace: Namespace, lines: Sequence[Line], validate: MemoryValidator, *, by: str
) -> list[LineOutcome]:
    """Remember the memories of some lines; a refused line does not affect the others."""
    items = memories_or_refusals(namespace, lines, validate)
    return line_outcomes(lines, items, remember(namespace, valid_memories(items), by=by))


def import_batches_ahead(
    namespace: Namespace, batches: Iterator[LineBatch], validate: MemoryValidator, *, by: str
) -> Iterator[tuple[LineBatch, Callable[[], list[LineOutcome]]]]:
    """Yield each batch with a function that stores it; the next batch is prepared meanwhile."""
    waiting: deque[tuple[LineBatch, list[NewMemory | LineOutcome]]] = deque()

    def memory_batches() -> Iterator[list[NewMemory]]:
        for batch in batches:
            waiting.append((batch, memories_or_refusals(namespace, batch.lines, validate)))
            yield valid_memories(waiting[-1][1])

    def store(
        batch: LineBatch, items: list[NewMemory | LineOutcome], prepared: PreparedMemories, verdicts: JudgeVerdicts
    ) -> list[LineOutcome]:
        outcomes = (
            write_batch(namespace, prepared, by, dry_run=False, verdicts=verdicts) if prepared.new_memories else []
        )
        return line_outcomes(batch.lines, items, outcomes)

    for prepared in prepare_ahead(namespace, memory_batches()):
        batch, items = waiting.popleft()
        # Judged here: `store` runs inside the checkpoint's transaction.
        yield batch, partial(store, batch, items, prepared, JudgeVerdicts.collect(namespace, prepared))


def line_outcomes(
    lines: Sequence[Line], items: Iterable[NewMemory | LineOutcome], outcomes: Iterable[Outcome]
) -> list[LineOutcome]:
    """One outcome per line: of its memory, or its refusal."""
    remaining = iter(outcomes)
    results = (outcome_to_dict(next(remaining)) if isinstance(item, NewMemory) else item for item in items)
    return [{"line": line.number, **result} for line, result in zip(lines, results, strict=True)]


def valid_memories(items: Iterable[NewMemory | LineOutcome]) -> list[NewMemory]:
    """The items that are not refusals."""
    return [item for item in items if isinstance(item, NewMemory)]


def memories_or_refusals(
    namespace: Namespace, lines: Iterable[Line], validate: MemoryValidator
) -> list[NewMemory | LineOutcome]:
    """A memory to write for each line, or a refusal."""
    values = [value_or_refusal(line) for line in lines]
    validated = iter(validate(namespace, [value for value, refusal in values if refusal is None]))
    return [refusal or next(validated) for _, refusal in values]


def value_or_refusal(line: Line) -> tuple[Any, LineOutcome | None]:
    """The JSON value of a line, or a refusal."""
    try:
        return parse_line(line), None
    except InvalidLineError as error:
        problems = [{"at": location, "message": message} for location, [message] in error.problems.items()]
        return None, {"outcome": "refused", "problems": problems}


def outcome_to_dict(outcome: Outcome) -> LineOutcome:
    """The outcome of a memory in short."""
    return {"outcome": outcome.outcome, "memory": str(outcome.memory.id), "reason": outcome.reason}
