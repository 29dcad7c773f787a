"""Environment variables as typed settings; an invalid value raises ImproperlyConfigured with the variable's name."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
PERIODS = ("second", "minute", "hour", "day")
VARIABLES_READ: set[str] = set()


def invalid_variable(name: str, allowed: str, got: str) -> ImproperlyConfigured:
    """The error for an invalid variable: what is allowed and what was given."""
    return ImproperlyConfigured(f"{name} must be {allowed}; got {got!r}.")


def read_str(name: str, default: str = "") -> str:
    """A variable as a string; an empty one counts as unset."""
    VARIABLES_READ.add(name)
    return os.environ.get(name, "").strip() or default


def read_flag(name: str, *, default: bool) -> bool:
    """On or off, in the usual spellings."""
    value = read_str(name, str(default))
    if value.lower() not in FLAGS:
        raise invalid_variable(name, "one of " + ", ".join(FLAGS), value)
    return FLAGS[value.lower()]


def read_int(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number between `low` and `high`."""
    value = read_str(name, str(default))
    if not (value.isascii() and value.isdigit() and low <= int(value) <= high):
        raise invalid_variable(name, f"a whole number from {low} to {high}", value)
    return int(value)


def read_rate(name: str, default: str) -> tuple[int, str] | None:
    """A rate like 600/minute as (600, "minute"); None if it is off."""
    value = read_str(name, default)
    if value == "off":
        return None
    count, _, period = value.partition("/")
    if not (count.isascii() and count.isdigit() and 0 < int(count) <= 1_000_000 and period in PERIODS):
        raise invalid_variable(name, f"a rate like 600/minute (to 1000000; {', '.join(PERIODS)}) or off", value)
    return int(count), period


def read_choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    value = read_str(name, default)
    if value not in allowed:
        raise invalid_variable(name, "one of " + ", ".join(allowed), value)
    return value


def read_list(name: str, default: Sequence[str] = ()) -> list[str]:
    """A comma-separated list."""
    return [item.strip() for item in read_str(name, ",".join(default)).split(",") if item.strip()]


def read_origins(name: str) -> list[str]:
    """A comma-separated list of origins like https://recall.example.com."""
    origins = read_list(name)
    for origin in origins:
        if urlsplit(origin).scheme not in ("http", "https") or not urlsplit(origin).netloc:
            raise invalid_variable(name, "a comma-separated list of origins like https://recall.example.com", origin)
    return origins


def read_folder(name: str, default: Path) -> Path:
    """A folder; a relative path starts at the default's parent."""
    return default.parent.joinpath(Path(read_str(name, str(default))).expanduser()).resolve()


def read_database_url(name: str) -> dict[str, Any] | None:
    """A postgres:// URL as an entry of DATABASES; None if it is unset."""
    value = read_str(name)
    if not value:
        return None
    # The URL may hold a password, so the error repeats its scheme only.
    scheme = value.partition("://")[0] + "://…" if "://" in value else "something else"
    try:
        parts = conninfo_to_dict(value) if value.startswith(("postgres://", "postgresql://")) else {}
    except psycopg.ProgrammingError:
        parts = {}
    if not parts.get("dbname"):
        raise invalid_variable(name, "a URL like postgres://user:password@host:5432/recall", scheme)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {django: str(parts.pop(libpq, "")) for django, libpq in names.items()} | {"OPTIONS": parts}
