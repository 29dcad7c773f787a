"""A faster JSON renderer for large responses."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

ENCODE_OTHER_TYPES = JSONEncoder().default


class OrjsonRenderer(JSONRenderer):
    """JSON by orjson: a response with explanations has thousands of numbers.

    orjson writes NaN and infinity as null; signals and scores are checked to have none.
    """

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Compact, unless the client asks for indentation."""
        if data is None or self.get_indent(accepted_media_type or "", {**(renderer_context or {})}):
            rendered: bytes = super().render(data, accepted_media_type, renderer_context)
            return rendered
        return orjson.dumps(data, ENCODE_OTHER_TYPES, orjson.OPT_PASSTHROUGH_DATETIME)
