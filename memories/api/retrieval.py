"""Retrieval over REST: retrieve, compare systems, why-not."""

from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.contract_serializers import serializer_of
from memories.api.renderers import OrjsonRenderer
from memories.contracts.answer import Answer, Comparison
from memories.contracts.why_not import WhyNot
from memories.db import counters
from memories.db.ids import uuid7
from memories.models import Memory
from memories.models.choices import Role, Status
from memories.retrieval import access_counts
from memories.retrieval.answer import build_answer
from memories.retrieval.compare import compare_systems, ranking_agreement
from memories.retrieval.config import resolve_config
from memories.retrieval.prompt_context import render_context
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import is_trace_sampled, store_trace
from memories.retrieval.why_not import why_not
from memories.web.fields import Flag, Identifier, Integer, JsonObject, OneOf
from memories.web.ranking_choice import check_preset
from memories.web.retrieval_body import ConfiguredQuerySerializer, QuerySerializer, query_from_body
from scoring.systems import SYSTEMS

MARKDOWN = "text/markdown"


class RetrieveSerializer(ConfiguredQuerySerializer):
    """A query and the format of its response."""

    explain = OneOf(choices=["none", "parts", "full"], default="parts", help_text="depth of each score's explanation")
    record = Flag(default=True, help_text="whether the results count as accessed")
    format = OneOf(choices=["json", "markdown"], default="json", help_text="markdown: only the context block")
    token_budget = Integer(
        min_value=50, max_value=1_000_000, required=False, help_text="approximate size of the context"
    )


class WhyNotRequestSerializer(ConfiguredQuerySerializer):
    """A query and the missing memory."""

    memory = Identifier()


class CompareSerializer(QuerySerializer):
    """A query, and the presets of the systems that rank it."""

    presets = JsonObject(default=dict, help_text="system → one of its presets; the others have their defaults")

    def validate_presets(self, presets: dict[str, Any]) -> dict[str, str]:
        """Reject unknown systems and presets."""
        for system, preset in presets.items():
            if system not in SYSTEMS:
                raise ValidationError({system: [f"must be one of {', '.join(SYSTEMS)}; got {system}"]})
            check_preset(system, preset, at=system)
        return presets


class RetrieveView(NamespacedView):
    """Retrieval."""

    roles = {"POST": Role.READ}
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="retrieve",
        request=RetrieveSerializer,
        responses={
            (200, "application/json"): serializer_of(Answer),
            (200, MARKDOWN): OpenApiResponse(str, "The context block, with format=markdown."),
        },
        tags=["retrieval"],
    )
    def post(self, request: Request, namespace: str) -> Response | HttpResponse:
        """Retrieve the memories that answer a query, each with its explanation; an empty response says why."""
        body = RetrieveSerializer.from_request(request)
        retrieval = retrieve(query_from_body(self.namespace, body))
        answer = build_answer(
            retrieval,
            explain=body["explain"],
            token_budget=body.get("token_budget"),
            trace=uuid7() if is_trace_sampled() else None,
        )
        counted = answer.result_ids if body["record"] else ()
        if answer.trace is not None:
            # Nobody is told of a trace that is not on disk: the commit of the access counts flushes both.
            store_trace(retrieval, answer, key=self.access.key_id, flush=not counted)
        counters.count_retrieval(
            retrieval.query.config.system.name,
            abstained=answer.abstained,
            stages_ms=retrieval.took_ms,
            retrievers_ms=retrieval.fetched.took_ms,
            timed_out=retrieval.fetched.timed_out,
        )
        if counted:
            access_counts.record_access(retrieval.query, counted)
        if body["format"] == "markdown":
            context = render_context(answer, body.get("token_budget"))
            return HttpResponse(context, content_type=f"{MARKDOWN}; charset=utf-8")
        return Response(answer.to_dict())


class CompareView(NamespacedView):
    """Comparison of all systems on one query."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="compare", request=CompareSerializer, responses=serializer_of(Comparison), tags=["retrieval"]
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Rank one query by every system, with its defaults or a preset, side by side; no access is recorded."""
        body = CompareSerializer.from_request(request)
        configs = {
            name: resolve_config(self.namespace, system=name, preset=body["presets"].get(name, ""), params={})
            for name in SYSTEMS
        }
        retrievals = compare_systems(query_from_body(self.namespace, body, next(iter(configs.values()))), configs)
        answers = {name: build_answer(retrieval, explain="none") for name, retrieval in retrievals.items()}
        rankings = {name: [str(id) for id in answer.result_ids] for name, answer in answers.items()}
        return Response(Comparison(answers, ranking_agreement(rankings)).to_dict())


class WhyNotView(NamespacedView):
    """Diagnosis of a missing memory."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="why_not", request=WhyNotRequestSerializer, responses=serializer_of(WhyNot), tags=["retrieval"]
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Explain why a memory is not among the results, and the smallest change of a parameter that brings it in."""
        body = WhyNotRequestSerializer.from_request(request)
        memory = Memory.objects.within(self.namespace).filter(id=body["memory"]).exclude(status=Status.FORGOTTEN)
        if not memory.exists():
            raise Http404(f"There is no memory {body['memory']} here.")
        return Response(why_not(query_from_body(self.namespace, body), body["memory"]).to_dict())
