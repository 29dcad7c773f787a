"""Template filters that format numbers, ages and identifiers."""

from datetime import datetime, timedelta

from django import template

from memories.contracts.number_format import (
    format_count,
    format_days,
    format_magnitude,
    format_number,
    format_p_value,
    format_percent,
    format_rounded,
    format_signed,
    format_value,
)
from memories.retrieval.prompt_context import whole_days
from memories.retrieval.why_not import ordinal

register = template.Library()
register.filter("number", format_number)
register.filter("value", format_value)
register.filter("rounded", format_rounded)
register.filter("percent", format_percent)
register.filter("count", format_count)
register.filter("signed", format_signed)
register.filter("magnitude", format_magnitude)
register.filter("p_value", format_p_value)
register.filter("duration", format_days)
register.filter("ordinal", ordinal)
register.filter("whole_days", whole_days)


@register.filter
def days_before(timestamp: datetime, now: datetime) -> int:
    """Whole days from a timestamp until now; zero if it lies ahead.

    >>> days_before(datetime(2026, 2, 28), datetime(2026, 3, 2, 12))
    2
    """
    return whole_days((now - timestamp) / timedelta(days=1))


@register.filter
def without_underscores(identifier: str) -> str:
    """An identifier as words.

    >>> without_underscores("detail_of")
    'detail of'
    """
    return identifier.replace("_", " ")
