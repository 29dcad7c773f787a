"""How two memories bear on each other, by what they state, of whom, and when they hold."""

from memories.models import Memory
from scoring.contradiction import ANOTHER_VALUE, Statement, conflicts
from scoring.predicates import single_valued


def statement(memory: Memory) -> Statement:
    """What a memory states, as the contradiction check reads it."""
    return Statement(memory.content, subject_of(memory), memory.predicate, memory.object)


def subject_of(memory: Memory) -> str:
    """What tells its subject apart, resolved or not; empty where it has none."""
    return str(memory.subject_id or memory.subject_fallback or "")


def opposed(one: Memory, other: Memory) -> tuple[str, ...]:
    """Why two memories cannot be one, nor count for each other."""
    return conflicts(statement(one), statement(other))


def disputes(memory: Memory, reasons: tuple[str, ...]) -> bool:
    """Whether one of two memories must be wrong: who likes tea may like coffee too, but that is not the same."""
    return bool(reasons) and (reasons != (ANOTHER_VALUE,) or single_valued(memory.predicate))


def of_others(one: Memory, other: Memory) -> bool:
    """Whether two memories speak of two subjects: then the same words do not say the same."""
    here, there = subject_of(one), subject_of(other)
    return bool(here and there and here != there)


def in_turn(one: Memory, other: Memory) -> bool:
    """Whether one holds only after the other has ceased to: then they are two, and no contradiction."""
    return any(
        ends.valid_until is not None and begins.valid_from is not None and ends.valid_until <= begins.valid_from
        for ends, begins in ((one, other), (other, one))
    )
