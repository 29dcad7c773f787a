"""Compressed JSON for values that are only read as a whole, which Postgres stores faster than jsonb.

Values from before compression are plain JSON.
"""

import zlib
from typing import Any

import orjson
from django.core.serializers.json import DjangoJSONEncoder

ENCODE_OTHER = DjangoJSONEncoder().default
FASTEST = 1  # zlib level
PLAIN_START = b"{"


def encode_json(value: Any) -> bytes:
    """A value as JSON, with datetimes in Django's format (milliseconds)."""
    return orjson.dumps(value, ENCODE_OTHER, orjson.OPT_PASSTHROUGH_DATETIME)


def pack_json(value: Any) -> bytes:
    """A value as compressed JSON."""
    return zlib.compress(encode_json(value), FASTEST)


def unpack_json(stored: bytes) -> Any:
    """The value of compressed or plain JSON.

    >>> unpack_json(pack_json({"timed_out": []})), unpack_json(b'{"timed_out": []}')
    ({'timed_out': []}, {'timed_out': []})
    """
    return orjson.loads(stored if stored.startswith(PLAIN_START) else zlib.decompress(stored))
