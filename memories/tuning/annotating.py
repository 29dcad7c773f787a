"""What people say of memories: kept once for each of them, and asked for in a fixed order."""

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
from memories.writing.refusal import AbsentError

NEWEST = 2_000  # memories of each type among which is chosen


class NewAnnotation(NamedTuple):
    """One annotator's word on a memory, as it comes in."""

    memory: UUID
    annotator: str
    type: str
    right: bool
    confidence: float


class Kept(NamedTuple):
    """How many words were new, and how many took the place of an earlier one of the same annotator."""

    added: int
    replaced: int


@transaction.atomic
def annotate(namespace: Namespace, news: Sequence[NewAnnotation]) -> Kept:
    """Keep annotations, all or none; whoever says something again has changed their mind (AbsentError)."""
    last = {(new.memory, new.annotator): new for new in news}
    known = Memory.objects.within(namespace).exclude(status=Status.FORGOTTEN)
    found = set(known.filter(id__in={memory for memory, _ in last}).values_list("id", flat=True))
    for new in news:
        if new.memory not in found:
            raise AbsentError(new.memory)
    before = Annotation.objects.within(namespace).filter(memory_id__in=found).values_list("memory_id", "annotator")
    replaced = len(set(before) & set(last))
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
                created_at=now,
            )
            for new in last.values()
        ],
        update_conflicts=True,
        unique_fields=["namespace", "memory_id", "annotator"],
        update_fields=["type", "right", "confidence", "created_at"],
    )
    return Kept(len(last) - replaced, replaced)


def next_up(namespace: Namespace, annotator: str, skipped: Collection[UUID]) -> Memory | None:
    """The memory to annotate next: what others have annotated first, then the type that is annotated least."""
    mine = Annotation.objects.within(namespace).filter(annotator=annotator)
    open = statements(namespace).exclude(id__in=skipped).filter(~Exists(mine.filter(memory_id=OuterRef("id"))))
    others = Annotation.objects.within(namespace).exclude(annotator=annotator)
    begun = open.filter(id__in=others.order_by("-created_at", "id").values("memory_id")[:NEWEST])
    if (one := shuffled(begun).first()) is not None:
        return one
    counts = dict(mine.values_list("memory__type").annotate(Count("id")).order_by())
    for type in sorted(MemoryType.values, key=lambda type: counts.get(type, 0)):
        newest = statements(namespace).filter(type=type).order_by("-created_at", "id").values("id")[:NEWEST]
        if (one := shuffled(open.filter(id__in=newest)).first()) is not None:
            return one
    return None


def statements(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """What states something by itself, and can come back."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)


def shuffled(memories: NamespacedQuerySet[Memory]) -> NamespacedQuerySet[Memory]:
    """In an order that tells nothing and never changes."""
    return memories.order_by(MD5(Cast("id", TextField())), "id")
