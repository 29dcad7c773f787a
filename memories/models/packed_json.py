"""A field for JSON that no query looks into, stored compressed."""

from typing import TYPE_CHECKING, Any

import orjson
from django.db import models

from memories.db.json_codec import encode_json, pack_json, unpack_json


class PackedJSONField(models.BinaryField):  # type: ignore[type-arg]
    """A JSON object, compressed."""

    if TYPE_CHECKING:
        _pyi_private_get_type: Any

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else unpack_json(bytes(value))

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else pack_json(value)

    def value_to_string(self, obj: models.Model) -> str:
        return encode_json(self.value_from_object(obj)).decode()

    def to_python(self, value: Any) -> Any:
        return orjson.loads(value) if isinstance(value, str) else value
