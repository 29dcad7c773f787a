"""Corrections and contradictions as request bodies."""

from typing import Any
from uuid import UUID

from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty

from memories.web.fields import Identifier, Text
from memories.web.http_errors import unknown_memory_error
from memories.web.memory_body import NewMemorySerializer, existing_turns, new_memory_from_body
from memories.web.roles import Access
from memories.web.serializers import StrictObject
from memories.writing import feedback
from memories.writing.correct import correct_memory
from memories.writing.decide import Outcome
from memories.writing.evidence import EvidenceState
from memories.writing.write_errors import NotFoundError

# Body fields whose name differs from the fields of NewMemory they fill.
MEMORY_FIELDS_BY_BODY_FIELD = {
    "source_level": ("utterances",),
    "sources": ("utterances",),
    "extractor": ("model", "logprobs"),
}


class CorrectionSerializer(NewMemorySerializer):
    """A correction; omitted fields are copied from the corrected memory."""

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, field in fields.items():
            if name != "content":
                field.required, field.default = False, empty
        return fields


class ContradictionSerializer(StrictObject):
    """The other memory of a contradiction."""

    memory = Identifier()
    reason = Text(max_length=1_000, allow_blank=True, default="", help_text="stored in the history of both")


def correct_from_body(access: Access, id: UUID, body: dict[str, Any]) -> tuple[Outcome, EvidenceState]:
    """Correct a memory from a validated body."""
    new = new_memory_from_body(
        access.namespace, {"entities": [], "tags": []} | body, existing_turns(access.namespace, [body])
    )
    changes = {field: getattr(new, field) for name in body for field in MEMORY_FIELDS_BY_BODY_FIELD.get(name, (name,))}
    return correct_memory(access.namespace, id, changes, by=access.caller)


def contradict_from_body(access: Access, id: UUID, body: dict[str, Any]) -> tuple[EvidenceState, EvidenceState, bool]:
    """Contradict a memory by the one in a validated body; the last value says whether that was new."""
    other = body["memory"]
    if other == id:
        raise ValidationError({"memory": [f"must differ from the memory in the URL; got {other}"]})
    try:
        return feedback.contradict_memories(access.namespace, id, other, reason=body["reason"], by=access.caller)
    except NotFoundError as error:
        raise (unknown_memory_error(error, "memory") if error.id == other else error) from error
