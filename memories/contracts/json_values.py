"""JSON values that can be stored: Postgres rejects NUL and lone surrogates, other parsers NaN and deep nesting."""

import json
import math
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32
MAX_QUOTED_CHARS = 60  # characters of a value quoted in a message


class InvalidJsonError(ValueError):
    """Bytes that are not valid JSON; says why."""


def parse_json(raw: bytes) -> Any:
    """Parse JSON in UTF-8; the error names the line and column where parsing stopped."""
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise InvalidJsonError(f"must be UTF-8; got 0x{raw[error.start]:02x} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise InvalidJsonError(f"must be JSON; at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise InvalidJsonError(f"must not be nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:  # Python's limit for int() is 4,300 digits
        raise InvalidJsonError("must hold no integer of more than 4300 digits") from error


def quote_value(value: Any) -> str:
    """A received value as JSON, truncated, for an error message."""
    text = json.dumps(value[:MAX_QUOTED_CHARS] if isinstance(value, str) else value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"


def storage_error(value: Any) -> str:
    """Why a single value cannot be stored; empty if it can."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number; got {value}"
    if not isinstance(value, str):
        return ""
    if "\0" in value:
        return f"must not hold the character U+0000; got one at position {value.index(chr(0))}"
    try:
        value.encode()
    except UnicodeEncodeError as error:
        character = f"U+{ord(value[error.start]):04X} at position {error.start}"
        return f"must be valid Unicode without lone surrogates; got {character}"
    return ""


def is_storable(body: Any) -> bool:
    """Whether a whole JSON value can be stored; faster than listing its errors."""
    level = [body]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif value.__class__ in (str, float) and storage_error(value):
                return False
        if not inner:
            return True
        level = inner
    return False


def storage_errors(body: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every path of a JSON value that cannot be stored, and why."""
    if depth > MAX_DEPTH:
        yield path, f"must not be nested deeper than {MAX_DEPTH} levels"
    elif isinstance(body, dict):
        for name, value in body.items():
            if message := storage_error(name):
                yield path, f"a name {message}"
            yield from storage_errors(value, f"{path}.{name}".lstrip("."), depth + 1)
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from storage_errors(value, f"{path}.{index}".lstrip("."), depth + 1)
    elif message := storage_error(body):
        yield path, message
