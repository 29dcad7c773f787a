"""How two memories bear on each other, by what they state, of whom, and when they hold."""

from datetime import datetime
from hashlib import sha256

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


def of_two_users(one: Memory, other: Memory) -> bool:
    """Whether two memories name no subject and were told by two users: then each is about the one who told it."""
    return not (subject_of(one) or subject_of(other)) and bool(one.user and other.user) and one.user != other.user


def unrelated(one: Memory, other: Memory) -> bool:
    """Whether two memories neither back nor oppose each other, whatever they say: of two people, or of two times."""
    return of_two_users(one, other) or in_turn(one, other)


def in_turn(one: Memory, other: Memory) -> bool:
    """Whether one holds only after the other has ceased to: then they are two, and no contradiction."""
    return any(over(ends, beginning(begins)) for ends, begins in ((one, other), (other, one)))


def over(memory: Memory, moment: datetime) -> bool:
    """Whether a memory has ceased to hold by then."""
    return memory.valid_until is not None and memory.valid_until <= moment


def beginning(memory: Memory) -> datetime:
    """From when on a memory holds; where that is not said, from when it was."""
    return memory.valid_from or memory.happened_at or memory.created_at


def apart(one: Memory, other: Memory) -> bool:
    """Whether two memories of the same words are two: of two people, of two times, or of two values."""
    return unrelated(one, other) or bool(opposed(one, other))


def hash_beside(memory: Memory) -> bytes:
    """The hash of a memory whose words stand for another one."""
    return sha256(bytes(memory.content_hash) + memory.id.bytes).digest()
