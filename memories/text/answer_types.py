"""The expected answer type of a question, and whether a text contains one."""

import re
from collections.abc import Iterator
from typing import Literal

from memories.text.capitalised_names import capitalised_mentions
from memories.text.stopwords import MONTHS, parse_words

AnswerType = Literal["", "money", "version", "number", "colour", "name"]


def _query_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PAYING = "costs?|earns?|pays?|paid|spends?|spent|worth|charged?|owes?|makes?|raised?|saved?|donated?"
_PAID = "prices?|costs?|salary|rent|mortgage|debt|bill|fees?|loan|budget|wages?"
# “How many” is left out: the answer may be counted from memories that hold no number.
ANSWER_TYPE_PATTERNS: tuple[tuple[AnswerType, re.Pattern[str]], ...] = (
    (
        "money",
        _query_pattern(rf"\bhow (?:much|expensive)\b.*\b(?:{_PAYING}|{_PAID})\b|\b(?:what|which)\b.*\b(?:{_PAID})\b"),
    ),
    ("version", _query_pattern(r"\b(?:what|which)\b.*\bversion\b(?! of)")),
    ("number", _query_pattern(r"\bhow (?:much|old|tall|heavy|far|large|big)\b")),
    ("number", _query_pattern(r"\b(?:what|which)\b.*\b(?:number|percentage|amount|uptime)\b(?! of)")),
    ("colour", _query_pattern(r"\b(?:what|which)\b.*\bcolou?rs?\b")),
    ("name", _query_pattern(r"\bwhat\b.*\b(?:names? of|called)\b|\bwhat names?\b")),
)
# A reason or manner needs no particular answer type.
OPEN_QUESTION = _query_pattern(r"\W*(?:why|how (?!much|expensive|old|tall|heavy|far|large|big))\b")

_CURRENCY = "dollars?|bucks|cents?|kronor|krona|kr|sek|nok|dkk|euros?|eur|usd|gbp|pounds?|yen|francs?|chf|rupees?"
MONEY = _query_pattern(
    rf"[$€£¥₹]\s?\d|\d[\d.,]*\s?(?:k|m|bn|thousand|million|billion)?\s?(?:(?:{_CURRENCY})\b|[$€£¥₹])"
)
NUMBERS = parse_words(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand"
    " million dozen couple few several once twice both half single many lot lots"
)
COLOURS = parse_words(
    "red blue green yellow white black brown grey gray orange purple pink golden gold silver beige turquoise navy"
    " violet teal maroon cream"
)
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
YEAR = re.compile(r"(?:19|20)\d\d")
OF_MONTH = _query_pattern(rf"(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b")
LOOKBEHIND = 12  # characters before a number that may hold its month: “September.”
LETTERS = re.compile(r"[^\W\d_]+")
POSSESSIVE = re.compile(r"(?:['’ʼ][sS]|(?<=[sS])['’ʼ])(?!\w)")
RELATIVE = re.compile(r"\w\s(?:that|who|whom|whose|where)\s(?=[a-z])")


def expected_answer_type(query: str) -> AnswerType:
    """The answer type a question asks for; empty if anything may answer it.

    >>> expected_answer_type("How much does the house cost?"), expected_answer_type("Why does it cost so much?")
    ('money', '')
    """
    if OPEN_QUESTION.match(query):
        return ""
    return next((answer_type for answer_type, pattern in ANSWER_TYPE_PATTERNS if pattern.search(query)), "")


def contains_answer_type(answer_type: AnswerType, text: str, query: str = "") -> bool:
    """Whether a text contains an answer of this type.

    Dates and times are not numbers, and a name from the question is not an answer.

    >>> contains_answer_type("money", "It costs 1,090 kronor"), contains_answer_type("", "Yes")
    (True, True)
    >>> contains_answer_type("number", "Moved on 30 August 2025")
    False
    >>> contains_answer_type("name", "Elias: Maya's husband", "What is the name of Elias' school?")
    False
    """
    if answer_type == "name":
        return any(True for _ in new_names(query, text))
    if answer_type == "money":
        return bool(MONEY.search(text))
    if answer_type == "version":
        return any("." in number or _is_version_prefix(before) for before, number in numbers_in(text))
    if answer_type == "number":
        return any(True for _ in numbers_in(text)) or _contains_word(text, NUMBERS)
    return answer_type != "colour" or _contains_word(text, COLOURS)


def numbers_in(text: str) -> Iterator[tuple[str, str]]:
    """The numbers of a text that belong to no date or time, each with the text before it.

    >>> list(numbers_in("Since 3 May 2024, at 14:30, it runs Python 3.12 on 4 machines"))
    [('Python ', '3.12'), ('on ', '4')]
    """
    for match in NUMBER.finditer(text):
        number, start = match[0], match.start()
        before = text[max(0, start - LOOKBEHIND) : start]
        last = before.split()[-1:]
        if ":" in number or YEAR.fullmatch(number) or OF_MONTH.match(text, match.end()):
            continue
        if not last or last[0].casefold().rstrip(".,") not in MONTHS:
            yield before[before.rstrip().rfind(" ") + 1 :], number


def new_names(query: str, text: str) -> Iterator[str]:
    """The names in a text that are not in the question; possessives are skipped.

    >>> list(new_names("What is the name of Maya's dog?", "Maya's dog Cron knows Alma's cat and Lisbon"))
    ['Cron', 'Lisbon']
    """
    query_words = set(LETTERS.findall(query.casefold()))
    for mention in capitalised_mentions(text):
        if not POSSESSIVE.match(text, mention.end) and query_words.isdisjoint(
            LETTERS.findall(mention.surface.casefold())
        ):
            yield mention.surface


def _is_version_prefix(before: str) -> bool:
    """Whether the number after this is a version: v2, version 2, Python 3."""
    return before in ("v", "V") or (before.endswith(" ") and (before[0].isupper() or before == "version "))


def relative_clause_start(query: str) -> int | None:
    """The start of a relative clause that describes somebody: “the team that owns it”, not “that Maya owns”."""
    match = RELATIVE.search(query)
    return match.start() if match else None


def _contains_word(text: str, vocabulary: frozenset[str]) -> bool:
    return not vocabulary.isdisjoint(LETTERS.findall(text.casefold()))
