"""How two memories relate: by what they state, about whom, and when they are valid."""

import re
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from memories.models import Memory
from scoring.contradiction import FactStatement, conflicts, contradicts, implies_subject, restates
from scoring.dedup import normalize
from scoring.wording import FIRST_PERSON

# Subjects by which extractors call the user.
USER_SUBJECTS = FIRST_PERSON | {"user", "the user", "speaker", "the speaker", "self", "myself"}
ABOUT_USER = re.compile(rf"(?:the )?user\b|.*\b(?:{'|'.join(sorted(FIRST_PERSON))})\b", re.IGNORECASE | re.DOTALL)

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


def are_restatements(memory: Memory, other: Memory) -> bool:
    """Whether two memories say the same for certain, so that a high cosine merges them."""
    return restates(memory_statement(memory), memory_statement(other))


def contradiction_reason(memory: Memory, other: Memory) -> str:
    """Why two memories cannot both hold, so that the later makes the earlier outdated; empty if that is not certain."""
    if are_unrelated(memory, other):
        return ""
    statement, other_statement = memory_statement(memory), memory_statement(other)
    if different_subjects(memory, other):
        return contradicts(statement, other_statement) if mention_each_other(memory, other) else ""
    if statement.subject and other_statement.subject:
        # One was stored before the subject was registered, so that it has another key.
        other_statement = replace(other_statement, subject=statement.subject)
    reason = contradicts(statement, other_statement)
    return "" if reason and may_differ_in_subject(memory, other) else reason


def may_differ_in_subject(memory: Memory, other: Memory) -> bool:
    """Whether one memory names a subject, and the other neither names one nor states one in its text."""
    for named, bare in ((memory, other), (other, memory)):
        if memory_subject_key(named) and not memory_subject_key(bare) and implies_subject(bare.content):
            return True
    return False


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
    """Whether two memories of different users are each about its own user: they share no subject named by both.

    A memory without a user is the namespace's own: it is no user's, and is kept apart from what one says of themselves.
    """
    return memory.user != other.user and (is_about_user(memory) or is_about_user(other))


def is_about_user(memory: Memory) -> bool:
    """Whether a memory is about its user: it names no subject, or calls the subject “I”, “the user” or by the id."""
    subject = normalize(memory.subject_surface)
    if not memory_subject_key(memory) or subject in USER_SUBJECTS or subject == normalize(memory.user):
        return True
    if ABOUT_USER.match(memory.content):
        return True
    if memory.subject_id is not None:
        return False
    # “allergies” is an attribute of the user, “allergies: peanuts” too; a subject that a sentence names is a thing.
    content = normalize(memory.content)
    return content.startswith(f"{subject}:") or not word_set(subject) <= word_set(content)


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
