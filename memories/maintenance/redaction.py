"""What is left of a text or a record once something that it names is erased."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

ERASED = "the memory it named was erased"


@dataclass(frozen=True)
class Redaction:
    """The ids and texts that must not be told any more."""

    ids: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def of(cls, ids: Iterable[UUID], texts: Iterable[str]) -> Self:
        """Redact what names or quotes some memories."""
        return cls(frozenset(map(str, ids)), frozenset(filter(None, texts)))

    def tells(self, value: Any) -> bool:
        """Whether a piece of JSON names an id, or says or quotes a text."""
        if isinstance(value, dict):
            return any(self.tells(part) for pair in value.items() for part in pair)
        if isinstance(value, list):
            return any(map(self.tells, value))
        if not isinstance(value, str):
            return False
        # A short text may stand in a long one by chance, so only a quotation counts.
        return (
            value in self.texts
            or any(id in value for id in self.ids)
            or any(f"“{text}”" in value for text in self.texts)
        )

    def of_json(self, value: Any) -> Any:
        """The same JSON without it: a list loses the item, an object the key, a text all its words."""
        if not self.tells(value):
            return value
        if isinstance(value, dict):
            return {key: self.of_json(part) for key, part in value.items() if not self.tells(key)}
        if isinstance(value, list):
            return [item for item in value if not self.tells(item)]
        return ERASED
