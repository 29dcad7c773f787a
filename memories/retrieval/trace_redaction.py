"""What may still be read of a trace: not the words of a memory that was forgotten since."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from memories.models import Memory, Namespace, Trace
from memories.models.choices import Status


def redact_forgotten(trace: Trace) -> dict[str, Any]:
    """The answer of a trace without the words of what was forgotten since; what is gone is named."""
    answer = trace.answer
    told = {name: answer.get(name, []) for name in ("results", "nearest")}
    gone = forgotten_ids(trace.namespace, {UUID(one["id"]) for some in told.values() for one in some})
    if not gone:
        return {**answer, "gone": []}
    groups = {type: [one for one in some if one["id"] not in gone] for type, some in answer.get("context", {}).items()}
    return {
        **answer,
        **{name: [without_content(one) if one["id"] in gone else one for one in some] for name, some in told.items()},
        "context": {type: some for type, some in groups.items() if some},
        "gone": sorted(gone),
    }


def forgotten_ids(namespace: Namespace, ids: Iterable[UUID]) -> set[str]:
    """Of some memories those that were forgotten, or are not even kept any more."""
    asked = set(ids)
    kept = Memory.objects.within(namespace).filter(id__in=asked).exclude(status=Status.FORGOTTEN)
    return {str(id) for id in asked - set(kept.values_list("id", flat=True))} if asked else set()


def without_content(one: Mapping[str, Any]) -> dict[str, Any]:
    """A result with its numbers and without its words."""
    return {**one, "content": "", "gone": True}
