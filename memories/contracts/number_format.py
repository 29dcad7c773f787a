"""Formatting of numbers (no leading zero, a true minus sign), ages and identifiers."""

import math
from datetime import datetime, timedelta


def format_number(value: float, decimals: int | str = "") -> str:
    """A number with a fixed number of decimals, or as short as is exact.

    >>> format_number(0.5), format_number(-1.5), format_number(60.0), format_number(0.04210, 5), format_number(1e-06)
    ('.5', '−1.5', '60', '.04210', '.000001')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:.{decimals}f}" if decimals != "" else f"{value:.9f}".rstrip("0").rstrip(".")
    sign, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def format_value(value: float | str | bool) -> str:
    """A parameter's value; a switch as on or off.

    >>> format_value(0.5), format_value(True), format_value("plan")
    ('.5', 'on', 'plan')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else format_number(value)


def format_rounded(value: float) -> str:
    """A number with at most four decimals, without trailing zeros.

    >>> format_rounded(0.53194), format_rounded(8.0), format_rounded(0.25)
    ('.5319', '8', '.25')
    """
    return format_number(round(value, 4))


def format_percent(share: float) -> str:
    """A share of 1 in whole percent.

    >>> format_percent(0.123), format_percent(0.004), format_percent(0.0)
    ('12 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def format_count(value: int) -> str:
    """A count with thousands separators.

    >>> format_count(20000), format_count(7)
    ('20,000', '7')
    """
    return f"{value:,}"


def format_signed(value: float, decimals: int | str = "") -> str:
    """A difference, always with its sign.

    >>> format_signed(0.0819, 4), format_signed(-1.5)
    ('+.0819', '−1.5')
    """
    return ("+" if value >= 0 else "") + format_number(value, decimals)


def format_magnitude(value: float, decimals: int | str = "") -> str:
    """A difference without its sign, for use next to an arrow.

    >>> format_magnitude(-0.0819, 3)
    '.082'
    """
    return format_number(abs(value), decimals)


def format_p_value(p: float) -> str:
    """A p-value with three decimals; smaller ones as a bound.

    >>> format_p_value(0.0312), format_p_value(0.0001)
    ('.031', '< .001')
    """
    return "< .001" if p < 0.001 else format_number(p, 3)


def format_days(days: float) -> str:
    """A duration in days, hours or seconds, whichever suits its length.

    >>> format_days(90.0), format_days(0.5), format_days(1 / 86_400)
    ('90 days', '12 hours', '1 seconds')
    """
    if days >= 2:
        return f"{format_number(round(days, 1))} days"
    hours = days * 24
    return (
        f"{format_number(round(hours, 1))} hours" if hours >= 1 else f"{format_number(round(hours * 3600, 1))} seconds"
    )


def whole_days(age: float) -> int:
    """An age in completed days; a timestamp in the future has age 0."""
    return max(0, math.floor(age))


def days_before(timestamp: datetime, now: datetime) -> int:
    """Whole days from a timestamp until now; zero if it lies ahead.

    >>> days_before(datetime(2026, 2, 28), datetime(2026, 3, 2, 12))
    2
    """
    return whole_days((now - timestamp) / timedelta(days=1))


def without_underscores(identifier: str) -> str:
    """An identifier as words.

    >>> without_underscores("detail_of")
    'detail of'
    """
    return identifier.replace("_", " ")


def format_per_thousand(count: float) -> str:
    """A count per thousand, with more decimals the smaller it is.

    >>> format_per_thousand(1000.0), format_per_thousand(30.0), format_per_thousand(12.54), format_per_thousand(0.126)
    ('1,000', '30', '12.5', '.13')
    """
    decimals = 0 if count >= 100 else 1 if count >= 1 else 2
    rounded = round(count, decimals)
    return format_count(round(rounded)) if rounded == round(rounded) else format_number(rounded)
