"""Stretches of time: days, weeks, months, years, and how far they lie from a moment."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from scoring.contradiction import MONTHS

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month each begins with, in the north


@dataclass(frozen=True)
class Interval:
    """A stretch of time; its end is no longer part of it."""

    start: datetime
    until: datetime

    @property
    def days(self) -> int:
        """How many days it lasts."""
        return (self.until - self.start).days

    def __str__(self) -> str:
        first, last = self.start.date(), (self.until - timedelta(days=1)).date()
        if first >= last:
            return _day(first)
        if first.day == 1 and self.until.day == 1:
            if self.days > 364 and first.month == 1:
                return str(first.year) if last.year == first.year else f"{first.year} to {last.year}"
            if first.month == last.month:
                return f"{MONTHS[first.month - 1].title()} {first.year}"
        return f"{_day(first)} to {_day(last)}"


def day(of: date, days: int = 1) -> Interval:
    """One day, or some from it on."""
    start = datetime.combine(of, time(), UTC)
    return Interval(start, start + timedelta(days=days))


def week(of: date) -> Interval:
    """The week that a day lies in; it begins on Monday."""
    return day(of - timedelta(days=of.weekday()), 7)


def weekend(of: date) -> Interval:
    """The Saturday and Sunday of the week that a day lies in."""
    return day(of + timedelta(days=5 - of.weekday()), 2)


def months(year: int, month: int, count: int = 1) -> Interval:
    """Some months from one on; a month past the twelfth lies in the next year, one before the first in the last."""
    first, last = (divmod(year * 12 + month - 1 + further, 12) for further in (0, count))
    return Interval(*(datetime(year, month + 1, 1, tzinfo=UTC) for year, month in (first, last)))


def month(of: date, ahead: int = 0) -> Interval:
    """The month that a day lies in, or one that many ahead of it."""
    return months(of.year, of.month + ahead)


def year(number: int) -> Interval:
    """A year."""
    return months(number, 1, 12)


def unit(name: str, of: date, ahead: int) -> Interval:
    """The day, week, weekend, month or year that many ahead of a day; a negative number lies behind it."""
    match name:
        case "day":
            return day(of + timedelta(days=ahead))
        case "week":
            return week(of + timedelta(weeks=ahead))
        case "weekend":
            return weekend(of + timedelta(weeks=ahead))
        case "month":
            return month(of, ahead)
    return year(of.year + ahead)


def _day(one: date) -> str:
    return f"{one.day} {MONTHS[one.month - 1].title()} {one.year}"
