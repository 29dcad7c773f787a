"""Calendar intervals: days, weeks, months and years, absolute or relative to a date."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from scoring.wording import MONTHS

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month of each, northern hemisphere


@dataclass(frozen=True)
class TimeInterval:
    """A half-open interval of time."""

    start: datetime
    until: datetime

    @property
    def days(self) -> int:
        """Its length in days."""
        return (self.until - self.start).days

    def __str__(self) -> str:
        first, last = self.start.date(), (self.until - timedelta(days=1)).date()
        if first >= last:
            return _format_day(first)
        if first.day == 1 and self.until.day == 1:
            if self.days > 364 and first.month == 1:
                return str(first.year) if last.year == first.year else f"{first.year} to {last.year}"
            if first.month == last.month:
                return f"{MONTHS[first.month - 1].title()} {first.year}"
        return f"{_format_day(first)} to {_format_day(last)}"


def day_interval(anchor: date, days: int = 1) -> TimeInterval:
    """One day, or several starting with it."""
    start = datetime.combine(anchor, time(), UTC)
    return TimeInterval(start, start + timedelta(days=days))


def week_interval(anchor: date) -> TimeInterval:
    """The week of a date, starting on Monday."""
    return day_interval(anchor - timedelta(days=anchor.weekday()), 7)


def weekend_interval(anchor: date) -> TimeInterval:
    """The Saturday and Sunday of a date's week."""
    return day_interval(anchor + timedelta(days=5 - anchor.weekday()), 2)


def months_interval(year: int, month: int, count: int = 1) -> TimeInterval:
    """Some months from the given one; month numbers outside 1 to 12 roll over into other years."""
    first, last = (divmod(year * 12 + month - 1 + offset, 12) for offset in (0, count))
    return TimeInterval(*(datetime(year, month + 1, 1, tzinfo=UTC) for year, month in (first, last)))


def month_interval(anchor: date, ahead: int = 0) -> TimeInterval:
    """The month of a date, shifted by `ahead` months."""
    return months_interval(anchor.year, anchor.month + ahead)


def year_interval(number: int) -> TimeInterval:
    """A calendar year."""
    return months_interval(number, 1, 12)


def unit_interval(name: str, anchor: date, ahead: int) -> TimeInterval:
    """The day, week, weekend, month or year of a date, shifted by `ahead` units."""
    match name:
        case "day":
            return day_interval(anchor + timedelta(days=ahead))
        case "week":
            return week_interval(anchor + timedelta(weeks=ahead))
        case "weekend":
            return weekend_interval(anchor + timedelta(weeks=ahead))
        case "month":
            return month_interval(anchor, ahead)
    return year_interval(anchor.year + ahead)


def _format_day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].title()} {day.year}"
