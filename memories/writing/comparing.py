"""How two memories bear on each other, by what they state, of whom, and when they hold."""

import re
from datetime import datetime
from hashlib import sha256

from memories.models import Memory
from scoring.contradiction import ANOTHER_VALUE, SWAPPED_ROLES, Statement, conflicts
from scoring.dedup import normalize
from scoring.predicates import single_valued

# What the comparison reads of a memory.
COMPARED = (
    "content",
    "subject_id",
    "subject_fallback",
    "subject_surface",
    "predicate",
    "object",
    "user",
    "created_at",
    "happened_at",
    "valid_from",
    "valid_until",
)


def statement(memory: Memory) -> Statement:
    """What a memory states, as the contradiction check reads it."""
    return Statement(memory.content, subject_of(memory), memory.predicate, memory.object)


def subject_of(memory: Memory) -> str:
    """What tells its subject apart, resolved or not; empty where it has none."""
    return str(memory.subject_id or memory.subject_fallback or "")


def opposed(one: Memory, other: Memory) -> tuple[str, ...]:
    """Why two memories cannot be one, nor count for each other."""
    return conflicts(statement(one), statement(other))


def disputes(one: Memory, other: Memory, reasons: tuple[str, ...]) -> bool:
    """Whether one of two memories must be wrong: who likes tea may like coffee too, and two may differ in all else."""
    if of_others(one, other):
        return SWAPPED_ROLES in reasons and of_both(one, other)
    return bool(reasons) and (reasons != (ANOTHER_VALUE,) or single_valued(one.predicate))


def of_others(one: Memory, other: Memory) -> bool:
    """Whether two memories speak of two subjects: then the same words do not say the same."""
    here, there = subject_of(one), subject_of(other)
    if not (here and there) or here == there:
        return False
    # Of two that are called the same, one was told before anybody knew who is meant.
    known = bool(one.subject_id and other.subject_id)
    return known or normalize(one.subject_surface) != normalize(other.subject_surface)


def of_both(one: Memory, other: Memory) -> bool:
    """Whether each of two memories names the other's subject, by one of the words that tell the two apart."""
    names = words(one.subject_surface), words(other.subject_surface)
    return bool((names[0] - names[1]) & words(other.content) and (names[1] - names[0]) & words(one.content))


def elsewhere(one: Memory, other: Memory) -> bool:
    """Whether two memories speak of two subjects and not of both: then they may agree, but never oppose each other."""
    return of_others(one, other) and not of_both(one, other)


def words(text: str) -> set[str]:
    """The words of a text, whatever their form."""
    return set(re.findall(r"\w+", normalize(text)))


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
