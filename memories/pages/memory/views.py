"""Views of the page of one memory, and the actions on it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_GET, require_http_methods
from rest_framework.exceptions import ValidationError

from memories.contracts.number_format import days_before
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, Grounding, Role, Status
from memories.pages.access import access_of, check_role, members_only
from memories.pages.lab.why_not_panel import why_not_sentence
from memories.pages.memory import charts
from memories.pages.memory.actions import ACTION_ERRORS, MEMORY_ACTIONS, action_error_status
from memories.pages.memory.evidence_history import confidence_waterfall, latest_events, load_history_rows
from memories.pages.memory.surroundings import load_memory_graph, load_neighbours, load_provenance
from memories.pages.memory.system_scores import score_under_all_systems, why_not_under_system
from memories.pages.sliders import ParamGroup, param_groups, parse_changed_params
from memories.retrieval.config import resolve_config
from memories.text.provider_error import ProviderError
from memories.web.layout import render_page
from memories.web.memory_body import MAX_PROVENANCE_DEPTH
from memories.web.memory_filters import memories_with_tags, visible_statuses
from memories.web.roles import Access
from memories.web.validation_errors import flatten_errors
from memories.writing.evidence import load_evidence
from memories.writing.write_policy import current_write_policy
from scoring.belief import is_protected
from scoring.params import ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.recall import ConfidenceGateParams, FreshnessParams

TEMPLATE = "memories/memory.html"


@require_GET
@members_only
def memory_page(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One memory; for htmx only the part that a slider or a query changes."""
    access = access_of(request, namespace)
    memory = visible_memory(access, id)
    htmx: Any = getattr(request, "htmx", None)
    target = (htmx.target if htmx and not htmx.history_restore_request else "") or ""
    if "why" in request.GET and target.startswith("missed-"):
        return render_page(request, TEMPLATE, memory_why_not_context(access, memory, request), partial="missed")
    if target == "decay":
        return render_page(request, TEMPLATE, freshness_context(access, memory, request), partial="decay")
    if target == "scores":
        context = {"memory": memory, **scores_context(access, memory, request)}
        return render_page(request, TEMPLATE, context, partial="scores")
    return render_memory_page(request, access, memory)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def perform_memory_action(request: HttpRequest, namespace: Namespace, id: UUID, act: str) -> HttpResponse:
    """Perform an action and redirect; errors are shown next to its form. Forgetting asks for confirmation first."""
    access = access_of(request, namespace)
    check_role(access, Role.WRITE)
    memory, url = visible_memory(access, id), resolve_url("memories-memory", namespace.slug, id)
    if act not in MEMORY_ACTIONS:
        raise Http404(f"There is nothing at {request.path}.")
    if act == "forget" and "sure" not in request.POST:
        return render_page(request, "memories/forget.html", {"rows": [memory], "back": url, "action": request.path})
    if request.method != "POST":
        return redirect(url)
    try:
        result = MEMORY_ACTIONS[act](access, memory, request.POST.dict())
    except ACTION_ERRORS as error:
        failed = {"act": act, "problems": list(error_problems(error)), "form": request.POST.dict()}
        return render_memory_page(request, access, memory, failed=failed, status=action_error_status(error))
    messages.success(request, result.message)
    if act == "forget" and Status.FORGOTTEN not in visible_statuses(access):
        return redirect("memories", namespace.slug)
    return redirect("memories-memory", namespace.slug, result.memory.id)


def visible_memory(access: Access, id: UUID) -> Memory:
    """A memory that the member may see; raises Http404."""
    rows = memories_with_tags(access.namespace).filter(id=id, status__in=visible_statuses(access))
    memory = rows.select_related("subject", "session", "turn", "merged_into", "superseded_by", "cluster").first()
    if memory is None:
        raise Http404(f"There is no memory {id} in this namespace.")
    return memory


def error_problems(error: Exception) -> list[dict[str, str]]:
    """An error as a list of problems, each with its field."""
    return (
        list(flatten_errors(error.detail))
        if isinstance(error, ValidationError)
        else [{"at": "", "message": str(error)}]
    )


