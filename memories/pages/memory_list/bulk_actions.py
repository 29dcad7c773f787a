"""Actions on several selected memories: confirm, tag, forget."""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework.exceptions import ValidationError

from memories.models import Memory
from memories.web.fields import Identifier, ListOf, OneOf, Text
from memories.web.pagination import MAX_LIMIT
from memories.web.roles import Access
from memories.web.serializers import StrictObject
from memories.writing import feedback
from memories.writing.edit import edit_memory
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError


class BulkActionSerializer(StrictObject):
    """An action and the ids of the selected memories."""

    act = OneOf(choices=["confirm", "tag", "forget"])
    ids = ListOf(child=Identifier(), max_length=MAX_LIMIT, min_length=1)
    tag = Text(max_length=100, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a tag for tagging."""
        if attrs["act"] == "tag" and "tag" not in attrs:
            raise ValidationError({"tag": ["must not be empty"]})
        return attrs


def run_bulk_action(access: Access, body: Mapping[str, Any], rows: list[Memory]) -> dict[str, Any]:
    """Apply the action to each memory; the outcomes in order of selection, as JSON for the session."""
    label, apply = BULK_ACTIONS[body["act"]]
    outcomes = []
    for memory in sorted(rows, key=lambda memory: body["ids"].index(memory.id)):
        error_message = ""
        try:
            apply(access, memory, body)
        except (NotFoundError, RefusedError, IntervalError) as error:
            error_message = str(error)
        outcomes.append({"id": str(memory.id), "error": error_message})
    return {
        "action": label,
        "succeeded": sum(not outcome["error"] for outcome in outcomes),
        "rows": outcomes,
        "absent": len(body["ids"]) - len(rows),
        "selected": len(body["ids"]),
    }


def outcomes_with_content(access: Access, outcomes: dict[str, Any]) -> dict[str, Any]:
    """Outcomes with the memories' content; the session stores only ids, so that no content outlives its memory."""
    rows = Memory.objects.within(access.namespace).filter(id__in=[row["id"] for row in outcomes["rows"]])
    contents = {str(memory.id): memory.content for memory in rows}
    return {**outcomes, "rows": [{**row, "content": contents.get(row["id"], row["id"])} for row in outcomes["rows"]]}


def confirm_selected(access: Access, memory: Memory, body: Mapping[str, Any]) -> None:
    feedback.confirm_memory(access.namespace, memory.id, by=access.caller)


def tag_selected(access: Access, memory: Memory, body: Mapping[str, Any]) -> None:
    tags = [*(row.tag for row in memory.tags.all()), body["tag"]]
    edit_memory(access.namespace, memory.id, {"tags": tags}, by=access.caller)


def forget_selected(access: Access, memory: Memory, body: Mapping[str, Any]) -> None:
    feedback.forget_memory(access.namespace, memory.id, by=access.caller)


BULK_ACTIONS: dict[str, tuple[str, Callable[[Access, Memory, Mapping[str, Any]], None]]] = {
    "confirm": ("Confirmed", confirm_selected),
    "tag": ("Tagged", tag_selected),
    "forget": ("Forgotten", forget_selected),
}
