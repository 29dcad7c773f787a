"""What bodies and query strings are made of: nothing is guessed, and a refusal says what is allowed and what came."""

import math
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from memories.api.storable import came, flaw

MISSING: dict[str, Any] = {"required": "is required", "null": "must not be null"}
LIMITS: dict[str, Any] = {
    "min_value": "must be at least {min_value}; got %(show_value)s",
    "max_value": "must be at most {max_value}; got %(show_value)s",
}


class Text(serializers.CharField):
    """Text that can be stored, of a bounded length."""

    default_error_messages = MISSING | {
        "invalid": "must be text; got {came}",
        "blank": "must not be empty",
        "flaw": "{flaw}",
        "max_length": "must have at most {max_length} characters; got %(show_value)s",
        "min_length": "must have at least {min_length} characters; got %(show_value)s",
    }

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid", came=came(data))
        if wrong := flaw(data):
            self.fail("flaw", flaw=wrong)
        return super().to_internal_value(data)


class Real(serializers.FloatField):
    """A finite number; in a query string it comes as it is written."""

    default_error_messages = MISSING | LIMITS | {"invalid": "must be a finite number; got {came}"}
    WRITTEN = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> float:
        if self.in_query and isinstance(data, str) and len(data) < 50 and self.WRITTEN.fullmatch(data):
            data = float(data)
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid", came=came(data))
        try:
            value = float(data)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            self.fail("invalid", came=came(data))
        return value


class Whole(serializers.IntegerField):
    """An integer; in a query string it comes as digits."""

    default_error_messages = MISSING | LIMITS | {"invalid": "must be an integer; got {came}"}

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> int:
        if self.in_query and isinstance(data, str) and data.isascii() and data.isdigit() and len(data) < 20:
            return int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid", came=came(data))
        return data


class Flag(serializers.BooleanField):
    """True or false; in a query string 1 and 0 as well."""

    default_error_messages = MISSING | {"invalid": "must be {allowed}; got {came}"}
    QUERY = {"1": True, "true": True, "0": False, "false": False}

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> bool:
        if self.in_query and isinstance(data, str) and data in self.QUERY:
            return self.QUERY[data]
        if not isinstance(data, bool):
            self.fail("invalid", allowed=", ".join(self.QUERY) if self.in_query else "true or false", came=came(data))
        return data


class Choice(serializers.ChoiceField):
    """One of a closed set of words."""

    default_error_messages = MISSING | {"invalid_choice": "must be one of {allowed}; got {came}"}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(map(str, self.choices)), came=came(data))
        return data


class Identifier(serializers.UUIDField):
    """A UUID in its usual form."""

    default_error_messages = MISSING | {"invalid": "must be a UUID; got {value}"}

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=came(data))
        try:
            return UUID(data)
        except ValueError:
            self.fail("invalid", value=came(data))


class Moment(serializers.DateTimeField):
    """A point in time, with its offset; kept in UTC."""

    default_error_messages = MISSING | {
        "invalid": "must be a time in ISO 8601, such as 2026-03-02T12:00:00Z; got {came}",
        "naive": "must say its offset, such as 2026-03-02T12:00:00Z; got {came}",
    }

    def to_internal_value(self, value: Any) -> datetime:
        try:
            moment = parse_datetime(value) if isinstance(value, str) else None
            if moment is None:
                self.fail("invalid", came=came(value))
            if moment.utcoffset() is None:
                self.fail("naive", came=came(value))
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid", came=came(value))


class Items(serializers.ListField):
    """A list of bounded length."""

    default_error_messages = MISSING | {
        "not_a_list": "must be a list; got {came}",
        "empty": "must not be empty",
        "min_length": "must have at least {min_length} items; got %(show_value)s",
        "max_length": "must have at most {max_length} items; got %(show_value)s",
    }

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)
        self.most = max_length

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", came=came(data))
        if len(data) > self.most:  # before every item is looked at
            raise serializers.ValidationError([f"must have at most {self.most} items; got {len(data)}"])
        return super().to_internal_value(data)


class JsonObject(serializers.DictField):
    """An object whose insides are the caller's own; the parser has looked at its text, numbers and depth."""

    default_error_messages = MISSING | {"not_a_dict": "must be an object; got {came}"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_a_dict", came=came(data))
        return data
