"""Actions on one memory: confirm, correct, contradict, edit, split, forget."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rest_framework.exceptions import ValidationError

from memories.contracts.number_format import format_number
from memories.models import Memory
from memories.models.choices import SourceLevel, Status
from memories.text.provider_error import ProviderError
from memories.web.evidence_bodies import (
    ContradictionSerializer,
    CorrectionSerializer,
    contradict_from_body,
    correct_from_body,
)
from memories.web.memory_body import MemoryEditSerializer
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.writing import feedback
from memories.writing.edit import edit_memory
from memories.writing.merge import split_memory
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError

ACTION_ERRORS = (ValidationError, NotFoundError, RefusedError, IntervalError, ProviderError)


class ActionResult(NamedTuple):
    """The message of an action, and the memory to show next."""

    message: str
    memory: Memory


def confirm_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    before = memory.confidence
    after = feedback.confirm_memory(access.namespace, memory.id, by=access.caller).memory.confidence
    message = f"Confirmed: its confidence went from {format_number(before, 4)} to {format_number(after, 4)}."
    return ActionResult(message, memory)


def correct_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    # A person states it here, so the source is direct whatever the source of the corrected memory.
    body = {"content": form.get("content", ""), "source_level": SourceLevel.DIRECT}
    outcome, old = correct_from_body(access, memory.id, valid_values(CorrectionSerializer(data=body)))
    if outcome.outcome == "rejected":
        raise RefusedError(f"The correction was rejected: {outcome.reason}.", "rejected")
    message = f"Corrected: this memory is {outcome.outcome}, the corrected one is {old.memory.status}."
    return ActionResult(message, outcome.memory)


def contradict_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    body = {name: form.get(name, "").strip() for name in ("memory", "reason")}
    this, other, is_new = contradict_from_body(access, memory.id, valid_values(ContradictionSerializer(data=body)))
    if not is_new:
        return ActionResult("Already recorded as a contradiction; belief is lost once for a pair.", memory)
    beliefs = f"to {format_number(this.memory.belief, 1)}, that of the other to {format_number(other.memory.belief, 1)}"
    return ActionResult(f"Contradicted: its belief fell {beliefs}.", memory)


def edit_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    """Change how far its source supports it, and how far it is from the source."""
    depth = form.get("provenance_depth", "").strip()
    body = {"grounding": form.get("grounding", ""), "provenance_depth": int(depth) if depth.isdecimal() else depth}
    before = memory.confidence
    state = edit_memory(access.namespace, memory.id, valid_values(MemoryEditSerializer(data=body)), by=access.caller)
    if state.memory.status == Status.REJECTED:
        return ActionResult(f"Rejected: {state.memory.reason}.", memory)
    after = f"{format_number(before, 4)} to {format_number(state.memory.confidence, 4)}"
    return ActionResult(f"Saved: its confidence went from {after}.", memory)


def split_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    split_memory(access.namespace, memory.id, by=access.caller)
    return ActionResult("Split off: it is active again, and the merge is undone.", memory)


def forget_action(access: Access, memory: Memory, form: Mapping[str, str]) -> ActionResult:
    feedback.forget_memory(access.namespace, memory.id, by=access.caller)
    return ActionResult("Forgotten: it is no longer returned, and the next purge erases it.", memory)


MEMORY_ACTIONS: dict[str, Callable[[Access, Memory, Mapping[str, str]], ActionResult]] = {
    "confirm": confirm_action,
    "correct": correct_action,
    "contradict": contradict_action,
    "edit": edit_action,
    "split": split_action,
    "forget": forget_action,
}


def action_error_status(error: Exception) -> int:
    """The status the API would return."""
    return {ValidationError: 400, IntervalError: 400, ProviderError: 503}.get(type(error), 409)
