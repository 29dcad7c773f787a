"""Judged queries, once memories that answered them are gone."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef

from memories.models import JudgedQuery, Judgement, Namespace
from memories.models.choices import QueryKind


def queries_answered_by(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The queries that memories answer or help to."""
    answers = Judgement.objects.within(namespace).filter(memory_id__in=ids, grade__gt=0)
    return list(answers.values_list("query_id", flat=True).distinct())


def erase_unanswered(namespace: Namespace, queries: Sequence[UUID]) -> int:
    """Erase those of some queries that have no answer left: they were asked for what is gone, and measure nothing."""
    left = Judgement.objects.within(namespace).filter(query_id=OuterRef("id"), grade__gt=0)
    unanswered = JudgedQuery.objects.within(namespace).filter(~Exists(left), id__in=queries, kind=QueryKind.ANSWERABLE)
    return (
        JudgedQuery.objects.within(namespace).filter(id__in=list(unanswered.values_list("id", flat=True))).delete()[0]
    )
