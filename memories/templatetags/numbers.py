"""How numbers are written: tabular, no leading zero, a true minus."""

from django import template

register = template.Library()


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
def about(value: float) -> str:
    """Write a number to four decimals at the most, without trailing zeros.

    >>> about(0.53194), about(8.0), about(0.25)
    ('.5319', '8', '.25')
    """
    return figure(round(value, 4))


@register.filter
def grouped(value: int) -> str:
    """Write a count so that it can be read: 20,000.

    >>> grouped(20000), grouped(7)
    ('20,000', '7')
    """
    return f"{value:,}"
