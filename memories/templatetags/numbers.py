"""Template filters that format numbers, ages and identifiers."""

from django import template

from memories.contracts.number_format import (
    days_before,
    format_count,
    format_days,
    format_magnitude,
    format_number,
    format_p_value,
    format_percent,
    format_rounded,
    format_signed,
    format_value,
    whole_days,
    without_underscores,
)
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
register.filter("days_before", days_before)
register.filter("without_underscores", without_underscores)
