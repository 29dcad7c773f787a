"""Date expressions in a text as intervals, relative to when it was said."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta

from memories.text.intervals import SEASONS, TimeInterval, day_interval, months_interval, unit_interval, year_interval
from scoring.specificity import TemporalCue
from scoring.wording import DAYS, MONTHS

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS).replace("sep(", "sept?(")
_DAY = "|".join(DAYS)
_COUNTS = {"a couple of": 2, "a few": 3, "few": 3, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_COUNTS |= {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "couple of": 2, "couple": 2}
_COUNT = rf"\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}"
_YEAR = r"(?:19|20)\d\d"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
MAX_YEARS_BETWEEN = 8  # two 29ths of February
# “Three weeks ago” is imprecise by a few days.
_TOLERANCE = timedelta(days=3)

DateParser = Callable[[re.Match[str], date], TimeInterval]


@dataclass(frozen=True)
class DateMention:
    """A date expression at `text[start:end]`, and how precise it is."""

    when: TimeInterval
    start: int
    end: int
    cue: TemporalCue

    @property
    def relative(self) -> bool:
        """Whether it depends on the day it was said."""
        return self.cue == "relative"


def date_mentions(text: str, said_at: datetime) -> list[DateMention]:
    """All date expressions of a text, in order and without overlap; dates out of range are skipped."""
    mentions: list[DateMention] = []
    for mention in _match_dates(text, said_at.date()):
        if not any(mention.start < other.end and other.start < mention.end for other in mentions):
            mentions.append(mention)
    return sorted(mentions, key=lambda mention: mention.start)


def _match_dates(text: str, today: date) -> Iterator[DateMention]:
    if text.isascii() and not DATE_HINTS.search(text.lower()):
        return
    for pattern, cue, parse in DATE_PATTERNS:
        for match in pattern.finditer(text):
            try:
                yield DateMention(parse(match, today), *match.span(), cue)
            except (ValueError, OverflowError):
                continue


def _month_of(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _parse_number(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def _parse_count(text: str) -> int:
    return int(text) if text.isdigit() else _COUNTS[" ".join(text.casefold().split())]


def _nearest_year(today: date, month: int, past: bool) -> int:
    """The year of a month given without one: the last such month, or the next."""
    if past:
        return today.year if month <= today.month else today.year - 1
    return today.year if month >= today.month else today.year + 1


def _day_of_month(match: re.Match[str], today: date) -> TimeInterval:
    day_number, month = _parse_number(match["day"]), _month_of(match["month"])
    if match["year"]:
        return day_interval(date(int(match["year"]), month, day_number))
    years = range(max(today.year - MAX_YEARS_BETWEEN, MINYEAR), min(today.year + MAX_YEARS_BETWEEN, MAXYEAR) + 1)
    days = (date(year, month, day_number) for year in years if day_number <= monthrange(year, month)[1])
    nearest = min(days, key=lambda candidate: abs(candidate - today), default=None)
    if nearest is None:
        raise ValueError(f"no year has a {match[0]}")
    return day_interval(nearest)


def _in_month(match: re.Match[str], today: date) -> TimeInterval:
    month, which = _month_of(match["month"]), match["which"].casefold()
    past = which == "last" or not (which in ("next", "this coming") or FUTURE.search(match.string))
    return months_interval(_nearest_year(today, month, past), month)


def _in_past(match: re.Match[str], today: date) -> TimeInterval:
    return _shift_loosely(match["unit"].casefold(), today, -_parse_count(match["count"]))


def _in_future(match: re.Match[str], today: date) -> TimeInterval:
    if DURATION_CUES.search(match.string[: match.start()]):
        raise ValueError("“not seen in three days” is a length of time")
    return _shift_loosely(match["unit"].casefold(), today, _parse_count(match["count"]))


def _shift_loosely(name: str, today: date, ahead: int) -> TimeInterval:
    """A date some units from today: exact for days, a tolerance for weeks."""
    if name == "day":
        return day_interval(today + timedelta(days=ahead))
    if name == "week":
        return day_interval(today + timedelta(weeks=ahead) - _TOLERANCE, 2 * _TOLERANCE.days + 1)
    return unit_interval(name, today, ahead)


def _relative_unit(match: re.Match[str], today: date) -> TimeInterval:
    """Last, this or next unit, weekday or season."""
    which, name = match["which"].casefold().split()[-1], match["what"].casefold()
    ahead = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[which]
    if name in DAYS:
        return day_interval(_weekday(DAYS.index(name), today, ahead))
    if name in SEASONS:
        return _season(name, today, ahead)
    if name in ("night", "evening", "morning", "afternoon"):
        return day_interval(today + timedelta(days=ahead))
    return unit_interval(name, today, ahead)


def _weekday(number: int, today: date, ahead: int) -> date:
    """The last such weekday before today, or the next after it."""
    if ahead < 0:
        return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)


def _season(name: str, today: date, ahead: int) -> TimeInterval:
    """The last such season that is over, the one that runs or else this year's, or the next that begins."""
    first = SEASONS[name]
    before, this, after = (months_interval(today.year + offset, first, 3) for offset in (-1, 0, 1))
    if ahead < 0:
        ended = [season for season in (this, before) if season.until.date() <= today]
        return ended[0] if ended else months_interval(today.year - 2, first, 3)
    if ahead > 0:
        return this if this.start.date() > today else after
    return before if today < before.until.date() else this


