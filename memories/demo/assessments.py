"""Assessments of the demo world: judged queries, annotations of memories, verdicts on pairs."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from memories.demo.world_records import CLOCK, DemoQuery
from memories.demo.world_writer import BY, WorldWriter
from memories.models import Annotation, JudgedQuery, Judgement, JudgementSet, Memory, ReviewItem
from memories.models.choices import QueryKind, Status, Verdict
from memories.tuning.splits import split_of

SET_NAME = "demo"


def store_judgements(writer: WorldWriter) -> None:
    """Store the test collection: its queries and their graded answers."""
    note = "Written with the demo world; tempting wrong answers have grade 0, and so has all that is not listed."
    judgement_set = JudgementSet(namespace=writer.namespace, name=SET_NAME, note=note, created_at=CLOCK)
    judgement_set.save(force_insert=True)
    queries = {query.query: judged_query(judgement_set, query) for query in writer.world.queries}
    JudgedQuery.objects.bulk_create(queries.values())
    Judgement.objects.bulk_create(
        Judgement(query=queries[query.query], memory_id=memory, grade=grade, judged_at=CLOCK, judged_by=SET_NAME)
        for query in writer.world.queries
        for memory, grade in grades_by_memory(writer, query).items()
    )


def judged_query(judgement_set: JudgementSet, query: DemoQuery) -> JudgedQuery:
    """The unsaved row of a query."""
    return JudgedQuery(
        namespace_id=judgement_set.namespace_id,
        judgement_set_id=judgement_set.id,
        text=query.query,
        category=query.category,
        kind=QueryKind.ANSWERABLE if query.answerable else QueryKind.UNANSWERABLE,
        split=split_of(query.query),
        user=query.user,
    )


def grades_by_memory(writer: WorldWriter, query: DemoQuery) -> Mapping[UUID, int]:
    """Grades of the stored memories; a merged memory's grade goes to the one that absorbed it, the higher wins."""
    best: dict[UUID, int] = {}
    for key, grade in query.grades.items():
        memory = writer.memories[key]
        best[memory] = max(best.get(memory, 0), grade)
    return best


def store_annotations(writer: WorldWriter) -> None:
    """Store the annotations, and verdicts on the pairs written to be duplicates or distinct."""
    # Another embedder may merge two annotated memories: then the last annotation counts.
    annotations = {
        (memory, annotation.annotator): annotation
        for annotation in writer.world.annotations
        if (memory := writer.memories.get(annotation.memory))
    }
    Annotation.objects.bulk_create(
        Annotation(
            namespace=writer.namespace,
            memory_id=memory,
            annotator=annotator,
            type=annotation.type,
            right=annotation.right,
            confidence=annotation.confidence,
            domain=annotation.domain,
            created_at=CLOCK,
        )
        for (memory, annotator), annotation in annotations.items()
    )
    # A pair that awaits review, or that another embedder merged, stays as it is.
    ReviewItem.objects.bulk_create(pair_verdicts(writer), ignore_conflicts=True)


def pair_verdicts(writer: WorldWriter) -> Iterator[ReviewItem]:
    """Reviewed pairs; a merged memory is found by its content."""
    merged = Memory.objects.within(writer.namespace).filter(status=Status.MERGED)
    merged_by_content = {memory.content: memory for memory in merged}
    for link in writer.world.links:
        if link.source not in writer.memories or link.target not in writer.memories:
            continue
        if link.cosine is None or link.kind not in (Verdict.DUPLICATE, Verdict.DISTINCT):
            continue
        absorbed = merged_by_content.get(writer.world.memories[link.source].content)
        target = writer.memories[link.target]
        source = absorbed.id if absorbed and link.kind == Verdict.DUPLICATE else writer.memories[link.source]
        if source == target:
            continue
        first, second = sorted((source, target))
        yield ReviewItem(
            namespace=writer.namespace,
            first_id=first,
            second_id=second,
            cosine=link.cosine,
            reason="",
            state=link.kind,
            created_at=CLOCK,
            decided_at=CLOCK,
            decided_by=BY,
        )
