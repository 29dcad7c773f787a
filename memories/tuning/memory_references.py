"""References to memories in files: by id, by content, or by a key of their metadata."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, Value, When
from django.db.models.fields.json import KeyTextTransform

from memories.contracts.json_values import quote_value
from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.models.keys import NamespacedQuerySet

METADATA_PREFIX = "metadata."


@dataclass
class ResolvedReferences:
    """The memories that references resolve to; one SQL query per kind of reference."""

    ids: set[UUID] = field(default_factory=set)
    by_text: dict[str, list[UUID]] = field(default_factory=dict)

    @classmethod
    def resolve(
        cls, namespace: Namespace, references: Iterable["UUID | str"], source: str = "content"
    ) -> "ResolvedReferences":
        """Resolve ids as they are, and texts by content or by a key of the metadata."""
        distinct = set(references)
        ids = {reference for reference in distinct if isinstance(reference, UUID)}
        texts = {reference for reference in distinct if isinstance(reference, str)}
        return cls(existing_memory_ids(namespace, ids), memories_by_text(namespace, texts, source))

    def lookup(self, reference: "UUID | str") -> UUID | str:
        """The memory of a reference, or an error message."""
        if isinstance(reference, UUID):
            return reference if reference in self.ids else f"must be a memory of this namespace; got {reference}"
        matches = self.by_text.get(reference, [])
        if len(matches) == 1:
            return matches[0]
        if not matches:
            return f"must be what a memory of this namespace says; got {quote_value(reference)}"
        return f"must mean one memory, and {len(matches)} have it: name one by its id; got {quote_value(reference)}"


def judgeable_memories(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories that can be judged: all but forgotten ones."""
    return Memory.objects.within(namespace).exclude(status=Status.FORGOTTEN)


def existing_memory_ids(namespace: Namespace, ids: Collection[UUID]) -> set[UUID]:
    """The ids that exist in the namespace."""
    return set(judgeable_memories(namespace).filter(id__in=ids).values_list("id", flat=True)) if ids else set()


def memories_by_text(namespace: Namespace, texts: Collection[str], source: str) -> dict[str, list[UUID]]:
    """The memories of each text; inactive ones only if none is active."""
    if not texts:
        return {}
    column: Any = F("content")
    if source.startswith(METADATA_PREFIX):
        column = KeyTextTransform(source.removeprefix(METADATA_PREFIX), "metadata")
    order = Case(When(status=Status.ACTIVE, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = judgeable_memories(namespace).annotate(text=column, order=order).filter(text__in=texts)
    by_text: dict[str, list[UUID]] = {}
    for text, id, inactive in rows.order_by("order", "-id").values_list("text", "id", "order"):
        if inactive and text in by_text:
            continue  # an active memory has this text, or a newer inactive one
        by_text.setdefault(text, []).append(id)
    return by_text
