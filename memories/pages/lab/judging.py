"""Grades that a person gives to hits: kept as judged queries of a set of the Lab's own."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.models import JudgedQuery, Judgement, JudgementSet, Trace

SET = "Lab"
NOTE = "Judged hit by hit in the Lab."


def query_of(trace: Trace) -> dict[str, object]:
    """By what a judged query is known again: its words, who asks and from when."""
    return {
        "text": trace.query,
        "user": trace.request["user"],
        "as_of": trace.as_of if trace.request["as_of"] else None,
    }


def grades(trace: Trace) -> dict[UUID, int]:
    """What was judged for this question: in the Lab, else in any other set."""
    known = Judgement.objects.within(trace.namespace).filter(query__text=trace.query)
    rows = known.values_list("memory_id", "grade", "query__judgement_set__name")
    return {memory: grade for memory, grade, _ in sorted(rows, key=lambda one: one[2] == SET)}


@transaction.atomic
def judge(trace: Trace, memory: UUID, grade: int, *, by: str) -> Judgement:
    """Keep a grade; the last one given counts."""
    namespace = trace.namespace
    kept, _ = JudgementSet.objects.get_or_create(namespace=namespace, name=SET, defaults={"note": NOTE})
    # Two at a time must not both make the query.
    JudgementSet.objects.within(namespace).select_for_update().get(id=kept.id)
    same = JudgedQuery.objects.within(namespace).filter(judgement_set_id=kept.id, **query_of(trace))
    query = same.first() or JudgedQuery.objects.create(namespace=namespace, judgement_set_id=kept.id, **query_of(trace))
    given, _ = Judgement.objects.update_or_create(
        namespace=namespace,
        query_id=query.id,
        memory_id=memory,
        defaults={"grade": grade, "judged_by": by, "judged_at": timezone.now()},
    )
    return given
