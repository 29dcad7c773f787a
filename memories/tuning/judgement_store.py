"""Judged queries and grades on their way into a set: each query once, each pair with one grade, the last one given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from memories.models import JudgedQuery, Judgement, JudgementSet, Namespace
from memories.models.choices import QueryKind
from memories.tuning.splits import split_of

BATCH_SIZE = 2_000  # rows in a statement


@dataclass(frozen=True)
class NewQuery:
    """A query as somebody brings it; what is not said stays as it is where the query is known."""

    text: str
    kind: str | None = None
    category: str | None = None
    user: str = ""
    as_of: datetime | None = None
    grades: Mapping[UUID, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """By what a query of a set is known again: its words, who asks and from when."""
        return self.text, self.user, self.as_of


@dataclass(frozen=True)
class StoredQueries:
    """What became of queries that were brought."""

    queries: Sequence[JudgedQuery]  # in their order
    added: int
    grades: int


@transaction.atomic
def store_queries(judgement_set: JudgementSet, new_queries: Sequence[NewQuery], *, by: str) -> StoredQueries:
    """Keep queries with their grades; those that the set has already take what is new of them.

    Grades weigh more than words: what is called never stored and has an answer here counts as answerable.
    """
    lock_judgement_set(judgement_set)
    here = JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id)
    known = {judged_query_key(one): one for one in here.filter(text__in={one.text for one in new_queries})}
    added: dict[tuple[Any, ...], JudgedQuery] = {}
    changed: dict[tuple[Any, ...], JudgedQuery] = {}
    for one in new_queries:
        query = known.get(one.key) or added.setdefault(one.key, new_judged_query(judgement_set, one))
        said = {"kind": one.kind, "category": one.category, "overruled": None if one.kind is None else False}
        for name, value in said.items():
            if value is not None and value != getattr(query, name):
                setattr(query, name, value)
                if one.key in known:
                    changed[one.key] = query
    JudgedQuery.objects.bulk_create(added.values(), batch_size=BATCH_SIZE)
    if changed:
        here.bulk_update(changed.values(), ["kind", "category", "overruled"], batch_size=BATCH_SIZE)
    both = {**known, **added}
    given = {(both[one.key].id, memory): grade for one in new_queries for memory, grade in one.grades.items()}
    upsert_grades(judgement_set, given, by)
    return StoredQueries([both[one.key] for one in new_queries], len(added), len(given))


@transaction.atomic
def store_grades(judgement_set: JudgementSet, grades: Mapping[tuple[UUID, UUID], int], *, by: str) -> None:
    """Keep grades of pairs of a query and a memory."""
    lock_judgement_set(judgement_set)
    upsert_grades(judgement_set, grades, by)


def lock_judgement_set(judgement_set: JudgementSet) -> None:
    """Have others who bring something into the set wait: two at a time must not both make a query."""
    JudgementSet.objects.within(judgement_set.namespace).select_for_update().get(id=judgement_set.id)


def new_judged_query(judgement_set: JudgementSet, new: NewQuery) -> JudgedQuery:
    """A query of a set, on the side that its text decides."""
    return JudgedQuery(
        namespace_id=judgement_set.namespace_id,
        judgement_set_id=judgement_set.id,
        text=new.text,
        user=new.user,
        as_of=new.as_of,
        split=split_of(new.text),
    )


def judged_query_key(query: JudgedQuery) -> tuple[Any, ...]:
    """By what a kept query is known again."""
    return query.text, query.user, query.as_of


def upsert_grades(judgement_set: JudgementSet, grades: Mapping[tuple[UUID, UUID], int], by: str) -> None:
    """Write grades over those that were there."""
    rows = (
        Judgement(namespace_id=judgement_set.namespace_id, query_id=query, memory_id=memory, grade=grade, judged_by=by)
        for (query, memory), grade in grades.items()
    )
    Judgement.objects.bulk_create(
        rows,
        batch_size=BATCH_SIZE,
        update_conflicts=True,
        update_fields=["grade", "judged_by", "judged_at"],
        unique_fields=["namespace", "query_id", "memory_id"],
    )
    sync_query_kinds(judgement_set.namespace, judgement_set.id)


def sync_query_kinds(namespace: Namespace, set_id: UUID) -> None:
    """Have each query's kind follow its grades: what a memory answers was stored after all, for as long as it does."""
    answers = Judgement.objects.within(namespace).filter(query_id=OuterRef("id"), grade__gt=0)
    mine = JudgedQuery.objects.within(namespace).filter(judgement_set_id=set_id)
    mine.filter(Exists(answers), kind=QueryKind.UNANSWERABLE).update(kind=QueryKind.ANSWERABLE, overruled=True)
    mine.filter(~Exists(answers), overruled=True).update(kind=QueryKind.UNANSWERABLE, overruled=False)


@transaction.atomic
def delete_grade(judgement_set: JudgementSet, query_id: UUID, memory_id: UUID) -> int:
    """Take a grade back."""
    lock_judgement_set(judgement_set)
    count = Judgement.objects.within(judgement_set.namespace).filter(query_id=query_id, memory_id=memory_id).delete()[0]
    sync_query_kinds(judgement_set.namespace, judgement_set.id)
    return count
