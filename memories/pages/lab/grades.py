"""Relevance grades from the Lab, stored as judged queries of its own judgement set."""

from collections.abc import Mapping
from uuid import UUID

from memories.models import Judgement, JudgementSet, Trace
from memories.tuning.judgement_store import NewQuery, store_queries

LAB_SET_NAME = "Lab"
LAB_SET_NOTE = "Judged hit by hit in the Lab."


def judged_query_from_trace(trace: Trace, grades: Mapping[UUID, int]) -> NewQuery:
    """A trace's query as a judged query."""
    as_of = trace.as_of if trace.request["as_of"] else None
    return NewQuery(trace.query, user=trace.request["user"], as_of=as_of, grades=grades)


def grades_for_trace(trace: Trace) -> dict[UUID, int]:
    """Known grades for this query; those of the Lab's set win over other sets."""
    judgements = Judgement.objects.within(trace.namespace).filter(query__text=trace.query)
    rows = judgements.values_list("memory_id", "grade", "query__judgement_set__name")
    return {memory: grade for memory, grade, _ in sorted(rows, key=lambda row: row[2] == LAB_SET_NAME)}


def store_grade(trace: Trace, memory: UUID, grade: int, *, by: str) -> None:
    """Store a grade; a later one replaces it."""
    lab_set, _ = JudgementSet.objects.get_or_create(
        namespace=trace.namespace, name=LAB_SET_NAME, defaults={"note": LAB_SET_NOTE}
    )
    store_queries(lab_set, [judged_query_from_trace(trace, {memory: grade})], by=by)
