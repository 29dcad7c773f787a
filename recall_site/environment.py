"""Reads the environment; a value that cannot be used is refused by name, with what is allowed and what came."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
PERIODS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}  # seconds
READ: set[str] = set()


@dataclass(frozen=True)
class Rate:
    """So many within a period."""

    count: int
    period: str

    @property
    def nanoseconds(self) -> int:
        """How long the period is."""
        return PERIODS[self.period] * 1_000_000_000


def refusal(name: str, allowed: str, came: str) -> ImproperlyConfigured:
    """The one shape of complaint about a variable."""
    return ImproperlyConfigured(f"{name} must be {allowed}, not {came!r}.")


def text(name: str, default: str = "") -> str:
    """A variable as it stands; an empty one counts as absent."""
    READ.add(name)
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    """On or off, in the usual spellings."""
    came = text(name, str(default))
    if came.lower() not in FLAGS:
        raise refusal(name, "one of " + ", ".join(FLAGS), came)
    return FLAGS[came.lower()]


def number(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number between `low` and `high`."""
    came = text(name, str(default))
    if not (came.isascii() and came.isdigit() and low <= int(came) <= high):
        raise refusal(name, f"a whole number from {low} to {high}", came)
    return int(came)


def rate(name: str, default: str) -> Rate | None:
    """A rate like 600/minute; none where it is off."""
    came = text(name, default)
    if came == "off":
        return None
    count, _, period = came.partition("/")
    if not (count.isascii() and count.isdigit() and 0 < int(count) <= 1_000_000 and period in PERIODS):
        raise refusal(name, f"a rate like 600/minute (to 1000000; {', '.join(PERIODS)}) or off", came)
    return Rate(int(count), period)


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    came = text(name, default)
    if came not in allowed:
        raise refusal(name, "one of " + ", ".join(allowed), came)
    return came


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """A list, parted by commas."""
    return [word.strip() for word in text(name, ",".join(default)).split(",") if word.strip()]


def origins(name: str) -> list[str]:
    """A list of addresses like https://recall.example.com."""
    came = words(name)
    for origin in came:
        if urlsplit(origin).scheme not in ("http", "https") or not urlsplit(origin).netloc:
            raise refusal(name, "a list of origins like https://recall.example.com, parted by commas", origin)
    return came


def folder(name: str, default: Path) -> Path:
    """A folder; a relative one is taken from where the default lies."""
    return default.parent.joinpath(Path(text(name, str(default))).expanduser()).resolve()


def database(name: str) -> dict[str, Any] | None:
    """Django's description of the database that a postgres:// address names, or None."""
    came = text(name)
    if not came:
        return None
    # The address may hold a password, so a complaint repeats its scheme alone.
    shown = came.partition("://")[0] + "://…" if "://" in came else "something else"
    try:
        parts = conninfo_to_dict(came) if came.startswith(("postgres://", "postgresql://")) else {}
    except psycopg.ProgrammingError:
        parts = {}
    if not parts.get("dbname"):
        raise refusal(name, "an address like postgres://user:password@host:5432/recall", shown)
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {django: str(parts.pop(libpq, "")) for django, libpq in named.items()} | {"OPTIONS": parts}
