"""JSON lines as typed records; a key or a value that does not fit is refused."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")


def lines(record: type[R], path: Path) -> Iterator[R]:
    """Read one record from each line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield typed(record, json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error


def typed(wanted: Any, value: Any) -> Any:
    """Turn plain JSON into the wanted type, or say what does not fit."""
    if isinstance(wanted, UnionType):
        return _one_of(get_args(wanted), value)
    if is_dataclass(wanted):
        return _record(wanted, _checked(dict, value))
    if get_origin(wanted) is tuple:
        return tuple(typed(get_args(wanted)[0], one) for one in _checked(list, value))
    if get_origin(wanted) is Mapping:
        return {key: typed(get_args(wanted)[1], one) for key, one in _checked(dict, value).items()}
    if wanted in (datetime, date):
        return wanted.fromisoformat(_checked(str, value))
    return _checked(wanted, value)


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    """Tell alternatives apart by their JSON: null, an object, anything else."""
    if value is None and type(None) in choices:
        return None
    fitting = [one for one in choices if one is not type(None) and is_dataclass(one) == isinstance(value, dict)]
    if not fitting:
        raise ValueError(f"{value!r} is none of {', '.join(one.__name__ for one in choices)}")
    return typed(fitting[0], value)


def _record(wanted: Any, value: dict[str, Any]) -> Any:
    """Fill a record: every key known, none missing."""
    known = {one.name: one.default is MISSING for one in fields(wanted)}
    if unknown := sorted(set(value) - set(known)):
        raise ValueError(f"{wanted.__name__} knows {', '.join(known)}; got {', '.join(unknown)}")
    if missing := [name for name, required in known.items() if required and name not in value]:
        raise ValueError(f"{wanted.__name__} needs {', '.join(missing)}")
    hints = get_type_hints(wanted)
    return wanted(**{name: typed(hints[name], one) for name, one in value.items()})


def _checked(wanted: type, value: Any) -> Any:
    """Refuse a value of another type; a whole number will do for a fraction."""
    if type(value) is wanted:
        return value
    if wanted is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r} is not a {wanted.__name__}")
