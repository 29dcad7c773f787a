"""Signals that two near-identical memories disagree: embeddings do not see them, so they come before any merge."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring.dedup import normalize
from scoring.predicates import spoken
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
# A month is named in full or by its first three letters; “may” is a month only where a time is told.
_MAY = r"(?<=\d )may|(?<=\bin )may|(?<=\bof )may|(?<=\blast )may|(?<=\bnext )may|(?<=\bsince )may|may(?= \d)"
_MONTH = re.compile(rf"\b({'|'.join(m[:3] + f'(?:{m[3:]})?' for m in MONTHS if m != 'may')}|{_MAY})\b")
_DAY = re.compile(rf"\b({'|'.join(DAYS)})s?\b")
# A minus sign stands before a number, and not between two.
_NUMBER = re.compile(r"((?<![^\s(])[-−]|\bminus )?((?<!\d)\d+(?:[.,:/]\d+)*)( ?%| per ?cent\b)?")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+){2,}")
_COUNT = re.compile(rf"\b({'|'.join(count for count in _COUNTS if count != 'one')})\b")
_WORD = re.compile(r"[^\W\d_]+")
_SIGNED = re.compile(r"(?<!\w)([^\W\d_]+)(\+\+|#)?(?!\w)")  # C, C++, C#

ANOTHER_VALUE = "another value"
SWAPPED_ROLES = "swapped roles"


@dataclass(frozen=True)
class Statement:
    """What is compared: the text, and the triple where there is one."""

    content: str
    subject: str = ""
    predicate: str = ""
    object: str = ""


def conflicts(one: Statement, other: Statement) -> tuple[str, ...]:
    r"""Every reason for which the two cannot be merged; empty where nothing speaks against it.

    $$ \text{negation} \vee \text{number} \vee \text{unit} \vee \text{sign} \vee \text{date} \vee \text{version}
       \vee \text{roles} \vee \text{value} $$

    >>> conflicts(Statement("Runs PostgreSQL 14"), Statement("Runs PostgreSQL 15"))
    ('another number',)
    """
    a, b = (normalize(each.content) or each.content for each in (one, other))
    reasons = [reason for reason, read in READINGS.items() if _differ(read(a), read(b))]
    if negated(a) != negated(b):
        reasons.append("negation")
    if _another_sign(a, b):
        reasons.append("another sign")
    if _swapped(_WORD.findall(a), _WORD.findall(b)):
        reasons.append(SWAPPED_ROLES)
    if _another_value(one, other):
        reasons.append(ANOTHER_VALUE)
    return tuple(reasons)


def negated(text: str) -> bool:
    """Whether a text denies something; what is denied twice is said."""
    return len(_NEGATION.findall(text)) % 2 == 1


def versions(text: str) -> set[str]:
    """Versions of three parts and more."""
    return set(_VERSION.findall(text))


def dates(text: str) -> set[str]:
    """Months and days of the week, whatever their spelling."""
    return {month[:3] for month in _MONTH.findall(text)} | set(_DAY.findall(text))


def numbers(text: str) -> set[str]:
    """Numbers with their sign, and whether they are a share; versions are apart.

    >>> sorted(numbers("minus five degrees, 1,000 crowns, 7 per cent"))
    ['-5', '1000', '7%']
    """
    return {
        f"{'-' if minus else ''}{figure}{'%' if share else ''}"
        for minus, figure, share in _NUMBER.findall(_plain(text))
    }


def amounts(text: str) -> set[str]:
    """Numbers with what they count."""
    return measures(_plain(text))


def company(text: str) -> set[str]:
    """With or without; “without sugar” alone denies nothing that “black coffee” says."""
    return set(re.findall(r"\bwith(?:out)?\b", text))


READINGS: Mapping[str, Callable[[str], set[str]]] = {
    "with or without": company,
    "another version": versions,
    "another date": dates,
    "another number": numbers,
    "another unit": amounts,
}


def _plain(text: str) -> str:
    """A text with small numbers in figures and without thousands' commas or versions."""
    figures = _COUNT.sub(lambda at: str(_COUNTS.index(at[1])), _VERSION.sub(" ", text))
    return _THOUSANDS.sub("", figures)


def _differ(here: set[str], there: set[str]) -> bool:
    """Both name something of this kind, and each something the other does not."""
    return bool(here - there and there - here)


def _another_sign(a: str, b: str) -> bool:
    """The same name with another sign behind it, or texts of nothing but signs."""
    if not re.search(r"\w", a + b):
        return a != b
    here, there = (set(_SIGNED.findall(text)) for text in (a, b))
    signed = {name for name, sign in here | there if sign}
    return _differ(*({name + sign for name, sign in names if name in signed} for names in (here, there)))


def _swapped(a: list[str], b: list[str]) -> bool:
    """The same words, but two of them have changed places; a word more on one side does not hide it."""
    shared = set(a) & set(b)
    here, there = [word for word in a if word in shared], [word for word in b if word in shared]
    if here == there or len(shared) < max(len(set(a)), len(set(b))) - 1 or sorted(here) != sorted(there):
        return False
    return sum(x != y for x, y in zip(here, there, strict=True)) == 2


def _another_value(one: Statement, other: Statement) -> bool:
    if not (one.subject and one.predicate and one.object and other.object):
        return False
    same = normalize(one.subject) == normalize(other.subject) and spoken(one.predicate) == spoken(other.predicate)
    return same and normalize(one.object) != normalize(other.object)
