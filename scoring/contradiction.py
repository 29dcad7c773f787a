"""Signals that two near-identical memories disagree: embeddings do not see them, so they come before any merge."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring.dedup import normalize
from scoring.predicates import spoken

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
# A sign is a minus only where nothing stands before it: a range and a date have one between two numbers.
_NUMBER = re.compile(r"(?:(?<!\S)[-−])?(?<!\d)\d+(?:[.,:/]\d+)*(?: ?[%°])?")
_AMOUNT = re.compile(r"(?<!\S)[-−]?\d+(?:[.,]\d+)* ?([^\W\d_]+)")
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+){2,}")
_COUNT = re.compile(rf"\b({'|'.join(_COUNTS)})\b")
_WORD = re.compile(r"[^\W\d_]+")

# Every spelling of a unit, and the unit.
UNITS = {
    spelling: spellings.split()[0]
    for spellings in (
        "km kilometre kilometres kilometer kilometers",
        "mi mile miles",
        "m metre metres meter meters",
        "ft foot feet",
        "kg kilo kilos kilogram kilograms",
        "lb lbs pound pounds",
        "g gram grams",
        "l litre litres liter liters",
        "min minute minutes",
        "h hr hour hours",
        "s sec second seconds",
        "day days",
        "week weeks",
        "month months",
        "year years",
        "eur euro euros",
        "usd dollar dollars",
        "kb kilobyte kilobytes",
        "mb megabyte megabytes",
        "gb gigabyte gigabytes",
        "tb terabyte terabytes",
    )
    for spelling in spellings.split()
}
ANOTHER_VALUE = "another value"


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
    """
    a, b = normalize(one.content), normalize(other.content)
    reasons = [reason for reason, read in READINGS.items() if _differ(read(a), read(b))]
    if negated(a) != negated(b):
        reasons.append("negation")
    if _swapped(_WORD.findall(a), _WORD.findall(b)):
        reasons.append("swapped roles")
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
    """Numbers in figures and small ones in words, without thousands' commas; versions are apart."""
    plain = _VERSION.sub(" ", text)
    figures = {re.sub(r",(?=\d{3}(?!\d))", "", figure).replace(" ", "") for figure in _NUMBER.findall(plain)}
    return figures | {str(_COUNTS.index(word)) for word in _COUNT.findall(plain) if word != "one"}


def units(text: str) -> set[str]:
    """What is counted, by its name: five kilometres are not five miles."""
    return {UNITS[word] for word in _AMOUNT.findall(text) if word in UNITS}


def company(text: str) -> set[str]:
    """With or without; “without sugar” alone denies nothing that “black coffee” says."""
    return set(re.findall(r"\bwith(?:out)?\b", text))


READINGS: Mapping[str, Callable[[str], set[str]]] = {
    "with or without": company,
    "another version": versions,
    "another date": dates,
    "another number": numbers,
    "another unit": units,
}


def _differ(here: set[str], there: set[str]) -> bool:
    """Both name something of this kind, and each something the other does not."""
    return bool(here - there and there - here)


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
