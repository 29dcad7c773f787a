"""Annotations of memories: stored once per annotator, handed out in a fixed order."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, TextField
from django.db.models.functions import MD5, Cast
from django.utils import timezone

from memories.models import Annotation, Memory, Namespace
from memories.models.choices import STATEMENTS, MemoryType, Status
from memories.models.keys import NamespacedQuerySet
from memories.writing.write_errors import NotFoundError

MAX_CANDIDATES = 2_000  # newest memories per type to choose from


class NewAnnotation(NamedTuple):
    """One annotator's labels for a memory, as submitted."""

    memory: UUID
    annotator: str
    type: str
    right: bool
    confidence: float
    domain: str = ""


class AnnotationCounts(NamedTuple):
    """How many annotations were added, and how many replaced an earlier one by the same annotator."""

    added: int
    replaced: int


@transaction.atomic
def annotate(namespace: Namespace, annotations: Sequence[NewAnnotation]) -> AnnotationCounts:
    """Store annotations, all or none; the last per annotator and memory wins. Raises NotFoundError."""
    latest = {(new.memory, new.annotator): new for new in annotations}
    visible = Memory.objects.within(namespace).exclude(status=Status.FORGOTTEN)
    existing_ids = set(visible.filter(id__in={memory for memory, _ in latest}).values_list("id", flat=True))
    for new in annotations:
        if new.memory not in existing_ids:
            raise NotFoundError(new.memory)
    earlier = (
        Annotation.objects.within(namespace).filter(memory_id__in=existing_ids).values_list("memory_id", "annotator")
    )
    replaced = len(set(earlier) & set(latest))
    now = timezone.now()
    Annotation.objects.bulk_create(
        [
            Annotation(
                namespace=namespace,
                memory_id=new.memory,
                annotator=new.annotator,
                type=new.type,
                right=new.right,
                confidence=new.confidence,
                domain=new.domain,
                created_at=now,
            )
            for new in latest.values()
        ],
        update_conflicts=True,
        unique_fields=["namespace", "memory_id", "annotator"],
        update_fields=["type", "right", "confidence", "domain", "created_at"],
    )
    return AnnotationCounts(len(latest) - replaced, replaced)


def next_memory_to_annotate(namespace: Namespace, annotator: str, skipped: Collection[UUID]) -> Memory | None:
    """The next memory to annotate: first those others have annotated, then the type with the fewest annotations."""
    own = Annotation.objects.within(namespace).filter(annotator=annotator)
    unannotated = (
        active_statements(namespace).exclude(id__in=skipped).filter(~Exists(own.filter(memory_id=OuterRef("id"))))
    )
    others = Annotation.objects.within(namespace).exclude(annotator=annotator)
    started = unannotated.filter(id__in=others.order_by("-created_at", "id").values("memory_id")[:MAX_CANDIDATES])
    if (memory := in_hash_order(started).first()) is not None:
        return memory
    counts = dict(own.values_list("memory__type").annotate(Count("id")).order_by())
    for type in sorted(MemoryType.values, key=lambda type: counts.get(type, 0)):
        newest = (
            active_statements(namespace).filter(type=type).order_by("-created_at", "id").values("id")[:MAX_CANDIDATES]
        )
        if (memory := in_hash_order(unannotated.filter(id__in=newest)).first()) is not None:
            return memory
    return None


def active_statements(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """Active memories that state something by themselves."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)


def in_hash_order(memories: NamespacedQuerySet[Memory]) -> NamespacedQuerySet[Memory]:
    """A stable pseudo-random order."""
    return memories.order_by(MD5(Cast("id", TextField())), "id")
