"""Which stored memories a file means: by their ids, by their words, or by a name of their own in the metadata."""

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
    """The memories that a file's references mean, found in one question for each way of referring."""

    ids: set[UUID] = field(default_factory=set)
    by_text: dict[str, list[UUID]] = field(default_factory=dict)

    @classmethod
    def resolve(
        cls, namespace: Namespace, references: Iterable["UUID | str"], source: str = "content"
    ) -> "ResolvedReferences":
        """Look references up: ids as they are, texts as a memory's content or under a key of its metadata."""
        asked = set(references)
        ids, texts = {one for one in asked if isinstance(one, UUID)}, {one for one in asked if isinstance(one, str)}
        return cls(existing_memory_ids(namespace, ids), memories_by_text(namespace, texts, source))

    def lookup(self, reference: "UUID | str") -> UUID | str:
        """The memory that a reference means, or what is wrong with it."""
        if isinstance(reference, UUID):
            return reference if reference in self.ids else f"must be a memory of this namespace; got {reference}"
        meant = self.by_text.get(reference, [])
        if len(meant) == 1:
            return meant[0]
        if not meant:
            return f"must be what a memory of this namespace says; got {quote_value(reference)}"
        return f"must mean one memory, and {len(meant)} have it: name one by its id; got {quote_value(reference)}"


def judgeable_memories(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """What can be judged: a forgotten memory is as good as none."""
    return Memory.objects.within(namespace).exclude(status=Status.FORGOTTEN)


def existing_memory_ids(namespace: Namespace, ids: Collection[UUID]) -> set[UUID]:
    """Those ids that are memories of the namespace."""
    return set(judgeable_memories(namespace).filter(id__in=ids).values_list("id", flat=True)) if ids else set()


def memories_by_text(namespace: Namespace, texts: Collection[str], source: str) -> dict[str, list[UUID]]:
    """The memories behind each text; those that are active before all others, which are merged or superseded copies."""
    if not texts:
        return {}
    column: Any = F("content")
    if source.startswith(METADATA_PREFIX):
        column = KeyTextTransform(source.removeprefix(METADATA_PREFIX), "metadata")
    order = Case(When(status=Status.ACTIVE, then=Value(0)), default=Value(1), output_field=IntegerField())
    rows = judgeable_memories(namespace).annotate(said=column, order=order).filter(said__in=texts)
    found: dict[str, list[UUID]] = {}
    for said, id, later in rows.order_by("order", "-id").values_list("said", "id", "order"):
        if later and said in found:
            continue  # an active one says the same, or a newer one that is gone as well
        found.setdefault(said, []).append(id)
    return found
