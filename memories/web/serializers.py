"""Strict request bodies and query strings: unknown fields are rejected at any depth."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from memories.contracts.json_lines import InvalidLineError, Line, parse_line
from memories.contracts.json_values import quote_value
from memories.web.fields import REQUIRED_MESSAGES


class StrictObjectList(serializers.ListSerializer[Any]):
    """A list of objects."""

    default_error_messages = REQUIRED_MESSAGES | {
        "not_a_list": "must be a list of objects",
        "empty": "must not be empty",
        "max_length": "must have at most {max_length} items",
        "min_length": "must have at least {min_length} items",
    }


class StrictObject(serializers.Serializer[Any]):
    """An object that rejects unknown fields."""

    default_error_messages = REQUIRED_MESSAGES

    class Meta:
        list_serializer_class = StrictObjectList

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": [f"must be an object; got {quote_value(data)}"]})
        known = [name for name, field in self.fields.items() if not field.read_only]
        message = f"is not a known field; known are {', '.join(known)}"
        errors: dict[str, Any] = {name: [ErrorDetail(message, "unknown")] for name in data if name not in known}
        values: dict[str, Any] = {}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            errors = {**error.detail, **errors}  # type: ignore[dict-item]
        if errors:
            raise ValidationError(errors)
        return values

    @classmethod
    def from_request(cls, request: Request) -> dict[str, Any]:
        """Validate a request's body."""
        return cls.validate_input(request.data)

    @classmethod
    def validate_input(cls, data: Any) -> dict[str, Any]:
        """Validate with an instance shared by all requests: copying its fields takes longer than validating."""
        values: dict[str, Any] = shared_instance(cls).run_validation(data)
        return values


class QueryString(StrictObject):
    """A query string; each parameter at most once."""

    @classmethod
    def from_request(cls, request: Request) -> dict[str, Any]:
        """Validate a request's query string."""
        params = request.query_params
        repeated = {
            name: [f"must be given once; got {len(values)}"] for name, values in params.lists() if len(values) > 1
        }
        if repeated:
            raise ValidationError(repeated)
        return cls.validate_input(params.dict())


@cache
def shared_instance(serializer: type[StrictObject]) -> StrictObject:
    """The instance of a class that validates all requests; validation does not modify it."""
    return serializer()


def valid_values(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    """The validated values of a serializer; raises ValidationError."""
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


def line_body(line: Line) -> Any:
    """The JSON value of a line; raises ValidationError."""
    try:
        return parse_line(line)
    except InvalidLineError as error:
        raise ValidationError(error.problems) from error
