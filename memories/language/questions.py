"""What the form of a question tells of its answer: which kind of thing must stand in it, and who is only described."""

import re
from collections.abc import Iterator
from typing import Literal

from memories.language.capitals import capitalised
from memories.language.stopwords import MONTHS, words

AnswerKind = Literal["", "money", "version", "number", "colour", "name"]


def _any(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PAYING = "costs?|earns?|pays?|paid|spends?|spent|worth|charged?|owes?|makes?|raised?|saved?|donated?"
_PAID = "prices?|costs?|salary|rent|mortgage|debt|bill|fees?|loan|budget|wages?"
# How many is left out: it can be counted from memories that hold no number.
ASKED: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    ("money", _any(rf"\bhow (?:much|expensive)\b.*\b(?:{_PAYING}|{_PAID})\b|\b(?:what|which)\b.*\b(?:{_PAID})\b")),
    ("version", _any(r"\b(?:what|which)\b.*\bversion\b(?! of)")),
    ("number", _any(r"\bhow (?:much|old|tall|heavy|far|large|big)\b")),
    ("number", _any(r"\b(?:what|which)\b.*\b(?:number|percentage|amount|uptime)\b(?! of)")),
    ("colour", _any(r"\b(?:what|which)\b.*\bcolou?rs?\b")),
    ("name", _any(r"\bwhat\b.*\b(?:names? of|called)\b|\bwhat names?\b")),
)
# A reason or a manner may be told without the thing that the question names.
OPEN = _any(r"\W*(?:why|how (?!much|expensive|old|tall|heavy|far|large|big))\b")

_CURRENCY = "dollars?|bucks|cents?|kronor|krona|kr|sek|nok|dkk|euros?|eur|usd|gbp|pounds?|yen|francs?|chf|rupees?"
MONEY = _any(rf"[$€£¥₹]\s?\d|\d[\d.,]*\s?(?:k|m|bn|thousand|million|billion)?\s?(?:(?:{_CURRENCY})\b|[$€£¥₹])")
NUMBERS = words(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand"
    " million dozen couple few several once twice both half single many lot lots"
)
COLOURS = words(
    "red blue green yellow white black brown grey gray orange purple pink golden gold silver beige turquoise navy"
    " violet teal maroon cream"
)
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
YEAR = re.compile(r"(?:19|20)\d\d")
OF_MONTH = _any(rf"(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b")
NEAR = 12  # characters before a figure in which its word stands: September and a point
LETTERS = re.compile(r"[^\W\d_]+")
OWNS = re.compile(r"(?:['’ʼ][sS]|(?<=[sS])['’ʼ])(?!\w)")
RELATIVE = re.compile(r"\w\s(?:that|who|whom|whose|where)\s(?=[a-z])")


def asked_kind(question: str) -> AnswerKind:
    """The kind of thing that a question asks for; none where anything may answer it.

    >>> asked_kind("How much does the house cost?"), asked_kind("Why does it cost so much?")
    ('money', '')
    """
    if OPEN.match(question):
        return ""
    return next((kind for kind, form in ASKED if form.search(question)), "")


def holds(kind: AnswerKind, text: str, question: str = "") -> bool:
    """Whether a text holds such a thing; a date or a time of day is no number, what the question says no new name.

    >>> holds("money", "It costs 1,090 kronor"), holds("number", "Moved on 30 August 2025"), holds("", "Yes")
    (True, False, True)
    >>> holds("name", "Elias: Maya's husband", "What is the name of Elias' school?")
    False
    """
    if kind == "name":
        return any(True for _ in names_beside(question, text))
    if kind == "money":
        return bool(MONEY.search(text))
    if kind == "version":
        return any("." in figure or _names_version(before) for before, figure in figures(text))
    if kind == "number":
        return any(True for _ in figures(text)) or _says(text, NUMBERS)
    return kind != "colour" or _says(text, COLOURS)


def figures(text: str) -> Iterator[tuple[str, str]]:
    """The figures of a text that belong to no date and no time of day, each with what stands before it.

    >>> list(figures("Since 3 May 2024, at 14:30, it runs Python 3.12 on 4 machines"))
    [('Python ', '3.12'), ('on ', '4')]
    """
    for found in FIGURE.finditer(text):
        figure, start = found[0], found.start()
        before = text[max(0, start - NEAR) : start]
        last = before.split()[-1:]
        if ":" in figure or YEAR.fullmatch(figure) or OF_MONTH.match(text, found.end()):
            continue
        if not last or last[0].casefold().rstrip(".,") not in MONTHS:
            yield before[before.rstrip().rfind(" ") + 1 :], figure


def names_beside(question: str, text: str) -> Iterator[str]:
    """The names in a text that its question does not say; an owner's name is not that of the thing.

    >>> list(names_beside("What is the name of Maya's dog?", "Maya's dog Cron knows Alma's cat and Lisbon"))
    ['Cron', 'Lisbon']
    """
    said = set(LETTERS.findall(question.casefold()))
    for name in capitalised(text):
        if not OWNS.match(text, name.end) and said.isdisjoint(LETTERS.findall(name.surface.casefold())):
            yield name.surface


def _names_version(before: str) -> bool:
    """Whether a figure after this is a version: v2, version 2, Python 3."""
    return before in ("v", "V") or (before.endswith(" ") and (before[0].isupper() or before == "version "))


def describes(question: str) -> int | None:
    """Where a question begins to describe somebody by what they do: “the team that owns it”, not “that Maya owns”."""
    found = RELATIVE.search(question)
    return found.start() if found else None


def _says(text: str, listed: frozenset[str]) -> bool:
    return not listed.isdisjoint(LETTERS.findall(text.casefold()))
