"""What people said of the demo's memories: annotations of two of them, and pairs that were decided."""

from collections.abc import Iterator

from memories.demo.world_records import CLOCK
from memories.demo.world_writer import BY, Telling
from memories.models import Annotation, Memory, ReviewItem
from memories.models.choices import Status, Verdict


def add(telling: Telling) -> None:
    """Write the annotations, and verdicts on the pairs that were written to be the same or to be two."""
    said = {
        (id, one.annotator): one for one in telling.world.annotations if (id := telling.memories.get(one.memory))
    }  # another embedder may have merged two that were annotated; the last word on both counts
    Annotation.objects.bulk_create(
        Annotation(
            namespace=telling.namespace,
            memory_id=memory,
            annotator=annotator,
            type=one.type,
            right=one.right,
            confidence=one.confidence,
            created_at=CLOCK,
        )
        for (memory, annotator), one in said.items()
    )
    # A pair that waits for a person, or that another embedder has made one, stays as it is.
    ReviewItem.objects.bulk_create(verdicts(telling), ignore_conflicts=True)


def verdicts(telling: Telling) -> Iterator[ReviewItem]:
    """Decided pairs; what was absorbed has a row of its own, found by its text."""
    merged = Memory.objects.within(telling.namespace).filter(status=Status.MERGED)
    absorbed = {row.content: row for row in merged}
    told = telling.memories
    for link in telling.world.links:
        if link.source not in told or link.target not in told:
            continue
        if link.cosine is None or link.kind not in (Verdict.DUPLICATE, Verdict.DISTINCT):
            continue
        row = absorbed.get(telling.world.memories[link.source].content)
        target = telling.memories[link.target]
        source = row.id if row and link.kind == Verdict.DUPLICATE else telling.memories[link.source]
        if source == target:
            continue
        first, second = sorted((source, target))
        decided = {"state": link.kind, "created_at": CLOCK, "decided_at": CLOCK, "decided_by": BY}
        yield ReviewItem(
            namespace=telling.namespace, first_id=first, second_id=second, cosine=link.cosine, reason="", **decided
        )