def _on_weekday(match: re.Match[str], today: date) -> TimeInterval:
    """A weekday alone: the next one in a sentence about the future, else the last."""
    number = DAYS.index(match["what"].casefold())
    return day_interval(_weekday(number, today, 1 if FUTURE.search(match.string) else -1))


def _relative_day(match: re.Match[str], today: date) -> TimeInterval:
    return day_interval(today + timedelta(days=RELATIVE_DAYS[" ".join(match[0].casefold().split())]))


RELATIVE_DAYS = {"the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "today": 0, "tonight": 0}
RELATIVE_DAYS |= {"tomorrow": 1, "the other day": -3}
FUTURE = re.compile(
    r"\b(?:will|going to|gonna|plan|planning|next|hope|soon|upcoming|looking forward|’ll)\b|'ll\b", re.I
)

DURATION_CUES = re.compile(r"n['’]t\b|\b(?:not|never|nothing|nobody|first|finished|done|all)\b", re.I)


def _date_pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{text})(?!\w)", re.IGNORECASE)


# Every pattern below needs one of these; most texts have none and skip the search. Matched against lower case: a
# case-insensitive search takes three times as long.
_HINT_WORDS = (
    "(?:day|week|month|year)s?",
    "weekend",
    "night",
    "evening",
    "morning",
    "afternoon",
    "ago",
    "back",
    "earlier",
)
DATE_HINTS = re.compile(rf"\d|\b(?:{'|'.join((*_HINT_WORDS, _MONTH, _DAY, *SEASONS, *RELATIVE_DAYS))})\b")

# (pattern, precision, parser); the first match at a position wins. A day is exact, a month or quarter less so; the
# borders of a season are vague, and a year is long.
DATE_PATTERNS: tuple[tuple[re.Pattern[str], TemporalCue, DateParser], ...] = (
    (
        _date_pattern(rf"(?P<y>{_YEAR})-(?P<m>\d\d)-(?P<d>\d\d)"),
        "exact",
        lambda match, _: day_interval(date(int(match["y"]), int(match["m"]), int(match["d"]))),
    ),
    (
        _date_pattern(rf"(?P<day>{_NTH}) (?:of )?(?P<month>{_MONTH})\.?(?:,? (?P<year>{_YEAR}))?"),
        "exact",
        _day_of_month,
    ),
    (_date_pattern(rf"(?P<month>{_MONTH})\.? (?P<day>{_NTH})(?:,? (?P<year>{_YEAR}))?"), "exact", _day_of_month),
    (
        _date_pattern(rf"(?P<month>{_MONTH})\.?,? (?:of )?(?P<year>{_YEAR})"),
        "month",
        lambda match, _: months_interval(int(match["year"]), _month_of(match["month"])),
    ),
    (
        _date_pattern(rf"Q(?P<q>[1-4])[ /-]?(?P<year>{_YEAR})"),
        "month",
        lambda match, _: months_interval(int(match["year"]), 3 * int(match["q"]) - 2, 3),
    ),
    (
        _date_pattern(rf"(?P<season>{'|'.join(SEASONS)}) (?:of )?(?P<year>{_YEAR})"),
        "vague",
        lambda match, _: months_interval(int(match["year"]), SEASONS[match["season"].casefold()], 3),
    ),
    (_date_pattern(rf"(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s? (?:ago|back|earlier)"), "relative", _in_past),
    (
        _date_pattern(rf"in (?:about )?(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?(?: time)?"),
        "relative",
        _in_future,
    ),
    (_date_pattern("|".join(sorted(RELATIVE_DAYS, key=len, reverse=True))), "relative", _relative_day),
    (
        _date_pattern(
            rf"(?<!the )(?P<which>last|past|previous|this coming|this past|this|next|coming)"
            rf" (?P<what>{_DAY}|weekend|week|month|year|night|evening|morning|afternoon|{'|'.join(SEASONS)})"
        ),
        "relative",
        _relative_unit,
    ),
    (
        _date_pattern(rf"(?P<which>last|this coming|this|next|in|since|until|by) (?P<month>{_MONTH})"),
        "relative",
        _in_month,
    ),
    (_date_pattern(rf"(?:on |since |until |by )(?P<what>{_DAY})"), "relative", _on_weekday),
    (
        _date_pattern(rf"(?:in|since|during|back in|of|from|by) (?P<year>{_YEAR})"),
        "vague",
        lambda match, _: year_interval(int(match["year"])),
    ),
)
