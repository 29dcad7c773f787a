"""The next memory to annotate, with the form's values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.http import HttpRequest

from memories.models import Annotation, Memory, MemorySource, Namespace
from memories.models.annotation import MAX_DOMAIN_LENGTH
from memories.models.choices import MemoryType
from memories.pages.request_data import is_uuid
from memories.tuning.annotation_records import next_memory_to_annotate
from scoring.calibration import DOMAINS
from scoring.params import ParamProblem

MAX_SKIPPED = 100


@dataclass(frozen=True)
class AnnotationTask:
    """A memory to annotate with its first source, and the form as typed."""

    memory: Memory | None
    source: MemorySource | None
    own_annotations: int  # of this annotator so far
    skipped: list[str]
    last_domain: str = ""  # of this annotator's latest annotation
    typed: Mapping[str, str] = field(default_factory=dict)
    problems: list[ParamProblem] = field(default_factory=list)
    types: list[str] = field(default_factory=lambda: list(MemoryType.values))
    domains: Sequence[str] = DOMAINS
    max_domain_length: int = MAX_DOMAIN_LENGTH

    @property
    def domain(self) -> str:
        """The domain as typed, else the one this annotator gave last."""
        return self.typed.get("domain", self.last_domain)

    @property
    def headline(self) -> str:
        """What the panel asks for."""
        return "What type is it, and is it right?" if self.memory else "Nothing left to annotate"

    @property
    def is_finished(self) -> bool:
        """Whether this annotator has seen memories, and none is left."""
        return bool(self.own_annotations or self.skipped)


def annotator_name(request: HttpRequest) -> str:
    """The name under which a member annotates."""
    return request.user.get_username()


def annotation_task(
    request: HttpRequest,
    namespace: Namespace,
    *,
    typed: Mapping[str, str] | None = None,
    problems: list[ParamProblem] | None = None,
) -> AnnotationTask:
    """The member's next memory; after an invalid form the same one."""
    skipped = [text for text in request.GET.getlist("skip") if is_uuid(text)][-MAX_SKIPPED:]
    same = (typed or {}).get("memory", "") if problems else ""
    memory = Memory.objects.within(namespace).filter(id=UUID(same)).first() if is_uuid(same) else None
    annotator = annotator_name(request)
    memory = memory or next_memory_to_annotate(namespace, annotator, [UUID(text) for text in skipped])
    source = first_source(namespace, memory) if memory else None
    own = Annotation.objects.within(namespace).filter(annotator=annotator)
    latest = own.order_by("-created_at", "-id").values_list("domain", flat=True).first() or ""
    return AnnotationTask(memory, source, own.count(), skipped, latest, typed or {}, problems or [])


def first_source(namespace: Namespace, memory: Memory) -> MemorySource | None:
    """The first turn that stated a memory."""
    sources = MemorySource.objects.within(namespace).filter(memory_id=memory.id, turn_id__isnull=False)
    return sources.select_related("turn").order_by("observed_at", "id").first()
