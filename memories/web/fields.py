"""Strict input fields for bodies and query strings: no coercion; errors say what is allowed and what was received."""

import math
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from memories.contracts.json_values import quote_value, storage_error

REQUIRED_MESSAGES: dict[str, Any] = {"required": "is required", "null": "must not be null"}
RANGE_MESSAGES: dict[str, Any] = {
    "min_value": "must be at least {min_value}; got %(show_value)s",
    "max_value": "must be at most {max_value}; got %(show_value)s",
}


class Text(serializers.CharField):
    """Storable text of bounded length."""

    default_error_messages = REQUIRED_MESSAGES | {
        "invalid": "must be text; got {got}",
        "blank": "must not be empty",
        "unstorable": "{message}",
        "max_length": "must have at most {max_length} characters; got %(show_value)s",
        "min_length": "must have at least {min_length} characters; got %(show_value)s",
    }

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid", got=quote_value(data))
        if message := storage_error(data):
            self.fail("unstorable", message=message)
        return super().to_internal_value(data)


class Float(serializers.FloatField):
    """A finite number; in a query string, a decimal literal."""

    default_error_messages = REQUIRED_MESSAGES | RANGE_MESSAGES | {"invalid": "must be a finite number; got {got}"}
    DECIMAL_LITERAL = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> float:
        if self.in_query and isinstance(data, str) and len(data) < 50 and self.DECIMAL_LITERAL.fullmatch(data):
            data = float(data)
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid", got=quote_value(data))
        try:
            value = float(data)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            self.fail("invalid", got=quote_value(data))
        return value


class Integer(serializers.IntegerField):
    """An integer; in a query string, digits."""

    default_error_messages = REQUIRED_MESSAGES | RANGE_MESSAGES | {"invalid": "must be an integer; got {got}"}

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> int:
        if self.in_query and isinstance(data, str) and data.isascii() and data.isdigit() and len(data) < 20:
            return int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid", got=quote_value(data))
        return data


class Flag(serializers.BooleanField):
    """A boolean; in a query string also 1 and 0."""

    default_error_messages = REQUIRED_MESSAGES | {"invalid": "must be {allowed}; got {got}"}
    QUERY_VALUES = {"1": True, "true": True, "0": False, "false": False}

    def __init__(self, *, in_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.in_query = in_query

    def to_internal_value(self, data: Any) -> bool:
        if self.in_query and isinstance(data, str) and data in self.QUERY_VALUES:
            return self.QUERY_VALUES[data]
        if not isinstance(data, bool):
            self.fail(
                "invalid",
                allowed=", ".join(self.QUERY_VALUES) if self.in_query else "true or false",
                got=quote_value(data),
            )
        return data


class OneOf(serializers.ChoiceField):
    """One of a fixed set of strings."""

    default_error_messages = REQUIRED_MESSAGES | {"invalid_choice": "must be one of {allowed}; got {got}"}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(map(str, self.choices)), got=quote_value(data))
        return data


class Identifier(serializers.UUIDField):
    """A UUID as a string."""

    default_error_messages = REQUIRED_MESSAGES | {"invalid": "must be a UUID; got {got}"}

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", got=quote_value(data))
        try:
            return UUID(data)
        except ValueError:
            self.fail("invalid", got=quote_value(data))


class DateTime(serializers.DateTimeField):
    """An ISO 8601 datetime with a UTC offset, converted to UTC."""

    default_error_messages = REQUIRED_MESSAGES | {
        "invalid": "must be a time in ISO 8601, such as 2026-03-02T12:00:00Z; got {got}",
        "naive": "must include a UTC offset, such as 2026-03-02T12:00:00Z; got {got}",
    }

    def to_internal_value(self, value: Any) -> datetime:
        try:
            parsed = parse_datetime(value) if isinstance(value, str) else None
            if parsed is None:
                self.fail("invalid", got=quote_value(value))
            if parsed.utcoffset() is None:
                self.fail("naive", got=quote_value(value))
            return parsed.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid", got=quote_value(value))


class ListOf(serializers.ListField):
    """A list of bounded length."""

    default_error_messages = REQUIRED_MESSAGES | {
        "not_a_list": "must be a list; got {got}",
        "empty": "must not be empty",
        "min_length": "must have at least {min_length} items; got %(show_value)s",
        "max_length": "must have at most {max_length} items; got %(show_value)s",
    }

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)
        self.max_items = max_length

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", got=quote_value(data))
        if len(data) > self.max_items:  # before any item is validated
            raise serializers.ValidationError([f"must have at most {self.max_items} items; got {len(data)}"])
        return super().to_internal_value(data)


class JsonObject(serializers.DictField):
    """A free-form object; the parser has checked its text, numbers and depth."""

    default_error_messages = REQUIRED_MESSAGES | {"not_a_dict": "must be an object; got {got}"}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_a_dict", got=quote_value(data))
        return data
