"""Storing judged queries and grades: each query once per set, one grade per pair; the last one wins."""

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
    """A query to store; fields that are not given keep their value in an existing query."""

    text: str
    kind: str | None = None
    category: str | None = None
    user: str = ""
    as_of: datetime | None = None
    grades: Mapping[UUID, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """What identifies a query in a set: text, user and time."""
        return self.text, self.user, self.as_of


@dataclass(frozen=True)
class StoredQueries:
    """The outcome of storing queries."""

    queries: Sequence[JudgedQuery]  # in the order given
    added: int
    grades: int


@transaction.atomic
def store_queries(judgement_set: JudgementSet, new_queries: Sequence[NewQuery], *, by: str) -> StoredQueries:
    """Store queries with their grades; existing queries are updated.

    Grades override the given kind: an unanswerable query with a relevant memory counts as answerable.
    """
    lock_judgement_set(judgement_set)
    rows = JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id)
    texts = {new.text for new in new_queries}
    known = {judged_query_key(query): query for query in rows.filter(text__in=texts)}
    added: dict[tuple[Any, ...], JudgedQuery] = {}
    changed: dict[tuple[Any, ...], JudgedQuery] = {}
    for new in new_queries:
        query = known.get(new.key) or added.setdefault(new.key, new_judged_query(judgement_set, new))
        updates = {"kind": new.kind, "category": new.category, "overruled": None if new.kind is None else False}
        for name, value in updates.items():
            if value is not None and value != getattr(query, name):
                setattr(query, name, value)
                if new.key in known:
                    changed[new.key] = query
    JudgedQuery.objects.bulk_create(added.values(), batch_size=BATCH_SIZE)
    if changed:
        rows.bulk_update(changed.values(), ["kind", "category", "overruled"], batch_size=BATCH_SIZE)
    by_key = {**known, **added}
    grades = {(by_key[new.key].id, memory): grade for new in new_queries for memory, grade in new.grades.items()}
    upsert_grades(judgement_set, grades, by)
    return StoredQueries([by_key[new.key] for new in new_queries], len(added), len(grades))


@transaction.atomic
def store_grades(judgement_set: JudgementSet, grades: Mapping[tuple[UUID, UUID], int], *, by: str) -> None:
    """Store grades of query-memory pairs."""
    lock_judgement_set(judgement_set)
    upsert_grades(judgement_set, grades, by)


def lock_judgement_set(judgement_set: JudgementSet) -> None:
    """Serialise writers of a set, so that no query is stored twice."""
    JudgementSet.objects.within(judgement_set.namespace).select_for_update().get(id=judgement_set.id)


def new_judged_query(judgement_set: JudgementSet, new: NewQuery) -> JudgedQuery:
    """An unsaved query; its text decides its split."""
    return JudgedQuery(
        namespace_id=judgement_set.namespace_id,
        judgement_set_id=judgement_set.id,
        text=new.text,
        user=new.user,
        as_of=new.as_of,
        split=split_of(new.text),
    )


def judged_query_key(query: JudgedQuery) -> tuple[Any, ...]:
    """What identifies a stored query."""
    return query.text, query.user, query.as_of


def upsert_grades(judgement_set: JudgementSet, grades: Mapping[tuple[UUID, UUID], int], by: str) -> None:
    """Insert grades, or replace existing ones."""
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
    """Make each query's kind follow its grades: with a relevant memory it is answerable."""
    answers = Judgement.objects.within(namespace).filter(query_id=OuterRef("id"), grade__gt=0)
    queries = JudgedQuery.objects.within(namespace).filter(judgement_set_id=set_id)
    queries.filter(Exists(answers), kind=QueryKind.UNANSWERABLE).update(kind=QueryKind.ANSWERABLE, overruled=True)
    queries.filter(~Exists(answers), overruled=True).update(kind=QueryKind.UNANSWERABLE, overruled=False)


@transaction.atomic
def delete_grade(judgement_set: JudgementSet, query_id: UUID, memory_id: UUID) -> int:
    """Delete a grade."""
    lock_judgement_set(judgement_set)
    count = Judgement.objects.within(judgement_set.namespace).filter(query_id=query_id, memory_id=memory_id).delete()[0]
    sync_query_kinds(judgement_set.namespace, judgement_set.id)
    return count
