"""JSON that is only ever read whole, packed: as values of its own the database takes longer to store it than all else.

What was stored before it was packed is plain JSON, and is read as such.
"""

import zlib
from typing import TYPE_CHECKING, Any

import orjson
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

OTHERWISE = DjangoJSONEncoder().default
FASTEST = 1  # zlib's level
PLAIN = b"{"


def as_json(value: Any) -> bytes:
    """A value as JSON, moments as Django writes them: to the millisecond."""
    return orjson.dumps(value, OTHERWISE, orjson.OPT_PASSTHROUGH_DATETIME)


def packed(value: Any) -> bytes:
    """A value as it is stored."""
    return zlib.compress(as_json(value), FASTEST)


def unpacked(stored: bytes) -> Any:
    """What was stored.

    >>> unpacked(packed({"late": []})), unpacked(b'{"late": []}')
    ({'late': []}, {'late': []})
    """
    return orjson.loads(stored if stored.startswith(PLAIN) else zlib.decompress(stored))


class PackedJSONField(models.BinaryField):  # type: ignore[type-arg]
    """An object that no question looks into."""

    if TYPE_CHECKING:
        _pyi_private_get_type: Any

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The object."""
        return None if value is None else unpacked(bytes(value))

    def get_prep_value(self, value: Any) -> Any:
        """Its bytes."""
        return None if value is None else packed(value)

    def value_to_string(self, obj: models.Model) -> str:
        """The object as a fixture has it."""
        return as_json(self.value_from_object(obj)).decode()

    def to_python(self, value: Any) -> Any:
        """The object, from a fixture or as it is."""
        return orjson.loads(value) if isinstance(value, str) else value
