"""How a step goes on piece by piece, and tells examples of what it found."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from memories.jobs.work import Work

PIECE = 200  # memories in one transaction: short enough to let others write
EXAMPLES = 50  # of each thing found; the rest is counted

T = TypeVar("T")


def parts(things: Sequence[T], size: int = PIECE) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces."""
    return (things[start : start + size] for start in range(0, len(things), size))


def left(work: Work, things: Sequence[T]) -> Sequence[T]:
    """Those of some things, sorted as they are spelt, that earlier attempts at a step did not come to."""
    return [one for one in things if str(one) > work.step_result.get("through", "")]


def tell(work: Work, what: str, example: Any) -> None:
    """Keep an example of what was found, unless there are enough."""
    examples = work.step_result.setdefault(what, [])
    if len(examples) < EXAMPLES:
        examples.append(example)
