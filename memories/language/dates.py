"""When something happens: words for times as intervals, seen from the moment they are said."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memories.language.calendar import SEASONS, Interval, day, months, unit, year
from scoring.contradiction import DAYS, MONTHS

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS).replace("sep(", "sept?(")
_DAY = "|".join(DAYS)
_COUNTS = {"a couple of": 2, "a few": 3, "few": 3, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_COUNTS |= {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "couple of": 2, "couple": 2}
_COUNT = rf"\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}"
_YEAR = r"(?:19|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
# “Three weeks ago” may be off by some days.
_LOOSE = timedelta(days=3)

Reading = Callable[[re.Match[str], date], Interval]


@dataclass(frozen=True)
class Occasion:
    """A time as a text names it: `text[start:end]`; a relative one means something only on the day it is said."""

    when: Interval
    start: int
    end: int
    relative: bool


def occasions(text: str, said_at: datetime) -> list[Occasion]:
    """Find every time that a text names, in its order and without overlap; what lies outside the calendar is none."""
    taken: list[Occasion] = []
    for one in _found(text, said_at.date()):
        if not any(one.start < other.end and other.start < one.end for other in taken):
            taken.append(one)
    return sorted(taken, key=lambda one: one.start)


def _found(text: str, today: date) -> Iterator[Occasion]:
    if text.isascii() and not SIGNS.search(text.lower()):
        return
    for pattern, relative, read in READINGS:
        for match in pattern.finditer(text):
            try:
                yield Occasion(read(match, today), *match.span(), relative)
            except (ValueError, OverflowError):
                continue


def _month_of(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _COUNTS[" ".join(text.casefold().split())]


def _nearest_year(today: date, month: int, past: bool) -> int:
    """The year of a month that comes without one: the last such month, or the next."""
    if past:
        return today.year if month <= today.month else today.year - 1
    return today.year if month >= today.month else today.year + 1


def _dated(match: re.Match[str], today: date) -> Interval:
    number, named = _number(match["day"]), _month_of(match["month"])
    if match["year"]:
        return day(date(int(match["year"]), named, number))
    near = min((date(today.year + ahead, named, number) for ahead in (-1, 0, 1)), key=lambda one: abs(one - today))
    return day(near)


def _in_month(match: re.Match[str], today: date) -> Interval:
    named, which = _month_of(match["month"]), match["which"].casefold()
    past = which == "last" or not (which in ("next", "this coming") or FUTURE.search(match.string))
    return months(_nearest_year(today, named, past), named)


def _ago(match: re.Match[str], today: date) -> Interval:
    return _shifted(match["unit"].casefold(), today, -_count(match["count"]))


def _ahead(match: re.Match[str], today: date) -> Interval:
    if NOT_LATELY.search(match.string[: match.start()]):
        raise ValueError("“not seen in three days” is a length of time")
    return _shifted(match["unit"].casefold(), today, _count(match["count"]))


def _shifted(name: str, today: date, ahead: int) -> Interval:
    """Some units from today, loosely: a day is a day, a week about a week."""
    if name == "day":
        return day(today + timedelta(days=ahead))
    if name == "week":
        return day(today + timedelta(weeks=ahead) - _LOOSE, 2 * _LOOSE.days + 1)
    return unit(name, today, ahead)


def _beside(match: re.Match[str], today: date) -> Interval:
    """Last, this and next, of a unit, a weekday or a season."""
    which, name = match["which"].casefold().split()[-1], match["what"].casefold()
    ahead = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[which]
    if name in DAYS:
        return day(_weekday(DAYS.index(name), today, ahead))
    if name in SEASONS:
        return _season(name, today, ahead)
    if name in ("night", "evening", "morning", "afternoon"):
        return day(today + timedelta(days=ahead))
    return unit(name, today, ahead)


def _weekday(number: int, today: date, ahead: int) -> date:
    """The last such day before today, or the next after it."""
    if ahead < 0:
        return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)


def _season(name: str, today: date, ahead: int) -> Interval:
    first = SEASONS[name]
    own = months(today.year, first, 3)
    if ahead < 0 and own.until.date() > today:
        return months(today.year - 1, first, 3)
    if ahead > 0 and own.start.date() <= today:
        return months(today.year + 1, first, 3)
    return own


def _on_weekday(match: re.Match[str], today: date) -> Interval:
    """A weekday alone: the coming one where something will be, else the last."""
    number = DAYS.index(match["what"].casefold())
    return day(_weekday(number, today, 1 if FUTURE.search(match.string) else -1))


def _today(match: re.Match[str], today: date) -> Interval:
    return day(today + timedelta(days=WORDS[" ".join(match[0].casefold().split())]))


WORDS = {"the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "today": 0, "tonight": 0}
WORDS |= {"tomorrow": 1, "the other day": -3}
FUTURE = re.compile(
    r"\b(?:will|going to|gonna|plan|planning|next|hope|soon|upcoming|looking forward|’ll)\b|'ll\b", re.I
)

NOT_LATELY = re.compile(r"n['’]t\b|\b(?:not|never|nothing|nobody|first|finished|done|all)\b", re.I)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{text})(?!\w)", re.IGNORECASE)


# One of these is in every reading below: most texts have none, and need not be searched for each.
# Sought in small letters: to leave the case open takes three times as long.
_PARTS = ("(?:day|week|month|year)s?", "weekend", "night", "evening", "morning", "afternoon", "ago", "back", "earlier")
SIGNS = re.compile(rf"\d|\b(?:{'|'.join((*_PARTS, _MONTH, _DAY, *SEASONS, *WORDS))})\b")

# Whether the words mean something only on the day they are said; the first that fits a place wins.
READINGS: tuple[tuple[re.Pattern[str], bool, Reading], ...] = (
    (
        _pattern(rf"(?P<y>{_YEAR})-(?P<m>\d\d)-(?P<d>\d\d)"),
        False,
        lambda match, _: day(date(int(match["y"]), int(match["m"]), int(match["d"]))),
    ),
    (_pattern(rf"(?P<day>{_NTH}) (?:of )?(?P<month>{_MONTH})\.?(?:,? (?P<year>{_YEAR}))?"), False, _dated),
    (_pattern(rf"(?P<month>{_MONTH})\.? (?P<day>{_NTH})(?:,? (?P<year>{_YEAR}))?"), False, _dated),
    (
        _pattern(rf"(?P<month>{_MONTH})\.?,? (?:of )?(?P<year>{_YEAR})"),
        False,
        lambda match, _: months(int(match["year"]), _month_of(match["month"])),
    ),
    (
        _pattern(rf"Q(?P<q>[1-4])[ /-]?(?P<year>{_YEAR})"),
        False,
        lambda match, _: months(int(match["year"]), 3 * int(match["q"]) - 2, 3),
    ),
    (
        _pattern(rf"(?P<season>{'|'.join(SEASONS)}) (?:of )?(?P<year>{_YEAR})"),
        False,
        lambda match, _: months(int(match["year"]), SEASONS[match["season"].casefold()], 3),
    ),
    (_pattern(rf"(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s? (?:ago|back|earlier)"), True, _ago),
    (_pattern(rf"in (?:about )?(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?(?: time)?"), True, _ahead),
    (_pattern("|".join(sorted(WORDS, key=len, reverse=True))), True, _today),
    (
        _pattern(
            rf"(?<!the )(?P<which>last|past|previous|this coming|this past|this|next|coming)"
            rf" (?P<what>{_DAY}|weekend|week|month|year|night|evening|morning|afternoon|{'|'.join(SEASONS)})"
        ),
        True,
        _beside,
    ),
    (_pattern(rf"(?P<which>last|this coming|this|next|in|since|until|by) (?P<month>{_MONTH})"), True, _in_month),
    (_pattern(rf"(?:on |since |until |by )(?P<what>{_DAY})"), True, _on_weekday),
    (_pattern(rf"(?:in|since|during|back in|of|from|by) (?P<year>{_YEAR})"), False, lambda m, _: year(int(m["year"]))),
)
