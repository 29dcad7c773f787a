"""Sets of judged queries over REST: made, read as they hold today, filled, graded."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.idempotency import idempotent
from memories.api.judgement_shapes import (
    AT_ONCE,
    LARGEST,
    DrawSerializer,
    JudgedQuerySerializer,
    KeptSerializer,
    NewGrades,
    NewQueries,
    NewSet,
    QueriesQuery,
    SetChange,
    SetSerializer,
)
from memories.api.paging import PageQuery, page, paged
from memories.api.refusals import Conflict
from memories.api.serializers import Query
from memories.api.views import NamespacedView
from memories.judging import current, drawing, reading, storing
from memories.judging.references import found_ids
from memories.judging.tallies import tallies
from memories.models import JudgedQuery, Judgement, JudgementSet, Namespace
from memories.models.choices import Role
from memories.models.keys import NamespacedQuerySet
from memories.tuning.sets import UnknownSetError, chosen_set


class Judgements(NamespacedView):
    """The sets of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="judgement_sets",
        parameters=[PageQuery],
        responses=paged("JudgementSetPage", SetSerializer),
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List the sets of judged queries, newest first, with what they hold today."""
        query = PageQuery.of(request)
        found = page(request, self.namespace, JudgementSet.objects.within(self.namespace), query)
        return Response(found._replace(rows=told(self.namespace, found.rows)).answer(SetSerializer))

    @extend_schema(
        operation_id="add_judgement_set", request=NewSet, responses={201: SetSerializer}, tags=["judgements"]
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Make an empty set."""
        made = JudgementSet(namespace=self.namespace, **NewSet.of(request))
        named(made)
        return Response(SetSerializer(told(self.namespace, [made])[0]).data, status=201)


