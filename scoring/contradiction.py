"""Lexical signals that two similar memories disagree, checked before a merge: embeddings do not separate them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring.dedup import normalize
from scoring.predicates import normalize_predicate
from scoring.units import measures

_NEGATION = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|stopped|quit|avoids?|dislikes?|hates?|refuses?|declined?)\b"
    r"|n['’]t\b|\bno\b(?!\.? ?\d)"  # “No. 5” is a number
)
MONTHS = [
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
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
# A month is named in full or by its first three letters; “may” is a month only in a temporal context.
_MAY = r"(?<=\d )may|(?<=\bin )may|(?<=\bof )may|(?<=\blast )may|(?<=\bnext )may|(?<=\bsince )may|may(?= \d)"
_MONTH = re.compile(rf"\b({'|'.join(m[:3] + f'(?:{m[3:]})?' for m in MONTHS if m != 'may')}|{_MAY})\b")
_DAY = re.compile(rf"\b({'|'.join(DAYS)})s?\b")
# A minus sign precedes a number; a dash between two numbers is a range.
_NUMBER = re.compile(r"((?<![^\s(])[-−]|\bminus )?((?<!\d)\d+(?:[.,:/]\d+)*)( ?%| per ?cent\b)?")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+){2,}")
_COUNT = re.compile(rf"\b({'|'.join(count for count in _COUNTS if count != 'one')})\b")
_WORD = re.compile(r"[^\W\d_]+")
_SIGNED = re.compile(r"(?<!\w)([^\W\d_]+)(\+\+|#)?(?!\w)")  # C, C++, C#

DIFFERENT_VALUE = "another value"
SWAPPED_ROLES = "swapped roles"


@dataclass(frozen=True)
class FactStatement:
    """Text of a memory, with its triple if it has one."""

    content: str
    subject: str = ""
    predicate: str = ""
    object: str = ""


def conflicts(one: FactStatement, other: FactStatement) -> tuple[str, ...]:
    r"""The reasons why two memories must not be merged; empty if there are none.

    $$ \text{negation} \vee \text{number} \vee \text{unit} \vee \text{sign} \vee \text{date} \vee \text{version}
       \vee \text{roles} \vee \text{value} $$

    >>> conflicts(FactStatement("Runs PostgreSQL 14"), FactStatement("Runs PostgreSQL 15"))
    ('another number',)
    """
    a, b = (normalize(statement.content) or statement.content for statement in (one, other))
    reasons = [reason for reason, values in ASPECTS.items() if _differ(values(a), values(b))]
    if is_negated(a) != is_negated(b):
        reasons.append("negation")
    if _signs_differ(a, b):
        reasons.append("another sign")
    if _roles_swapped(_WORD.findall(a), _WORD.findall(b)):
        reasons.append(SWAPPED_ROLES)
    if _values_differ(one, other):
        reasons.append(DIFFERENT_VALUE)
    return tuple(reasons)


def is_negated(text: str) -> bool:
    """Whether a text is negated; a double negation is not."""
    return len(_NEGATION.findall(text)) % 2 == 1


def versions(text: str) -> set[str]:
    """Version numbers with three or more parts."""
    return set(_VERSION.findall(text))


def dates(text: str) -> set[str]:
    """Months and weekdays, normalised."""
    return {month[:3] for month in _MONTH.findall(text)} | set(_DAY.findall(text))


def numbers(text: str) -> set[str]:
    """Signed numbers and percentages, without versions.

    >>> sorted(numbers("minus five degrees, 1,000 crowns, 7 per cent"))
    ['-5', '1000', '7%']
    """
    return {
        f"{'-' if minus else ''}{digits}{'%' if percent else ''}"
        for minus, digits, percent in _NUMBER.findall(_normalize_numbers(text))
    }


def amounts(text: str) -> set[str]:
    """Numbers with their units."""
    return measures(_normalize_numbers(text))


def with_or_without(text: str) -> set[str]:
    """“with” and “without” in the text; “without sugar” does not contradict “black coffee”."""
    return set(re.findall(r"\bwith(?:out)?\b", text))


ASPECTS: Mapping[str, Callable[[str], set[str]]] = {
    "with or without": with_or_without,
    "another version": versions,
    "another date": dates,
    "another number": numbers,
    "another unit": amounts,
}


def _normalize_numbers(text: str) -> str:
    """The text with number words as digits, without thousands separators and versions."""
    digits = _COUNT.sub(lambda match: str(_COUNTS.index(match[1])), _VERSION.sub(" ", text))
    return _THOUSANDS.sub("", digits)


def _differ(first: set[str], second: set[str]) -> bool:
    """Whether each set has an element the other lacks."""
    return bool(first - second and second - first)


def _signs_differ(a: str, b: str) -> bool:
    """Whether the same name has a different suffix (C++, C#), or texts without letters differ."""
    if not re.search(r"\w", a + b):
        return a != b
    first, second = (set(_SIGNED.findall(text)) for text in (a, b))
    signed = {name for name, sign in first | second if sign}
    return _differ(*({name + sign for name, sign in names if name in signed} for names in (first, second)))


def _roles_swapped(a: list[str], b: list[str]) -> bool:
    """Whether exactly two shared words changed places; one extra word on either side is ignored."""
    shared = set(a) & set(b)
    first, second = [word for word in a if word in shared], [word for word in b if word in shared]
    if first == second or len(shared) < max(len(set(a)), len(set(b))) - 1 or sorted(first) != sorted(second):
        return False
    return sum(x != y for x, y in zip(first, second, strict=True)) == 2


def _values_differ(one: FactStatement, other: FactStatement) -> bool:
    if not (one.subject and one.predicate and one.object and other.object):
        return False
    same_subject = normalize(one.subject) == normalize(other.subject)
    same_predicate = normalize_predicate(one.predicate) == normalize_predicate(other.predicate)
    return same_subject and same_predicate and normalize(one.object) != normalize(other.object)
