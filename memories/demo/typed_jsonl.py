"""Strict parsing of JSON Lines into dataclasses; unknown keys and wrong types are errors."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")


def read_jsonl(record: type[R], path: Path) -> Iterator[R]:
    """Parse one record per line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield parse_typed(record, json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error


def parse_typed(expected: Any, value: Any) -> Any:
    """Convert a JSON value to the expected type, or raise ValueError."""
    if isinstance(expected, UnionType):
        return _parse_union(get_args(expected), value)
    if is_dataclass(expected):
        return _parse_record(expected, _require_type(dict, value))
    if get_origin(expected) is tuple:
        return tuple(parse_typed(get_args(expected)[0], item) for item in _require_type(list, value))
    if get_origin(expected) is Mapping:
        return {key: parse_typed(get_args(expected)[1], item) for key, item in _require_type(dict, value).items()}
    if expected in (datetime, date):
        return expected.fromisoformat(_require_type(str, value))
    return _require_type(expected, value)


def _parse_union(choices: tuple[Any, ...], value: Any) -> Any:
    """Choose the union member by JSON type: null, object or other."""
    if value is None and type(None) in choices:
        return None
    fitting = [
        choice for choice in choices if choice is not type(None) and is_dataclass(choice) == isinstance(value, dict)
    ]
    if not fitting:
        raise ValueError(f"{value!r} is none of {', '.join(choice.__name__ for choice in choices)}")
    return parse_typed(fitting[0], value)


def _parse_record(expected: Any, value: dict[str, Any]) -> Any:
    """Build a dataclass; every key must be known and no required one missing."""
    known = {field.name: field.default is MISSING for field in fields(expected)}
    if unknown := sorted(set(value) - set(known)):
        raise ValueError(f"{expected.__name__} knows {', '.join(known)}; got {', '.join(unknown)}")
    if missing := [name for name, required in known.items() if required and name not in value]:
        raise ValueError(f"{expected.__name__} needs {', '.join(missing)}")
    hints = get_type_hints(expected)
    return expected(**{name: parse_typed(hints[name], item) for name, item in value.items()})


def _require_type(expected: type, value: Any) -> Any:
    """Require a value's exact type; an int is accepted as float."""
    if type(value) is expected:
        return value
    if expected is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r} is not a {expected.__name__}")