def render_memory_page(
    request: HttpRequest, access: Access, memory: Memory, *, failed: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The whole page; a failed action is shown next to its form, with the form's values."""
    namespace, policy = access.namespace, current_write_policy(access.namespace)
    events, event_count = latest_events(memory)
    provenance = load_provenance(access, memory)
    history = load_history_rows(access, events, provenance["sources"])
    graph = load_memory_graph(access, memory)
    neighbours = load_neighbours(access, memory, policy, graph.edges)
    evidence = load_evidence(namespace, [memory.id], policy)[memory.id]
    waterfall = confidence_waterfall(events, evidence, policy)
    minimum = ConfidenceGateParams().min_confidence
    context = {
        "memory": memory,
        "reason": inactive_reason(memory),
        "now": namespace.now,
        "age": days_before(memory.created_at, namespace.now),
        "may_write": access.allows(Role.WRITE),
        "groundings": Grounding.values,
        "max_depth": MAX_PROVENANCE_DEPTH,
        "may_correct": memory.level == ChunkLevel.FACT,
        "failed": failed or {},
        "failed_without_form": failed is not None and failed["act"] not in ("correct", "contradict", "edit"),
        "protected": is_protected(
            memory.belief, memory.corroborations, protected=policy.belief_protected, needed=policy.belief_needed
        ),
        "waterfall": waterfall,
        "confidence_chart": charts.confidence_chart(waterfall, minimum, policy.high_confidence),
        "history": history,
        "event_count": event_count,
        "belief_chart": history and charts.belief_chart(history, provenance["days"], namespace.now, policy),
        "neighbours": neighbours,
        "neighbours_chart": neighbours and charts.neighbours_chart(neighbours, policy),
        "escalate": policy.dedup_escalate,
        "duplicate": policy.dedup_duplicate,
        "graph": graph,
        "graph_chart": graph and charts.memory_graph_chart(graph),
        **provenance,
        **freshness_context(access, memory, request),
        **scores_context(access, memory, request),
    }
    return render_page(request, TEMPLATE, context, status=status)


def inactive_reason(memory: Memory) -> str:
    """Why it is no longer active, with the user's name instead of the id."""
    text, _, id = memory.reason.rpartition(" user ")
    name = User.objects.filter(pk=id).values_list("username", flat=True).first() if id.isdecimal() else None
    return f"{text} {name}" if name else memory.reason


def freshness_context(access: Access, memory: Memory, request: HttpRequest) -> dict[str, Any]:
    """Freshness today and its curve, under the served parameters or those of the sliders."""
    namespace, half_life_name = access.namespace, f"half_life_{memory.type.lower()}"
    names = (half_life_name, "freshness_floor")
    config = resolve_config(namespace, params={})
    served = {name: value for name, value in config.given.items() if name in FreshnessParams.declarations()}
    problems, changed = [], {}
    try:
        parsed = parse_changed_params(FreshnessParams, request.GET, served)
        changed = {name: value for name, value in parsed.items() if name in names}
    except ParamsError as error:
        problems = error.problems
    params, served_params = FreshnessParams.of({**served, **changed}), FreshnessParams.of(served)
    groups = param_groups(FreshnessParams, {**served, **changed}, served)
    sliders = {slider.name: slider for group in groups for slider in group.sliders}
    half_life, floor = getattr(params, half_life_name), params.freshness_floor
    age = max((namespace.now - memory.created_at) / timedelta(days=1), 0.0)
    [freshness] = charts.freshness_at(np.array([age]), half_life, floor)
    return {
        "memory": memory,
        "now": namespace.now,
        "half_life": half_life,
        "sliders_changed": bool(changed),
        "freshness": freshness,
        "floor": floor,
        "floor_date": charts.floor_date(memory, half_life, floor),
        "freshness_chart": charts.freshness_chart(memory, namespace.now, half_life_name, params, served_params),
        "sliders": [ParamGroup("Half-life and floor", [sliders[name] for name in names])],
        "slider_problems": problems,
    }


def scores_context(access: Access, memory: Memory, request: HttpRequest) -> dict[str, Any]:
    """The memory's rank under each system, if there is a query."""
    text = request.GET.get("q", "")
    if not text.strip():
        return {"query": "", "scores": None}
    try:
        scores = score_under_all_systems(access.namespace, memory, text)
    except (ValidationError, ProviderError) as error:
        return {"query": text, "scores": None, "query_problems": error_problems(error)}
    return {
        "query": text,
        "scores": scores,
        **(memory_why_not_context(access, memory, request) if "why" in request.GET else {}),
    }


def memory_why_not_context(access: Access, memory: Memory, request: HttpRequest) -> dict[str, Any]:
    """Why the system of the query string does not return the memory."""
    system = request.GET.get("why", "")
    if system not in SYSTEMS:
        raise Http404(f"There is no system “{system}”; there are {', '.join(SYSTEMS)}.")
    result = why_not_under_system(access.namespace, memory, request.GET.get("q", ""), system)
    return {
        "why_not_system": system,
        "why_not": result,
        "why_not_sentence": why_not_sentence(result, SYSTEMS[system].params),
    }
