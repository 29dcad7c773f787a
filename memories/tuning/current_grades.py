"""Current grades: memories may have been merged, superseded or forgotten since they were judged.

A merged memory's grade counts for the memory that absorbed it; the higher grade wins. A superseded memory keeps its
grade: a query about its time may still find it. The grades of forgotten, rejected and archived memories are left out
and counted, since they cannot be returned.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import StringAgg
from django.db import connection
from django.db.models import Count, Max, TextField
from django.db.models.functions import MD5, Cast, Concat

from memories.models import JudgedQuery, Judgement, Namespace
from memories.models.choices import QueryKind, Status

COUNTED_STATUSES = (Status.ACTIVE, Status.SUPERSEDED)
# CTEs: every judgement of some sets with the memory it counts for now.
RESOLVED_JUDGEMENTS = """
    judged AS (
        SELECT q.judgement_set_id AS set_id, j.query_id, j.memory_id, j.grade, m.status, m.merged_into_id
        FROM memories_judgedquery q
        JOIN memories_judgement j ON j.namespace_id = q.namespace_id AND j.query_id = q.id
        JOIN memories_memory m ON m.namespace_id = j.namespace_id AND m.id = j.memory_id
        WHERE q.namespace_id = %(namespace)s AND j.namespace_id = %(namespace)s AND m.namespace_id = %(namespace)s
            AND q.judgement_set_id = ANY(%(sets)s)
    ), chain (origin, id, status, absorbed_by) AS (
        SELECT memory_id, memory_id, status, merged_into_id FROM judged WHERE status = 'merged'
        UNION
        SELECT c.origin, m.id, m.status, m.merged_into_id
        FROM chain c JOIN memories_memory m ON m.id = c.absorbed_by
        WHERE m.namespace_id = %(namespace)s AND c.status = 'merged'
    ), resolved AS (
        SELECT set_id, query_id, memory_id, grade, memory_id AS current_id, status FROM judged WHERE status <> 'merged'
        UNION ALL
        SELECT j.set_id, j.query_id, j.memory_id, j.grade, c.id, c.status
        FROM judged j JOIN chain c ON c.origin = j.memory_id WHERE j.status = 'merged' AND c.status <> 'merged'
    )
"""
GRADES_SQL = f"WITH RECURSIVE {RESOLVED_JUDGEMENTS} SELECT query_id, memory_id, current_id, grade, status FROM resolved"


@dataclass
class GradedQuery:
    """A judged query with its current grades."""

    query: JudgedQuery
    grades: dict[UUID, int] = field(default_factory=dict)  # by the memory they count for
    merged: dict[UUID, UUID] = field(default_factory=dict)  # judged memory: the one that absorbed it
    superseded: set[UUID] = field(default_factory=set)  # graded memories
    left_out: dict[UUID, Status] = field(default_factory=dict)  # judged memories that cannot be returned
    had_answer: bool = False  # whether any memory was ever judged relevant

    @property
    def relevant(self) -> bool:
        """Whether any returnable memory is relevant."""
        return any(self.grades.values())

    @property
    def unjudged(self) -> bool:
        """Whether no memory has been judged for it."""
        return not self.grades and not self.left_out

    @property
    def lost_answers(self) -> bool:
        """Whether it had relevant memories and has none left; it is not measured until judged again."""
        return self.query.kind == QueryKind.ANSWERABLE and self.had_answer and not self.relevant


@dataclass(frozen=True)
class GradedSet:
    """A judgement set with its current grades."""

    queries: Sequence[GradedQuery]

    @cached_property
    def grades(self) -> Mapping[UUID, Mapping[UUID, int]]:
        """Each query's grades by memory."""
        return {graded.query.id: graded.grades for graded in self.queries}

    @cached_property
    def left_out(self) -> Mapping[Status, int]:
        """The number of grades left out, by the status of their memories."""
        return Counter(status for graded in self.queries for status in graded.left_out.values())

    @property
    def merged(self) -> int:
        """The number of grades that count for another memory than the judged one."""
        return sum(len(graded.merged) for graded in self.queries)

    @property
    def superseded(self) -> int:
        """The number of graded memories that were superseded."""
        return sum(len(graded.superseded) for graded in self.queries)

    @cached_property
    def queries_without_answers(self) -> Sequence[GradedQuery]:
        """The answerable queries whose relevant memories are all gone."""
        return [graded for graded in self.queries if graded.lost_answers]


def judgement_sets_fingerprint(namespace: Namespace, set_ids: Sequence[UUID]) -> str:
    """Changes with the queries of the sets, their kind and category, and their judgements."""
    queries = JudgedQuery.objects.within(namespace).filter(judgement_set_id__in=set_ids)
    columns = Concat(Cast("id", TextField()), "kind", "category", output_field=TextField())
    content = queries.aggregate(fingerprint=MD5(StringAgg(columns, " ", order_by="id")))
    judged = Judgement.objects.within(namespace).filter(query__judgement_set_id__in=set_ids)
    return " ".join(map(str, (*content.values(), *judged.aggregate(Count("id"), Max("judged_at")).values())))


def load_grades(namespace: Namespace, set_id: UUID) -> GradedSet:
    """A set with its current grades, by two SQL queries whatever its size."""
    rows = JudgedQuery.objects.within(namespace).filter(judgement_set_id=set_id).order_by("id")
    by_id = {query.id: GradedQuery(query) for query in rows}
    for query, judged, current, grade, status in fetch_judgement_rows(GRADES_SQL, namespace, [set_id]):
        if (graded := by_id.get(query)) is None:  # added between the two queries
            continue
        graded.had_answer |= grade > 0
        if judged != current:
            graded.merged[judged] = current
        if status not in COUNTED_STATUSES:
            graded.left_out[judged] = Status(status)
            continue
        graded.grades[current] = max(grade, graded.grades.get(current, 0))
        if status == Status.SUPERSEDED:
            graded.superseded.add(current)
    return GradedSet(list(by_id.values()))


def fetch_judgement_rows(
    sql: str, namespace: Namespace, set_ids: Sequence[UUID], **params: Any
) -> list[tuple[Any, ...]]:
    """The rows of a statement over the resolved judgements of some sets."""
    with connection.cursor() as cursor:
        cursor.execute(sql, {"namespace": namespace.id, "sets": list(set_ids), **params})
        return list(cursor.fetchall())