class JudgementSetDetail(NamespacedView):
    """One set."""

    roles = {"GET": Role.READ, "PATCH": Role.WRITE, "DELETE": Role.WRITE}

    @extend_schema(operation_id="judgement_set", responses=SetSerializer, tags=["judgements"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell what a set holds today."""
        Query.of(request)
        return Response(SetSerializer(told(self.namespace, [set_of(self.namespace, id)])[0]).data)

    @extend_schema(operation_id="change_judgement_set", request=SetChange, responses=SetSerializer, tags=["judgements"])
    @idempotent
    def patch(self, request: Request, namespace: str, id: UUID) -> Response:
        """Change a set's name or note."""
        change, found = SetChange.of(request), set_of(self.namespace, id)
        for name, value in change.items():
            setattr(found, name, value)
        named(found)
        return Response(SetSerializer(told(self.namespace, [found])[0]).data)

    @extend_schema(operation_id="delete_judgement_set", responses={204: None}, tags=["judgements"])
    @idempotent
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Delete a set with its queries, their grades and what was measured on it."""
        set_of(self.namespace, id)
        JudgementSet.objects.within(self.namespace).filter(id=id).delete()
        return Response(status=204)


class JudgedQueries(NamespacedView):
    """The queries of a set."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}
    body_limit = LARGEST

    @extend_schema(
        operation_id="judged_queries",
        parameters=[QueriesQuery],
        responses=paged("JudgedQueryPage", JudgedQuerySerializer),
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List a set's queries with their grades as they were given, newest first."""
        query = QueriesQuery.of(request)
        rows = chosen(set_of(self.namespace, id), query).prefetch_related("judgements")
        return Response(page(request, self.namespace, rows, query, by_id=True).answer(JudgedQuerySerializer))

    @extend_schema(
        operation_id="add_judged_queries", request=NewQueries, responses={201: KeptSerializer}, tags=["judgements"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Keep up to 1,000 queries with their grades, all or none; one that the set has takes what is new of it."""
        judged = set_of(self.namespace, id)
        given = request.data.get("queries") if isinstance(request.data, dict) else None
        if not isinstance(given, list) or not 0 < len(given) <= AT_ONCE or set(request.data) != {"queries"}:
            NewQueries.of(request)  # which says what is wrong with the whole
        kept = storing.keep(judged, reading.items(self.namespace, given or []).or_refused(), by=self.access.caller)
        return Response(counted(kept), status=201)


class Grades(NamespacedView):
    """Grades of pairs."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="grade", request=NewGrades, responses=KeptSerializer, tags=["judgements"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Grade up to 1,000 pairs of a query and a memory, all or none; the last grade of a pair counts."""
        judged, given = set_of(self.namespace, id), NewGrades.of(request)["grades"]
        check_pairs(judged, given)
        grades = {(one["query"], one["memory"]): one["grade"] for one in given}
        storing.grade(judged, grades, by=self.access.caller)
        self.memory_ids = [memory for _, memory in grades]
        return Response({"queries": len({query for query, _ in grades}), "added": 0, "grades": len(grades)})


class Draw(NamespacedView):
    """Queries out of the traces."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="draw_queries", request=DrawSerializer, responses=KeptSerializer, tags=["judgements"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Put distinct queries that agents really asked into a set, to be judged."""
        judged, asked = set_of(self.namespace, id), DrawSerializer.of(request)
        return Response(counted(drawing.draw(judged, by=self.access.caller, **asked)))


def set_of(namespace: Namespace, id: UUID) -> JudgementSet:
    """Find a set of a namespace."""
    found = JudgementSet.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if found is None:
        raise Http404(f"There is no set of judgements {id} here.")
    return found


def set_named(namespace: Namespace, said: str) -> JudgementSet:
    """The set that a body or a query string names, by its name or its id; nothing is the one with most queries."""
    try:
        return chosen_set(namespace, said)
    except UnknownSetError as error:
        raise ValidationError({"set": [str(error)]}) from error


def named(judged: JudgementSet) -> None:
    """Store a set under its name, unless another has that."""
    try:
        with transaction.atomic():
            judged.save()
    except IntegrityError as error:
        if "judgementset_name_once" not in str(error):
            raise
        wrong = f"must be a name that no other set has; got {judged.name}"
        raise Conflict(f"name {wrong}.", errors=[{"at": "name", "message": wrong}], code="name_taken") from error


def told(namespace: Namespace, sets: Sequence[JudgementSet]) -> list[dict[str, Any]]:
    """Sets with what they hold."""
    held = tallies(namespace, [one.id for one in sets])
    shown = ("id", "name", "note", "created_at")
    return [{**{name: getattr(one, name) for name in shown}, "holds": held[one.id]} for one in sets]


def chosen(judged: JudgementSet, query: dict[str, Any]) -> NamespacedQuerySet[JudgedQuery]:
    """The queries of a set that a query string chooses."""
    wanted: dict[str, Any] = {name: query[name] for name in ("part", "kind", "category") if name in query}
    if "q" in query:
        wanted["text__icontains"] = query["q"]
    rows = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id, **wanted)
    if "lost" in query:
        lost = [one.query.id for one in current.grades(judged.namespace, judged.id).lost]
        rows = rows.filter(id__in=lost) if query["lost"] else rows.exclude(id__in=lost)
    if "unjudged" not in query:
        return rows
    graded = Exists(Judgement.objects.within(judged.namespace).filter(query_id=OuterRef("id")))
    return rows.filter(~graded if query["unjudged"] else graded)


def check_pairs(judged: JudgementSet, given: Sequence[dict[str, Any]]) -> None:
    """Refuse a query of another set, and a memory that is not here."""
    wanted = {one["query"] for one in given}
    queries = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id, id__in=wanted)
    known = set(queries.values_list("id", flat=True))
    memories = found_ids(judged.namespace, {one["memory"] for one in given})
    wrong: dict[str, Any] = {}
    for number, one in enumerate(given):
        if one["query"] not in known:
            wrong.setdefault(f"grades.{number}", {})["query"] = [f"must be a query of this set; got {one['query']}"]
        if one["memory"] not in memories:
            message = f"must be a memory of this namespace; got {one['memory']}"
            wrong.setdefault(f"grades.{number}", {})["memory"] = [message]
    if wrong:
        raise ValidationError(wrong)


def counted(kept: storing.Kept) -> dict[str, int]:
    """What was kept, in numbers."""
    return {"queries": len(kept.queries), "added": kept.added, "grades": kept.grades}
