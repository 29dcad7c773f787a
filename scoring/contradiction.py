"""Signals that two near-identical memories disagree: embeddings do not see them, so they come before any merge."""

import re
from dataclasses import dataclass

from scoring.dedup import normalize

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|stopped|quit|avoids?|dislikes?|hates?|refuses?)\b|n['’]t\b"
)
_VERSION = re.compile(r"\bv?\d+(?:\.\d+)+\b")
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = re.compile(rf"\b({'|'.join(month[:3] + '(?:' + month[3:] + ')?' for month in _MONTHS)})\b")
_NUMBER = re.compile(r"\b\d+(?:[.,:/-]\d+)*\b")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Statement:
    """What is compared: the text, and the triple where there is one."""

    content: str
    subject: str = ""
    predicate: str = ""
    object: str = ""


def conflicts(one: Statement, other: Statement) -> tuple[str, ...]:
    r"""Every reason for which the two cannot be merged; empty where nothing speaks against it.

    $$ \text{negation} \vee \text{number} \vee \text{date} \vee \text{version} \vee \text{roles} \vee \text{value} $$

    >>> conflicts(Statement("Runs PostgreSQL 14"), Statement("Runs PostgreSQL 15"))
    ('another number',)
    >>> conflicts(Statement("Alice reports to Bob"), Statement("Bob reports to Alice"))
    ('swapped roles',)
    """
    a, b = normalize(one.content), normalize(other.content)
    checks = {
        "negation": len(_NEGATION.findall(a)) % 2 != len(_NEGATION.findall(b)) % 2,
        "another version": _differ(_VERSION, a, b),
        "another date": _differ(_MONTH, a, b),
        "another number": _differ(_NUMBER, a, b) and not _differ(_VERSION, a, b),
        "swapped roles": a != b and sorted(_WORD.findall(a)) == sorted(_WORD.findall(b)) and not _differ(_NUMBER, a, b),
        "another value": _another_value(one, other),
    }
    return tuple(reason for reason, holds in checks.items() if holds)


def _differ(pattern: re.Pattern[str], a: str, b: str) -> bool:
    """Both name something of this kind, and not the same."""
    here, there = set(pattern.findall(a)), set(pattern.findall(b))
    return bool(here and there and here != there)


def _another_value(one: Statement, other: Statement) -> bool:
    if not (one.subject and one.predicate and one.object and other.object):
        return False
    same = normalize(one.subject) == normalize(other.subject) and normalize(one.predicate) == normalize(other.predicate)
    return same and normalize(one.object) != normalize(other.object)
