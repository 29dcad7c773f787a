"""What JSON and Python hold but a database or another reader of JSON does not: found wherever it stands."""

import json
import math
from collections.abc import Iterator
from typing import Any

DEEPEST = 32
SHOWN = 60  # characters of a value that a message repeats


def came(value: Any) -> str:
    """Show a value as it came, shortened."""
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def flaw(value: Any) -> str:
    """Say why a single value cannot be stored, or nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number; got {value}"
    if not isinstance(value, str):
        return ""
    if "\0" in value:
        return f"must not hold the character U+0000; got one at position {value.index(chr(0))}"
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(value[error.start]):04X} at position {error.start}"
        return f"must be valid Unicode without lone surrogates; got {found}"
    return ""


def sound(body: Any) -> bool:
    """Tell whether all of a JSON value can be stored."""
    level = [body]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif value.__class__ in (str, float) and flaw(value):
                return False
        if not inner:
            return True
        level = inner
    return False


def flaws(body: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Name every place of a JSON value that cannot be stored, and why."""
    if depth > DEEPEST:
        yield place, f"must not be nested deeper than {DEEPEST} levels"
    elif isinstance(body, dict):
        for name, value in body.items():
            if wrong := flaw(name):
                yield place, f"a name {wrong}"
            yield from flaws(value, f"{place}.{name}".lstrip("."), depth + 1)
    elif isinstance(body, list):
        for number, value in enumerate(body):
            yield from flaws(value, f"{place}.{number}".lstrip("."), depth + 1)
    elif wrong := flaw(body):
        yield place, wrong
