"""Judged queries and grades on their way into a set: each query once, each pair with one grade, the last one given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from memories.judging.parts import part_of
from memories.models import JudgedQuery, Judgement, JudgementSet, Namespace
from memories.models.choices import QueryKind

AT_ONCE = 2_000  # rows in a statement


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
class Kept:
    """What became of queries that were brought."""

    queries: Sequence[JudgedQuery]  # in their order
    added: int
    grades: int


@transaction.atomic
def keep(judged: JudgementSet, brought: Sequence[NewQuery], *, by: str) -> Kept:
    """Keep queries with their grades; those that the set has already take what is new of them.

    Grades weigh more than words: what is called never stored and has an answer here counts as answerable.
    """
    held(judged)
    here = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id)
    known = {key_of(one): one for one in here.filter(text__in={one.text for one in brought})}
    added: dict[tuple[Any, ...], JudgedQuery] = {}
    changed: dict[tuple[Any, ...], JudgedQuery] = {}
    for one in brought:
        query = known.get(one.key) or added.setdefault(one.key, made(judged, one))
        said = {"kind": one.kind, "category": one.category, "overruled": None if one.kind is None else False}
        for name, value in said.items():
            if value is not None and value != getattr(query, name):
                setattr(query, name, value)
                if one.key in known:
                    changed[one.key] = query
    JudgedQuery.objects.bulk_create(added.values(), batch_size=AT_ONCE)
    if changed:
        here.bulk_update(changed.values(), ["kind", "category", "overruled"], batch_size=AT_ONCE)
    both = {**known, **added}
    given = {(both[one.key].id, memory): grade for one in brought for memory, grade in one.grades.items()}
    written(judged, given, by)
    return Kept([both[one.key] for one in brought], len(added), len(given))


@transaction.atomic
def grade(judged: JudgementSet, given: Mapping[tuple[UUID, UUID], int], *, by: str) -> None:
    """Keep grades of pairs of a query and a memory."""
    held(judged)
    written(judged, given, by)


def held(judged: JudgementSet) -> None:
    """Have others who bring something into the set wait: two at a time must not both make a query."""
    JudgementSet.objects.within(judged.namespace).select_for_update().get(id=judged.id)


def made(judged: JudgementSet, one: NewQuery) -> JudgedQuery:
    """A query of a set, on the side that its text decides."""
    return JudgedQuery(
        namespace_id=judged.namespace_id,
        judgement_set_id=judged.id,
        text=one.text,
        user=one.user,
        as_of=one.as_of,
        part=part_of(one.text),
    )


def key_of(query: JudgedQuery) -> tuple[Any, ...]:
    """By what a kept query is known again."""
    return query.text, query.user, query.as_of


def written(judged: JudgementSet, given: Mapping[tuple[UUID, UUID], int], by: str) -> None:
    """Write grades over those that were there."""
    rows = (
        Judgement(namespace_id=judged.namespace_id, query_id=query, memory_id=memory, grade=grade, judged_by=by)
        for (query, memory), grade in given.items()
    )
    Judgement.objects.bulk_create(
        rows,
        batch_size=AT_ONCE,
        update_conflicts=True,
        update_fields=["grade", "judged_by", "judged_at"],
        unique_fields=["namespace", "query_id", "memory_id"],
    )
    settle(judged.namespace, judged.id)


def settle(namespace: Namespace, set_id: UUID) -> None:
    """Have each query's kind follow its grades: what a memory answers was stored after all, for as long as it does."""
    answers = Judgement.objects.within(namespace).filter(query_id=OuterRef("id"), grade__gt=0)
    mine = JudgedQuery.objects.within(namespace).filter(judgement_set_id=set_id)
    mine.filter(Exists(answers), kind=QueryKind.NEVER_STORED).update(kind=QueryKind.ANSWERABLE, overruled=True)
    mine.filter(~Exists(answers), overruled=True).update(kind=QueryKind.NEVER_STORED, overruled=False)


@transaction.atomic
def withdraw(judged: JudgementSet, query: UUID, memory: UUID) -> int:
    """Take a grade back."""
    held(judged)
    count = Judgement.objects.within(judged.namespace).filter(query_id=query, memory_id=memory).delete()[0]
    settle(judged.namespace, judged.id)
    return count
