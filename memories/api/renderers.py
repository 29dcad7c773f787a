"""How answers are written."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

OTHERWISE = JSONEncoder().default


class LargeAnswerRenderer(JSONRenderer):
    """JSON by a faster writer than that of the others: an answer with its reasons has thousands of numbers.

    It would write what is no number as null; signals and scores are checked to have none.
    """

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """As one line, unless somebody wants to read it."""
        if data is None or self.get_indent(accepted_media_type or "", {**(renderer_context or {})}):
            written: bytes = super().render(data, accepted_media_type, renderer_context)
            return written
        return orjson.dumps(data, OTHERWISE, orjson.OPT_PASSTHROUGH_DATETIME)
