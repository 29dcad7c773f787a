"""The grades that hold today: memories were merged, superseded and forgotten since they were judged.

What was merged counts for the memory that absorbed it, with the higher of their grades. What was superseded stays
judged as what it is: a question about its time may still find it. What was forgotten, rejected or archived cannot come
back, so its grade is left out and counted.
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
# Every judgement of some sets with the memory that stands for the judged one today; for WITH RECURSIVE.
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
    ), standing AS (
        SELECT set_id, query_id, memory_id, grade, memory_id AS now_id, status FROM judged WHERE status <> 'merged'
        UNION ALL
        SELECT j.set_id, j.query_id, j.memory_id, j.grade, c.id, c.status
        FROM judged j JOIN chain c ON c.origin = j.memory_id WHERE j.status = 'merged' AND c.status <> 'merged'
    )
"""
GRADES_SQL = f"WITH RECURSIVE {RESOLVED_JUDGEMENTS} SELECT query_id, memory_id, now_id, grade, status FROM standing"


@dataclass
class GradedQuery:
    """A judged query with what its judgements say today."""

    query: JudgedQuery
    grades: dict[UUID, int] = field(default_factory=dict)  # by the memory that stands for the judged one
    merged: dict[UUID, UUID] = field(default_factory=dict)  # judged ones, with what absorbed them
    superseded: set[UUID] = field(default_factory=set)  # of those graded
    left_out: dict[UUID, Status] = field(default_factory=dict)  # judged ones that cannot come back
    had_answer: bool = False  # whether any memory was ever judged relevant

    @property
    def relevant(self) -> bool:
        """Whether a memory that can come back answers it, or helps to."""
        return any(self.grades.values())

    @property
    def unjudged(self) -> bool:
        """Whether nobody has judged anything for it yet."""
        return not self.grades and not self.left_out

    @property
    def lost_answers(self) -> bool:
        """Whether it had an answer, and has none any more: it measures nothing until somebody looks at it."""
        return self.query.kind == QueryKind.ANSWERABLE and self.had_answer and not self.relevant


@dataclass(frozen=True)
class GradedSet:
    """A set of judged queries as it holds today."""

    queries: Sequence[GradedQuery]

    @cached_property
    def grades(self) -> Mapping[UUID, Mapping[UUID, int]]:
        """Each query's grades by memory."""
        return {one.query.id: one.grades for one in self.queries}

    @cached_property
    def left_out(self) -> Mapping[Status, int]:
        """How many grades count no more, by what became of their memories."""
        return Counter(status for one in self.queries for status in one.left_out.values())

    @property
    def merged(self) -> int:
        """How many grades count for another memory than the judged one."""
        return sum(len(one.merged) for one in self.queries)

    @property
    def superseded(self) -> int:
        """How many memories with a grade have been superseded."""
        return sum(len(one.superseded) for one in self.queries)

    @cached_property
    def queries_without_answers(self) -> Sequence[GradedQuery]:
        """The queries that have lost all of their answers."""
        return [one for one in self.queries if one.lost_answers]


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
    found = {query.id: GradedQuery(query) for query in rows}
    for query, judged, now, grade, status in fetch_judgement_rows(GRADES_SQL, namespace, [set_id]):
        if (one := found.get(query)) is None:  # added between the two queries
            continue
        one.had_answer |= grade > 0
        if judged != now:
            one.merged[judged] = now
        if status not in COUNTED_STATUSES:
            one.left_out[judged] = Status(status)
            continue
        one.grades[now] = max(grade, one.grades.get(now, 0))
        if status == Status.SUPERSEDED:
            one.superseded.add(now)
    return GradedSet(list(found.values()))


def fetch_judgement_rows(
    sql: str, namespace: Namespace, set_ids: Sequence[UUID], **params: Any
) -> list[tuple[Any, ...]]:
    """The rows of a statement over what stands of some sets."""
    with connection.cursor() as cursor:
        cursor.execute(sql, {"namespace": namespace.id, "sets": list(set_ids), **params})
        return list(cursor.fetchall())
