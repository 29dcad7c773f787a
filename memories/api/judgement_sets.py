"""Judgement sets over REST: create, list with current counts, add queries, grade, sample from traces."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.judgement_serializers import JudgedQuerySerializer, JudgementSetSerializer, StoredCountsSerializer
from memories.models import JudgementSet, Namespace
from memories.models.choices import Role
from memories.tuning import judgement_store, query_sampling
from memories.tuning.judgement_set_stats import judgement_set_stats
from memories.web.judgement_bodies import (
    MAX_BODY_BYTES,
    MAX_ITEMS,
    JudgedQueriesQuery,
    JudgementSetChange,
    NewGrades,
    NewJudgedQueries,
    NewJudgementSet,
    QuerySampleSerializer,
)
from memories.web.judgement_import import parse_judgement_items, valid_queries
from memories.web.judgement_lookups import (
    check_graded_pairs,
    filter_judged_queries,
    judgement_set_or_404,
    save_judgement_set,
)
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import QueryString


class JudgementSetsView(NamespacedView):
    """The judgement sets of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="judgement_sets",
        parameters=[PageQuery],
        responses=page_schema("JudgementSetPage", JudgementSetSerializer),
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List judgement sets with their current counts, newest first."""
        query = PageQuery.from_request(request)
        sets = paginate(request, self.namespace, JudgementSet.objects.within(self.namespace), query)
        return Response(
            sets._replace(rows=judgement_sets_to_dicts(self.namespace, sets.rows)).to_dict(JudgementSetSerializer)
        )

    @extend_schema(
        operation_id="add_judgement_set",
        request=NewJudgementSet,
        responses={201: JudgementSetSerializer},
        tags=["judgements"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Create an empty judgement set."""
        judgement_set = JudgementSet(namespace=self.namespace, **NewJudgementSet.from_request(request))
        save_judgement_set(judgement_set)
        return Response(
            JudgementSetSerializer(judgement_sets_to_dicts(self.namespace, [judgement_set])[0]).data, status=201
        )


class JudgementSetDetailView(NamespacedView):
    """One judgement set."""

    roles = {"GET": Role.READ, "PATCH": Role.WRITE, "DELETE": Role.WRITE}

    @extend_schema(operation_id="judgement_set", responses=JudgementSetSerializer, tags=["judgements"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a judgement set with its current counts."""
        QueryString.from_request(request)
        return Response(
            JudgementSetSerializer(
                judgement_sets_to_dicts(self.namespace, [judgement_set_or_404(self.namespace, id)])[0]
            ).data
        )

    @extend_schema(
        operation_id="change_judgement_set",
        request=JudgementSetChange,
        responses=JudgementSetSerializer,
        tags=["judgements"],
    )
    @idempotent
    def patch(self, request: Request, namespace: str, id: UUID) -> Response:
        """Change the name or note of a judgement set."""
        change, judgement_set = JudgementSetChange.from_request(request), judgement_set_or_404(self.namespace, id)
        for name, value in change.items():
            setattr(judgement_set, name, value)
        save_judgement_set(judgement_set)
        return Response(JudgementSetSerializer(judgement_sets_to_dicts(self.namespace, [judgement_set])[0]).data)

    @extend_schema(operation_id="delete_judgement_set", responses={204: None}, tags=["judgements"])
    @idempotent
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Delete a judgement set with its queries, grades and evaluations."""
        judgement_set_or_404(self.namespace, id)
        JudgementSet.objects.within(self.namespace).filter(id=id).delete()
        return Response(status=204)


class JudgedQueriesView(NamespacedView):
    """The queries of a judgement set."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}
    body_limit = MAX_BODY_BYTES

    @extend_schema(
        operation_id="judged_queries",
        parameters=[JudgedQueriesQuery],
        responses=page_schema("JudgedQueryPage", JudgedQuerySerializer),
        tags=["judgements"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List queries with their grades as given, newest first."""
        query = JudgedQueriesQuery.from_request(request)
        rows = filter_judged_queries(judgement_set_or_404(self.namespace, id), query).prefetch_related("judgements")
        return Response(paginate(request, self.namespace, rows, query, by_id=True).to_dict(JudgedQuerySerializer))

    @extend_schema(
        operation_id="add_judged_queries",
        request=NewJudgedQueries,
        responses={201: StoredCountsSerializer},
        tags=["judgements"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Store up to 1,000 queries with their grades, all or none; an existing query is updated with what is new."""
        judgement_set = judgement_set_or_404(self.namespace, id)
        items = request.data.get("queries") if isinstance(request.data, dict) else None
        if not isinstance(items, list) or not 0 < len(items) <= MAX_ITEMS or set(request.data) != {"queries"}:
            NewJudgedQueries.from_request(request)  # raises the error for the body as a whole
        stored = judgement_store.store_queries(
            judgement_set,
            valid_queries(parse_judgement_items(self.namespace, items or [])),
            by=self.access.caller,
        )
        return Response(stored_counts(stored), status=201)


class GradesView(NamespacedView):
    """Grades of query-memory pairs."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="grade", request=NewGrades, responses=StoredCountsSerializer, tags=["judgements"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Grade up to 1,000 query-memory pairs, all or none; the last grade of a pair wins."""
        judgement_set, items = judgement_set_or_404(self.namespace, id), NewGrades.from_request(request)["grades"]
        check_graded_pairs(judgement_set, items)
        grades = {(item["query"], item["memory"]): item["grade"] for item in items}
        judgement_store.store_grades(judgement_set, grades, by=self.access.caller)
        self.memory_ids = [memory for _, memory in grades]
        return Response({"queries": len({query for query, _ in grades}), "added": 0, "grades": len(grades)})


class QuerySampleView(NamespacedView):
    """Sampling of queries from traces."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="sample_queries",
        request=QuerySampleSerializer,
        responses=StoredCountsSerializer,
        tags=["judgements"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Sample distinct queries from the traces of agents into a judgement set."""
        judgement_set, body = judgement_set_or_404(self.namespace, id), QuerySampleSerializer.from_request(request)
        return Response(stored_counts(query_sampling.add_sampled_queries(judgement_set, by=self.access.caller, **body)))


def judgement_sets_to_dicts(namespace: Namespace, sets: Sequence[JudgementSet]) -> list[dict[str, Any]]:
    """Judgement sets as JSON, with their counts."""
    counts = judgement_set_stats(namespace, [judgement_set.id for judgement_set in sets])
    columns = ("id", "name", "note", "created_at")
    return [
        {**{name: getattr(judgement_set, name) for name in columns}, "holds": counts[judgement_set.id]}
        for judgement_set in sets
    ]


def stored_counts(stored: judgement_store.StoredQueries) -> dict[str, int]:
    """Counts of what was stored, as JSON."""
    return {"queries": len(stored.queries), "added": stored.added, "grades": stored.grades}
