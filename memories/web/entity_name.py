"""The input field for entity names."""

from typing import Any

from rest_framework.exceptions import ValidationError

from memories.contracts.json_values import quote_value
from memories.models.graph import MAX_NAME_CHARS
from memories.web.fields import Text
from scoring.dedup import normalize


class EntityName(Text):
    """A name that is more than punctuation. NFKC may lengthen its normalised form, so that is limited too."""

    default_error_messages = {"meaningless": "must contain more than punctuation and white space; got {got}"}

    def __init__(self, *, max_length: int = MAX_NAME_CHARS, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not normalize(name):
            self.fail("meaningless", got=quote_value(name))
        if len(normalize(name)) > MAX_NAME_CHARS >= len(name):
            raise ValidationError(
                [f"must have at most {MAX_NAME_CHARS} characters in NFKC; got {len(normalize(name))}"]
            )
        return name
