"""Grades that a person gives to hits: kept as judged queries of a set of the Lab's own."""

from collections.abc import Mapping
from uuid import UUID

from memories.judging.storing import NewQuery, keep
from memories.models import Judgement, JudgementSet, Trace

SET = "Lab"
NOTE = "Judged hit by hit in the Lab."


def query_of(trace: Trace, grades: Mapping[UUID, int]) -> NewQuery:
    """The question of a trace as a judged query."""
    asked_of_then = trace.as_of if trace.request["as_of"] else None
    return NewQuery(trace.query, user=trace.request["user"], as_of=asked_of_then, grades=grades)


def grades(trace: Trace) -> dict[UUID, int]:
    """What was judged for this question: in the Lab, else in any other set."""
    known = Judgement.objects.within(trace.namespace).filter(query__text=trace.query)
    rows = known.values_list("memory_id", "grade", "query__judgement_set__name")
    return {memory: grade for memory, grade, _ in sorted(rows, key=lambda one: one[2] == SET)}


def judge(trace: Trace, memory: UUID, grade: int, *, by: str) -> None:
    """Keep a grade; the last one given counts."""
    kept, _ = JudgementSet.objects.get_or_create(namespace=trace.namespace, name=SET, defaults={"note": NOTE})
    keep(kept, [query_of(trace, {memory: grade})], by=by)
