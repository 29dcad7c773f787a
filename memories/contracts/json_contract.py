"""The base of all contracts: JSON out and in, by converters compiled once from the type hints.

A field with a default is optional: JSON omits it while it has its default. A field annotated with `Flat` holds an
object whose keys JSON puts next to the other fields. The first string of an `Annotated` hint documents the field.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, Required, Self, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

Converter = Callable[[Any], Any]
DECODERS: Mapping[Any, Converter] = {UUID: UUID, datetime: datetime.fromisoformat}


@dataclass(frozen=True)
class Flat:
    """Marks a mapping or TypedDict that JSON merges into its parent; a mapping declares its keys."""

    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContractField:
    """One field of a contract: its type without annotations, and the annotations."""

    name: str
    hint: Any
    doc: str
    flat: Flat | None
    default: Any  # MISSING: required; Ellipsis: an optional key of a TypedDict

    @property
    def json_hint(self) -> Any:
        """The type in JSON, which omits a field whose default is None."""
        return without_none(self.hint) if self.default is None else self.hint


class JsonContract:
    """A frozen dataclass that is JSON at the edges."""

    def to_dict(self) -> dict[str, Any]:
        """The contract as JSON-ready values; ids and datetimes are left to the encoder."""
        values, contract = vars(self), cast(Any, type(self))
        layout = json_layout(contract)
        if layout is None:
            return copy_values(self)
        result: dict[str, Any] = {}
        for name, default, flat, encode in layout:
            value = values[name]
            if default is not MISSING and (value is default or value == default):
                continue
            if encode is not None:
                value = encode(value)
            if flat:
                result.update(value)
            else:
                result[name] = value
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Decode JSON; a missing field takes its default or is empty, as a trace may be older than the field."""
        values = {}
        for field in contract_fields(cast(Any, cls)):
            if field.flat:
                keys = field.flat.keys or get_type_hints(field.hint)
                values[field.name] = {key: data[key] for key in keys if key in data}
            elif field.name in data:
                decode = decoder(field.hint)
                values[field.name] = decode(data[field.name]) if decode else data[field.name]
            elif field.default is MISSING:
                values[field.name] = empty_value(field.hint)
        return cls(**values)


@cache
def contract_fields(contract: type) -> tuple[ContractField, ...]:
    """The fields of a contract, or of a TypedDict within one."""
    declared: dict[str, Field[Any]] = (
        {field.name: field for field in fields(contract)} if is_dataclass(contract) else {}
    )
    optional: frozenset[str] = getattr(contract, "__optional_keys__", frozenset())
    result = []
    for name, annotated in get_type_hints(contract, include_extras=True).items():
        if declared and name not in declared:
            continue
        hint = strip_required(annotated)
        hint, notes = (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())
        doc = next((note for note in notes if isinstance(note, str)), "")
        flat = next((note for note in notes if isinstance(note, Flat)), None)
        default = declared[name].default if declared else (... if name in optional else MISSING)
        result.append(ContractField(name, hint, doc, flat, default))
    return tuple(result)


def strip_required(hint: Any) -> Any:
    """A TypedDict key's hint without `Required` or `NotRequired`."""
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint


@cache
def json_layout(contract: type) -> tuple[tuple[str, Any, bool, Converter | None], ...] | None:
    """Name, default, flatness and encoder of each field; None if every field is served as it is."""
    layout = tuple(
        (field.name, field.default, field.flat is not None, encoder(field.hint)) for field in contract_fields(contract)
    )
    plain = all(default is MISSING and not flat and encode is None for _, default, flat, encode in layout)
    return None if plain else layout


@cache
def encoder(hint: Any) -> Converter | None:
    """The function that turns a value of this type into JSON; None if the type holds no contracts."""
    return converter(hint, lambda leaf: contract_encoder(leaf) if is_contract(leaf) else None)


def contract_encoder(contract: Any) -> Converter:
    """`to_dict`, or a plain copy if every field is served as it is: an answer has hundreds of retriever hits."""
    to_dict: Converter = contract.to_dict if json_layout(contract) else copy_values
    return to_dict


def copy_values(contract: JsonContract) -> dict[str, Any]:
    """The fields of a contract as they are."""
    return contract.__dict__.copy()


@cache
def decoder(hint: Any) -> Converter | None:
    """The function that turns JSON into a value of this type; None if JSON already is one."""
    return converter(hint, lambda leaf: leaf.from_dict if is_contract(leaf) else DECODERS.get(leaf))


def converter(hint: Any, convert_leaf: Callable[[Any], Converter | None]) -> Converter | None:
    """Lift the conversion of leaves to optional values, sequences and mappings."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        convert = converter(without_none(hint), convert_leaf) if NoneType in args else None
        return convert and partial(convert_optional, convert)
    if origin is not None and issubclass(origin, Mapping):
        convert = converter(args[1], convert_leaf)
        return convert and partial(convert_values, convert)
    if origin is not None and issubclass(origin, Sequence):
        convert = converter(args[0], convert_leaf)
        return convert and partial(convert_items, convert)
    return convert_leaf(hint)


def without_none(hint: Any) -> Any:
    """An optional type without None."""
    [inner] = [arg for arg in get_args(hint) if arg is not NoneType]
    return inner


def convert_optional(convert: Converter, value: Any) -> Any:
    """Convert a value that may be None."""
    return None if value is None else convert(value)


def convert_values(convert: Converter, value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of a mapping."""
    return {key: convert(item) for key, item in value.items()}


def convert_items(convert: Converter, value: Sequence[Any]) -> list[Any]:
    """Convert the items of a sequence."""
    return [convert(item) for item in value]


def empty_value(hint: Any) -> Any:
    """The value of a required field that is missing."""
    if NoneType in get_args(hint):
        return None
    if is_contract(hint):
        return hint.from_dict({})
    origin = get_origin(hint) or hint
    if origin in (bool, int, float, str):
        return origin()
    if issubclass(origin, Mapping):
        return {}
    if issubclass(origin, Sequence):
        return ()
    raise TypeError(f"a {origin.__name__} must be given; it is missing")


def is_contract(hint: Any) -> bool:
    """Whether a type is a contract."""
    return isinstance(hint, type) and issubclass(hint, JsonContract)
