"""The secrets that let agents in: made once, shown once, kept as a hash."""

import hashlib
import secrets
from typing import NamedTuple

MARK = "rk_"
SHOWN = len(MARK) + 6


class Key(NamedTuple):
    """A new key: the secret itself, its SHA-256, and the beginning by which a person tells keys apart."""

    plain: str
    hash: bytes
    prefix: str


def make_key() -> Key:
    """Make a key of 256 random bits."""
    plain = MARK + secrets.token_urlsafe(32)
    return Key(plain, hash_of(plain), plain[:SHOWN])


def hash_of(plain: str) -> bytes:
    """Give what is kept of a key; so long a random secret needs no salt and no slow hash."""
    return hashlib.sha256(plain.encode()).digest()
