"""Counts of judgement sets, for many sets at once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count

from memories.models import JudgedQuery, Namespace
from memories.models.choices import QueryKind, Split, Status
from memories.tuning.current_grades import COUNTED_STATUSES, RESOLVED_JUDGEMENTS, fetch_judgement_rows

STATUSES = [status for status in Status.values if status != Status.MERGED]
COUNTS = ", ".join(f"count(*) FILTER (WHERE status = '{status}') AS {status}" for status in STATUSES)
SUMS = ", ".join(f"sum({status})::int" for status in STATUSES)
COUNTED_SQL = ", ".join(f"'{status}'" for status in COUNTED_STATUSES)
GRADE_COUNTS_SQL = f"""
    WITH RECURSIVE {RESOLVED_JUDGEMENTS}, by_query AS (
        SELECT set_id, query_id, bool_or(grade > 0) AS had, bool_or(grade > 0 AND status IN ({COUNTED_SQL})) AS has,
            count(*) FILTER (WHERE memory_id <> current_id) AS merged, {COUNTS}
        FROM resolved GROUP BY 1, 2
    )
    SELECT b.set_id, count(*), count(*) FILTER (WHERE b.had AND NOT b.has AND q.kind = %(answerable)s),
        sum(b.merged)::int, {SUMS}
    FROM by_query b JOIN memories_judgedquery q ON q.id = b.query_id
    WHERE q.namespace_id = %(namespace)s GROUP BY 1
"""


@dataclass
class JudgementSetStats:
    """Counts of one set."""

    queries: int = 0
    judged: int = 0  # queries with any grade
    without_answers: int = 0  # answerable queries whose relevant memories are all gone
    splits: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    grades: int = 0  # that count now
    merged: int = 0  # grades that count for the memory that absorbed the judged one
    superseded: int = 0  # grades of superseded memories
    left_out: Counter[str] = field(default_factory=Counter)  # grades left out, by their memory's status

    @property
    def unjudged(self) -> int:
        """Queries without judgements."""
        return self.queries - self.judged


def judgement_set_stats(namespace: Namespace, set_ids: Sequence[UUID]) -> Mapping[UUID, JudgementSetStats]:
    """Count sets by two SQL queries."""
    stats = {id: JudgementSetStats() for id in set_ids}
    queries = JudgedQuery.objects.within(namespace).filter(judgement_set_id__in=set_ids)
    by_kind = queries.values_list("judgement_set_id", "split", "kind").annotate(count=Count("id")).order_by()
    for set_id, split, kind, count in by_kind:
        tally = stats[set_id]
        tally.queries += count
        tally.splits[Split(split)] += count
        tally.kinds[QueryKind(kind)] += count
    for set_id, judged, without_answers, merged, *counts in fetch_judgement_rows(
        GRADE_COUNTS_SQL, namespace, set_ids, answerable=QueryKind.ANSWERABLE
    ):
        tally, by_status = stats[set_id], dict(zip(STATUSES, counts, strict=True))
        tally.judged, tally.without_answers, tally.merged = judged, without_answers, merged
        tally.grades = sum(by_status[status] for status in COUNTED_STATUSES)
        tally.superseded = by_status[Status.SUPERSEDED]
        tally.left_out = Counter(
            {status: count for status, count in by_status.items() if status not in COUNTED_STATUSES and count}
        )
    return stats
