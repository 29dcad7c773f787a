"""Response serializers generated from the contracts; the OpenAPI schema follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, is_typeddict
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memories.contracts.answer import ParamValue
from memories.contracts.json_contract import contract_fields, is_contract, without_none


@extend_schema_field({"type": ["boolean", "number", "string"]})
class ParamValueField(serializers.JSONField):
    """The value of a parameter."""


SCALAR_FIELDS: Mapping[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    UUID: serializers.UUIDField,
    datetime: serializers.DateTimeField,
    ParamValue: ParamValueField,
}


class ContractSerializer(serializers.Serializer[Any]):
    """A serializer whose fields are those of a contract."""

    contract: ClassVar[type]

    def get_fields(self) -> dict[str, Any]:
        """Fields from the type hints; created lazily, so that a contract may contain itself."""
        result: dict[str, Any] = {}
        for field in contract_fields(self.contract):
            if field.flat is None:
                options: dict[str, Any] = {"help_text": field.doc} if field.doc else {}
                result[field.name] = field_for(field.json_hint, required=field.default is MISSING, **options)
            elif is_typeddict(field.hint):
                result |= serializer_of(field.hint)().get_fields()
            else:
                [_, value] = get_args(field.hint)
                result |= {name: field_for(value, required=False) for name in field.flat.keys}
        return result


@cache
def serializer_of(contract: type) -> type[ContractSerializer]:
    """The serializer class of a contract, named after it."""
    attributes = {"contract": contract, "__doc__": contract.__doc__, "__module__": __name__}
    return type(f"{contract.__name__}Serializer", (ContractSerializer,), attributes)


def field_for(hint: Any, **options: Any) -> Any:
    """The serializer field of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in SCALAR_FIELDS:
        return SCALAR_FIELDS[hint](**options)
    if hint is str:
        return serializers.CharField(allow_blank=True, **options)
    if origin in (Union, UnionType) and NoneType in args:
        return field_for(without_none(hint), allow_null=True, **options)
    if origin is not None and issubclass(origin, Mapping):
        return serializers.DictField(child=field_for(args[1]), **options)
    if origin is not None and issubclass(origin, Sequence):
        return serializers.ListField(child=field_for(args[0]), **options)
    if is_contract(hint) or is_typeddict(hint):
        return serializer_of(hint)(**options)
    raise TypeError(f"a contract's field must be a scalar, sequence, mapping or contract; got {hint}")
