"""Date expressions as intervals, relative to Monday, 2 March 2026."""

from datetime import UTC, datetime

import pytest

from memories.text.dates import date_mentions

SAID = datetime(2026, 3, 2, 22, 30, tzinfo=UTC)


def read(text: str, said_at: datetime = SAID) -> list[str]:
    return [str(one.when) for one in date_mentions(text, said_at)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved yesterday", "1 March 2026"),
        ("the day before yesterday", "28 February 2026"),
        ("We leave tomorrow", "3 March 2026"),
        ("last night", "1 March 2026"),
        ("this morning", "2 March 2026"),
        ("two days ago", "28 February 2026"),
        ("10 years ago", "2016"),
        ("three weeks ago", "6 February 2026 to 12 February 2026"),
        ("in two months", "May 2026"),
        ("last week", "23 February 2026 to 1 March 2026"),
        ("next week", "9 March 2026 to 15 March 2026"),
        ("this week", "2 March 2026 to 8 March 2026"),
        ("last weekend", "28 February 2026 to 1 March 2026"),
        ("last month", "February 2026"),
        ("next month", "April 2026"),
        ("last year", "2025"),
        ("last Friday", "27 February 2026"),
        ("last Monday", "23 February 2026"),
        ("this past Saturday", "28 February 2026"),
        ("next Friday", "6 March 2026"),
        ("We met on Friday", "27 February 2026"),
        ("We will meet on Friday", "6 March 2026"),
        ("last summer", "1 June 2025 to 31 August 2025"),
        ("next winter", "1 December 2026 to 28 February 2027"),
        ("in May", "May 2025"),
        ("I will go in May", "May 2026"),
        ("in 2022", "2022"),
        ("on 5 May 2024", "5 May 2024"),
        ("on May 5th, 2024", "5 May 2024"),
        ("on the 3rd of September", "3 September 2025"),
        ("in March 2021", "March 2021"),
        ("the summer of 2021", "1 June 2021 to 31 August 2021"),
        ("Q3 2025", "1 July 2025 to 30 September 2025"),
        ("on 2026-02-03", "3 February 2026"),
        ("on 29 February", "29 February 2028"),
        ("by February 29th", "29 February 2028"),
    ],
)
def test_a_time_is_read_as_an_interval(text: str, expected: str) -> None:
    assert read(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "May I ask?",
        "We met",
        "It may rain",
        "room 2022",
        "2026-02-30",
        "on 30 February",
        "31 April",
        "the next morning",
        "I haven't slept in two days",
        "",
    ],
)
def test_what_is_no_time_is_not_read_as_one(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("said_at", "text", "expected"),
    [
        (datetime(2026, 1, 10, tzinfo=UTC), "last winter", "1 December 2024 to 28 February 2025"),
        (datetime(2026, 1, 10, tzinfo=UTC), "this winter", "1 December 2025 to 28 February 2026"),
        (datetime(2026, 1, 10, tzinfo=UTC), "next winter", "1 December 2026 to 28 February 2027"),
        (datetime(2026, 3, 2, tzinfo=UTC), "last winter", "1 December 2025 to 28 February 2026"),
        (datetime(2026, 12, 5, tzinfo=UTC), "last winter", "1 December 2025 to 28 February 2026"),
        (datetime(2026, 12, 5, tzinfo=UTC), "this winter", "1 December 2026 to 28 February 2027"),
        (datetime(2026, 7, 1, tzinfo=UTC), "last summer", "1 June 2025 to 31 August 2025"),
        (datetime(2026, 7, 1, tzinfo=UTC), "this summer", "1 June 2026 to 31 August 2026"),
        (datetime(2026, 9, 1, tzinfo=UTC), "last summer", "1 June 2026 to 31 August 2026"),
        (datetime(2027, 6, 1, tzinfo=UTC), "29 February", "29 February 2028"),
        (datetime(1900, 6, 1, tzinfo=UTC), "29 February", "29 February 1904"),
    ],
)
def test_the_season_and_the_leap_day_depend_on_the_day_it_was_said(said_at: datetime, text: str, expected: str) -> None:
    assert read(text, said_at) == [expected]


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("on 5 May 2024", "exact"),
        ("on the 3rd of September", "exact"),
        ("on 2026-02-03", "exact"),
        ("yesterday", "relative"),
        ("last year", "relative"),
        ("in May", "relative"),
        ("in March 2021", "month"),
        ("Q3 2025", "month"),
        ("the summer of 2021", "vague"),
        ("in 2022", "vague"),
    ],
)
def test_a_day_is_exact_and_a_bare_year_or_season_is_vague(text: str, cue: str) -> None:
    assert [one.cue for one in date_mentions(text, SAID)] == [cue]


def test_several_times_come_in_the_order_of_the_text_and_without_overlap() -> None:
    text = "Since May 2020 I have lived here, and last week I left"
    found = date_mentions(text, SAID)
    assert [text[one.start : one.end] for one in found] == ["May 2020", "last week"]
    assert [one.relative for one in found] == [False, True]


@pytest.mark.parametrize("year", [1, 9999])
def test_a_time_outside_the_calendar_is_none(year: int) -> None:
    said_at = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, tzinfo=UTC)
    for text in ("3 years ago", "in 3 years", "last week", "next week", "yesterday", "tomorrow", "last summer"):
        assert len(read(text, said_at)) <= 1
