"""Bodies and query strings as a whole: what is not declared is refused, at any depth."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.utils.serializer_helpers import BindingDict

from memories.api.fields import MISSING
from memories.api.storable import came


class ObjectList(serializers.ListSerializer[Any]):
    """A list of objects."""

    default_error_messages = MISSING | {
        "not_a_list": "must be a list of objects",
        "empty": "must not be empty",
        "max_length": "must have at most {max_length} items",
        "min_length": "must have at least {min_length} items",
    }


class Object(serializers.Serializer[Any]):
    """An object with known fields and no others."""

    default_error_messages = MISSING

    class Meta:
        list_serializer_class = ObjectList

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": [f"must be an object; got {came(data)}"]})
        known = [str(field.field_name) for field in self._writable_fields]
        refusal = f"is not a known field; known are {', '.join(known)}"
        errors: dict[str, Any] = {name: [ErrorDetail(refusal, "unknown")] for name in data if name not in known}
        values: dict[str, Any] = {}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            errors = {**error.detail, **errors}  # type: ignore[dict-item]
        if errors:
            raise ValidationError(errors)
        return values

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """Read a request's body."""
        return cls.read(request.data)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Check what came against the fields of the class: to copy them for each request takes longer than to check."""
        serializer = cls(data=data)
        serializer.__dict__["fields"] = fields_of(cls)
        return checked(serializer)


class Query(Object):
    """What may stand in a query string, each name once."""

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """Read a request's query string."""
        given = request.query_params
        again = {name: [f"must be given once; got {len(all)}"] for name, all in given.lists() if len(all) > 1}
        if again:
            raise ValidationError(again)
        return cls.read(given.dict())


@cache
def fields_of(serializer: type[Object]) -> BindingDict:
    """The fields of a class, bound to one that stands for all; to check a value changes nothing in them."""
    return serializer().fields


def checked(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    """Give the values of a serializer, or refuse them."""
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values
