"""Values of foreign rows as request bodies take them."""

from datetime import UTC, datetime
from typing import Any

MILLISECONDS = 10_000_000_000  # a timestamp above counts milliseconds


def present(**fields: Any) -> dict[str, Any]:
    """A body without the fields that have no value."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def timestamp(value: Any) -> Any:
    """A time as ISO 8601 with an offset, UTC if it names none; anything else as it is, for validation to refuse."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.replace(".", "", 1).isdigit():
        value = float(value)
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC).isoformat()
        if isinstance(value, str) and value:
            parsed = datetime.fromisoformat(value)
            return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return value
