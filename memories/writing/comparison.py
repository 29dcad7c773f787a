"""How two memories relate: by what they state, about whom, and when they are valid."""

import re
from datetime import datetime
from hashlib import sha256

from memories.models import Memory
from scoring.contradiction import DIFFERENT_VALUE, SWAPPED_ROLES, FactStatement, conflicts
from scoring.dedup import normalize
from scoring.predicates import is_single_valued

# Columns the comparison reads.
COMPARED_COLUMNS = (
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


def memory_statement(memory: Memory) -> FactStatement:
    """A memory as input of the contradiction check."""
    return FactStatement(memory.content, memory_subject_key(memory), memory.predicate, memory.object)


def memory_subject_key(memory: Memory) -> str:
    """The key of a memory's subject, resolved or not; empty if it has none."""
    return str(memory.subject_id or memory.subject_fallback or "")


def conflict_reasons(memory: Memory, other: Memory) -> tuple[str, ...]:
    """Why two memories can neither be merged nor corroborate each other."""
    return conflicts(memory_statement(memory), memory_statement(other))


def is_contradiction(memory: Memory, other: Memory, reasons: tuple[str, ...]) -> bool:
    """Whether two memories contradict each other: another value does so only for a single-valued predicate."""
    if different_subjects(memory, other):
        return SWAPPED_ROLES in reasons and mention_each_other(memory, other)
    return bool(reasons) and (reasons != (DIFFERENT_VALUE,) or is_single_valued(memory.predicate))


def different_subjects(memory: Memory, other: Memory) -> bool:
    """Whether two memories have different subjects, so that equal text means different statements."""
    first, second = memory_subject_key(memory), memory_subject_key(other)
    if not (first and second) or first == second:
        return False
    # With equal surface forms, one was stored before its subject was registered.
    resolved = bool(memory.subject_id and other.subject_id)
    return resolved or normalize(memory.subject_surface) != normalize(other.subject_surface)


def mention_each_other(memory: Memory, other: Memory) -> bool:
    """Whether each memory mentions the other's subject by a word the two subjects do not share."""
    surfaces = word_set(memory.subject_surface), word_set(other.subject_surface)
    return bool(
        (surfaces[0] - surfaces[1]) & word_set(other.content) and (surfaces[1] - surfaces[0]) & word_set(memory.content)
    )


def unrelated_subjects(memory: Memory, other: Memory) -> bool:
    """Whether two memories have different subjects and do not mention each other's: no contradiction is possible."""
    return different_subjects(memory, other) and not mention_each_other(memory, other)


def word_set(text: str) -> set[str]:
    """The normalised words of a text."""
    return set(re.findall(r"\w+", normalize(text)))


def different_users(memory: Memory, other: Memory) -> bool:
    """Whether two memories have no subject and come from different users: each is about its own user."""
    return (
        not (memory_subject_key(memory) or memory_subject_key(other))
        and bool(memory.user and other.user)
        and memory.user != other.user
    )


def are_unrelated(memory: Memory, other: Memory) -> bool:
    """Whether two memories can neither support nor contradict each other: different users or validity periods."""
    return different_users(memory, other) or are_consecutive(memory, other)


def are_consecutive(memory: Memory, other: Memory) -> bool:
    """Whether one memory becomes valid only after the other has expired."""
    return any(has_expired(earlier, valid_start(later)) for earlier, later in ((memory, other), (other, memory)))


def has_expired(memory: Memory, at: datetime) -> bool:
    """Whether a memory has expired by then."""
    return memory.valid_until is not None and memory.valid_until <= at


def valid_start(memory: Memory) -> datetime:
    """Start of a memory's validity; defaults to when it happened or was created."""
    return memory.valid_from or memory.happened_at or memory.created_at


def are_distinct(memory: Memory, other: Memory) -> bool:
    """Whether two memories with equal text are distinct: other user, other validity period or other value."""
    return are_unrelated(memory, other) or bool(conflict_reasons(memory, other))


def disambiguated_hash(memory: Memory) -> bytes:
    """A hash for a memory whose text now identifies another one."""
    return sha256(bytes(memory.content_hash) + memory.id.bytes).digest()
