"""The memory that is annotated next, and a form that says what was typed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.http import HttpRequest, QueryDict

from memories.models import Annotation, Memory, MemorySource, Namespace
from memories.models.choices import MemoryType
from memories.tuning.annotation_records import next_memory_to_annotate
from scoring.params import ParamProblem

MOST_SKIPPED = 100
SAYS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Asked:
    """A memory to be annotated, with the words it was taken from, and what was typed of it already."""

    memory: Memory | None
    said: MemorySource | None
    mine: int  # annotations of this annotator so far
    skipped: list[str]
    typed: Mapping[str, str] = field(default_factory=dict)
    problems: list[ParamProblem] = field(default_factory=list)
    types: list[str] = field(default_factory=lambda: list(MemoryType.values))


def annotator(request: HttpRequest) -> str:
    """The name under which a member annotates."""
    return request.user.get_username()


def asked(
    request: HttpRequest,
    namespace: Namespace,
    *,
    typed: Mapping[str, str] | None = None,
    problems: list[ParamProblem] | None = None,
) -> Asked:
    """What comes next for the member; after a refusal the same memory again."""
    skipped = [text for text in request.GET.getlist("skip") if is_id(text)][-MOST_SKIPPED:]
    again = (typed or {}).get("memory", "") if problems else ""
    memory = Memory.objects.within(namespace).filter(id=UUID(again)).first() if is_id(again) else None
    memory = memory or next_memory_to_annotate(namespace, annotator(request), [UUID(text) for text in skipped])
    said = first_said(namespace, memory) if memory else None
    mine = Annotation.objects.within(namespace).filter(annotator=annotator(request)).count()
    return Asked(memory, said, mine, skipped, typed or {}, problems or [])


def first_said(namespace: Namespace, memory: Memory) -> MemorySource | None:
    """The turn that said a memory first."""
    sources = MemorySource.objects.within(namespace).filter(memory_id=memory.id, turn_id__isnull=False)
    return sources.select_related("turn").order_by("observed_at", "id").first()


def is_id(text: str) -> bool:
    """Whether a text names a row."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def as_body(form: QueryDict, by: str) -> dict[str, Any]:
    """A form as the API would read it; what was left empty is left out."""
    given = {name: str(form[name]) for name in ("memory", "type", "right", "confidence") if form.get(name)}
    body: dict[str, Any] = {**given, "annotator": by}
    if "right" in given:
        body["right"] = SAYS.get(given["right"], given["right"])
    if "confidence" in given:
        body["confidence"] = number(given["confidence"])
    return body


def number(text: str) -> Any:
    """A number as it was typed; the text itself where it is none."""
    try:
        read = json.loads(text)
    except ValueError:
        return text
    return read if isinstance(read, int | float) else text
