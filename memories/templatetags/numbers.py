"""How numbers are written: tabular, no leading zero, a true minus."""

from datetime import datetime, timedelta

from django import template

from memories.retrieval.prompt_context import whole_days
from memories.retrieval.why_not import ordinal

register = template.Library()
register.filter(whole_days)


@register.filter
def figure(value: float, decimals: int | str = "") -> str:
    """Write a number with so many decimals, or as short as it is exact: .0595, −1.5, 60.

    >>> figure(0.5), figure(-1.5), figure(60.0), figure(0.04210, 5), figure(1e-06), figure(0.0)
    ('.5', '−1.5', '60', '.04210', '.000001', '0')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:.{decimals}f}" if decimals != "" else f"{value:.9f}".rstrip("0").rstrip(".")
    sign, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    return sign + (digits[1:] if digits.startswith("0.") else digits)


@register.filter
def worded(value: float | str | bool) -> str:
    """Write any parameter's value: a number as a number, a switch as on or off.

    >>> worded(0.5), worded(True), worded("plan")
    ('.5', 'on', 'plan')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else figure(value)


@register.filter
def about(value: float) -> str:
    """Write a number to four decimals at the most, without trailing zeros.

    >>> about(0.53194), about(8.0), about(0.25)
    ('.5319', '8', '.25')
    """
    return figure(round(value, 4))


@register.filter
def percent(share: float) -> str:
    """Write a share of 1 in whole percent, and what is less than one as that.

    >>> percent(0.123), percent(0.004), percent(0.0)
    ('12 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


@register.filter
def grouped(value: int) -> str:
    """Write a count so that it can be read: 20,000.

    >>> grouped(20000), grouped(7)
    ('20,000', '7')
    """
    return f"{value:,}"


@register.filter
def days_before(moment: datetime, now: datetime) -> int:
    """Count the whole days from a moment to another; what lies ahead counts as today.

    >>> days_before(datetime(2026, 2, 28), datetime(2026, 3, 2, 12))
    2
    """
    return whole_days((now - moment) / timedelta(days=1))


@register.filter
def signed(value: float, decimals: int | str = "") -> str:
    """Write a difference, always with its sign.

    >>> signed(0.0819, 4), signed(-1.5)
    ('+.0819', '−1.5')
    """
    return ("+" if value >= 0 else "") + figure(value, decimals)


@register.filter
def size(value: float, decimals: int | str = "") -> str:
    """Write a difference without its sign, where an arrow tells it.

    >>> size(-0.0819, 3)
    '.082'
    """
    return figure(abs(value), decimals)


@register.filter
def chance(p: float) -> str:
    """Write the chance that a test gives; below one in a thousand it says no more than that.

    >>> chance(0.0312), chance(0.0001)
    ('.031', '< .001')
    """
    return "< .001" if p < 0.001 else figure(p, 3)


@register.filter
def place(rank: int) -> str:
    """Write a rank as a word: 1st, 2nd, 13th.

    >>> place(1), place(22), place(13)
    ('1st', '22nd', '13th')
    """
    return ordinal(rank)


@register.filter
def cut_under(name: str) -> str:
    """Write a word of the code as one reads it.

    >>> cut_under("detail_of")
    'detail of'
    """
    return name.replace("_", " ")
