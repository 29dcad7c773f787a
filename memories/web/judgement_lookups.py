"""Judgement sets and their queries by id, name or query string."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.http import Http404
from rest_framework.exceptions import ValidationError

from memories.models import JudgedQuery, Judgement, JudgementSet, Namespace
from memories.models.keys import NamespacedQuerySet
from memories.tuning import current_grades
from memories.tuning.judgement_sets import UnknownJudgementSetError, choose_judgement_set
from memories.tuning.memory_references import existing_memory_ids
from memories.web.http_errors import Conflict


def judgement_set_or_404(namespace: Namespace, id: UUID) -> JudgementSet:
    """Load a judgement set of a namespace, or raise 404."""
    judgement_set = JudgementSet.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if judgement_set is None:
        raise Http404(f"There is no judgement set {id} here.")
    return judgement_set


def find_judgement_set(namespace: Namespace, name_or_id: str) -> JudgementSet:
    """The judgement set with a name or id; without either, the one with the most queries."""
    try:
        return choose_judgement_set(namespace, name_or_id)
    except UnknownJudgementSetError as error:
        raise ValidationError({"set": [str(error)]}) from error


def save_judgement_set(judgement_set: JudgementSet) -> None:
    """Save a judgement set; a duplicate name is a conflict."""
    try:
        with transaction.atomic():
            judgement_set.save()
    except IntegrityError as error:
        if "judgementset_name_once" not in str(error):
            raise
        message = f"must be a name that no other set has; got {judgement_set.name}"
        raise Conflict(f"name {message}.", errors=[{"at": "name", "message": message}], code="name_taken") from error


def filter_judged_queries(judgement_set: JudgementSet, query: dict[str, Any]) -> NamespacedQuerySet[JudgedQuery]:
    """The queries of a judgement set, filtered by a query string."""
    filters: dict[str, Any] = {name: query[name] for name in ("split", "kind", "category") if name in query}
    if "q" in query:
        filters["text__icontains"] = query["q"]
    rows = JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id, **filters)
    if "without_answers" in query:
        grades = current_grades.load_grades(judgement_set.namespace, judgement_set.id)
        ids = [graded.query.id for graded in grades.queries_without_answers]
        rows = rows.filter(id__in=ids) if query["without_answers"] else rows.exclude(id__in=ids)
    if "unjudged" not in query:
        return rows
    graded = Exists(Judgement.objects.within(judgement_set.namespace).filter(query_id=OuterRef("id")))
    return rows.filter(~graded if query["unjudged"] else graded)


def check_graded_pairs(judgement_set: JudgementSet, grades: Sequence[dict[str, Any]]) -> None:
    """Reject queries of another set and memories of another namespace."""
    query_ids = {item["query"] for item in grades}
    queries = JudgedQuery.objects.within(judgement_set.namespace).filter(
        judgement_set_id=judgement_set.id, id__in=query_ids
    )
    known = set(queries.values_list("id", flat=True))
    memories = existing_memory_ids(judgement_set.namespace, {item["memory"] for item in grades})
    errors: dict[str, Any] = {}
    for index, item in enumerate(grades):
        if item["query"] not in known:
            errors.setdefault(f"grades.{index}", {})["query"] = [f"must be a query of this set; got {item['query']}"]
        if item["memory"] not in memories:
            message = f"must be a memory of this namespace; got {item['memory']}"
            errors.setdefault(f"grades.{index}", {})["memory"] = [message]
    if errors:
        raise ValidationError(errors)
