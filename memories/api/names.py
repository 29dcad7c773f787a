"""Names that entities can have."""

from typing import Any

from rest_framework.exceptions import ValidationError

from memories.api.fields import Text
from memories.api.storable import came
from memories.models.graph import LONGEST_NAME
from scoring.dedup import normalize


class Name(Text):
    """A name that is more than punctuation; NFKC may lengthen its normalised form, which has a limit as well."""

    default_error_messages = {"meaningless": "must hold more than punctuation and white space; got {came}"}

    def __init__(self, *, max_length: int = LONGEST_NAME, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not normalize(name):
            self.fail("meaningless", came=came(name))
        if len(normalize(name)) > LONGEST_NAME >= len(name):
            raise ValidationError([f"must have at most {LONGEST_NAME} characters in NFKC; got {len(normalize(name))}"])
        return name
