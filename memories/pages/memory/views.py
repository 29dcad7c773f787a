"""Memory: its numbers and what they rest on, how it fades, what it is near to; and what a person says of it."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_GET, require_http_methods
from rest_framework.exceptions import ValidationError

from memories.api.evidence_actions import (
    ContradictionSerializer,
    CorrectionSerializer,
    contradict_from_body,
    correct_from_body,
)
from memories.api.memories import memories_with_tags, visible_statuses
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, Role, SourceLevel, Status
from memories.pages.access import access_of, members_only, need
from memories.pages.lab.why_not_panel import why_not_sentence
from memories.pages.memory import charts as figures
from memories.pages.memory.evidence_history import events_of, history, waterfall
from memories.pages.memory.surroundings import heard, neighbours, surroundings
from memories.pages.memory.system_scores import missed, scores
from memories.pages.sliders import ParamGroup, param_groups, parse_changed_params
from memories.providers.unavailable import ProviderError
from memories.retrieval.config import resolve_config
from memories.templatetags.numbers import days_before, figure
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.writing import feedback
from memories.writing.evidence import load_evidence
from memories.writing.split import split_memory
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError
from memories.writing.write_policy import current_write_policy
from recall_site.layout import render_page
from recall_site.problems import flat
from scoring.params import ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.recall import ConfidenceGateParams, FreshnessParams

TEMPLATE = "memories/memory.html"


@require_GET
@members_only
def memory(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One memory; where htmx asks, only what a slider or a query changes."""
    access = access_of(request, namespace)
    row = stored(access, id)
    htmx: Any = getattr(request, "htmx", None)
    target = htmx.target if htmx and not htmx.history_restore_request else ""
    if "why" in request.GET and target and target.startswith("missed-"):
        return render_page(request, TEMPLATE, why(access, row, request), partial="missed")
    if target == "decay":
        return render_page(request, TEMPLATE, fading(access, row, request), partial="decay")
    if target == "scores":
        return render_page(request, TEMPLATE, {"memory": row, **queried(access, row, request)}, partial="scores")
    return shown(request, access, row)


def stored(access: Access, id: UUID) -> Memory:
    """A memory that the member may see."""
    row = memories_with_tags(access.namespace).filter(id=id, status__in=visible_statuses(access))
    found = row.select_related("subject", "session", "turn", "merged_into", "superseded_by", "cluster").first()
    if found is None:
        raise Http404(f"There is no memory {id} here.")
    return found


def shown(
    request: HttpRequest, access: Access, row: Memory, *, refused: Mapping[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """The whole page; what was refused stands beside its form, with what was typed."""
    namespace, policy = access.namespace, current_write_policy(access.namespace)
    events, happened = events_of(row)
    found = heard(access, row)
    changes = history(access, events, found["sources"])
    around = surroundings(access, row)
    near = neighbours(access, row, policy, around.edges)
    standing = load_evidence(namespace, [row.id], policy)[row.id]
    parts = waterfall(events, standing, policy)
    least = ConfidenceGateParams().min_confidence
    context = {
        "memory": row,
        "reason": reason(row),
        "now": namespace.now,
        "age": days_before(row.created_at, namespace.now),
        "writes": access.allows(Role.WRITE),
        "fact": row.level == ChunkLevel.FACT,
        "refused": refused or {},
        "parts": parts,
        "parts_figure": figures.confidence_figure(parts, least, policy.high_confidence),
        "changes": changes,
        "happened": happened,
        "belief_figure": changes and figures.belief_figure(changes, found["days"], namespace.now, policy),
        "near": near,
        "near_figure": near and figures.neighbours_figure(near, policy),
        "escalate": policy.dedup_escalate,
        "duplicate": policy.dedup_duplicate,
        "around": around,
        "around_figure": around and figures.graph_figure(around),
        "around_size": "mid" if max(len(around.entities), len(around.edges)) > 2 else "low",
        **found,
        **fading(access, row, request),
        **queried(access, row, request),
    }
    return render_page(request, TEMPLATE, context, status=status)


def reason(row: Memory) -> str:
    """Why it is no longer active, with a person called by name."""
    said, _, number = row.reason.rpartition(" user ")
    name = User.objects.filter(pk=number).values_list("username", flat=True).first() if number.isdecimal() else None
    return f"{said} {name}" if name else row.reason


def fading(access: Access, row: Memory, request: HttpRequest) -> dict[str, Any]:
    """Its freshness today and every day, under the half-life that is served or the one that is tried."""
    namespace, tau = access.namespace, f"half_life_{row.type.lower()}"
    names = (tau, "freshness_floor")
    served = resolve_config(namespace, params={})
    usual = {name: value for name, value in served.given.items() if name in FreshnessParams.declarations()}
    problems, moved = [], {}
    try:
        moved = {
            name: value
            for name, value in parse_changed_params(FreshnessParams, request.GET, usual).items()
            if name in names
        }
    except ParamsError as error:
        problems = error.problems
    chosen, default = FreshnessParams.of({**usual, **moved}), FreshnessParams.of(usual)
    sliders = [one for group in param_groups(FreshnessParams, {**usual, **moved}, usual) for one in group.sliders]
    age = max((namespace.now - row.created_at) / timedelta(days=1), 0.0)
    (kept,) = figures.curve(np.array([age]), getattr(chosen, tau), chosen.freshness_floor)
    return {
        "memory": row,
        "now": namespace.now,
        "half_life": getattr(chosen, tau),
        "tried": bool(moved),
        "freshness": kept,
        "floor": chosen.freshness_floor,
        "floor_from": figures.floor_from(row, getattr(chosen, tau), chosen.freshness_floor),
        "decay_figure": figures.decay_figure(row, namespace.now, tau, chosen, default),
        "sliders": [ParamGroup("Half-life and floor", [one for name in names for one in sliders if one.name == name])],
        "slider_problems": problems,
    }


def queried(access: Access, row: Memory, request: HttpRequest) -> dict[str, Any]:
    """Where it stands under each system, if something is asked."""
    text = request.GET.get("q", "")
    if not text.strip():
        return {"query": "", "scores": None}
    try:
        found = scores(access.namespace, row, text)
    except ValidationError as error:
        return {"query": text, "scores": None, "query_problems": list(flat(error.detail))}
    except ProviderError as error:
        return {"query": text, "scores": None, "query_problems": [{"at": "", "message": str(error)}]}
    return {"query": text, "scores": found, **(why(access, row, request) if "why" in request.GET else {})}


def why(access: Access, row: Memory, request: HttpRequest) -> dict[str, Any]:
    """Why one system does not give it back for the query of the address."""
    system = request.GET.get("why", "")
    if system not in SYSTEMS:
        raise Http404(f"There is no system “{system}”; there are {', '.join(SYSTEMS)}.")
    found = missed(access.namespace, row, request.GET.get("q", ""), system)
    return {"asked_why": system, "why": found, "why_in_words": why_not_sentence(found, SYSTEMS[system].params)}


class Went(NamedTuple):
    """What an act did, and where to go on."""

    said: str
    to: Memory


def confirm(access: Access, row: Memory, sent: Mapping[str, str]) -> Went:
    before = row.confidence
    standing = feedback.confirm_memory(access.namespace, row.id, by=access.caller)
    after = standing.memory.confidence
    return Went(f"Confirmed: its confidence went from {figure(before, 4)} to {figure(after, 4)}.", row)


def correct(access: Access, row: Memory, sent: Mapping[str, str]) -> Went:
    # A person says it here, and so directly, however the other came about.
    body = {"content": sent.get("content", ""), "source_level": SourceLevel.DIRECT}
    outcome, old = correct_from_body(access, row.id, valid_values(CorrectionSerializer(data=body)))
    if outcome.outcome == "rejected":
        raise RefusedError(f"The correction was rejected: {outcome.reason}.", "rejected")
    return Went(f"Corrected: this is {outcome.outcome}, and what it corrects is {old.memory.status}.", outcome.memory)


def contradict(access: Access, row: Memory, sent: Mapping[str, str]) -> Went:
    named = {name: sent.get(name, "").strip() for name in ("memory", "reason")}
    one, other, new = contradict_from_body(access, row.id, valid_values(ContradictionSerializer(data=named)))
    if not new:
        return Went("They were known to contradict each other; belief is lost once for a pair.", row)
    lost = f"to {figure(one.memory.belief, 1)}, that of the other to {figure(other.memory.belief, 1)}"
    return Went(f"Contradicted: its belief fell {lost}.", row)


def split_off(access: Access, row: Memory, sent: Mapping[str, str]) -> Went:
    split_memory(access.namespace, row.id, by=access.caller)
    return Went("Split off: it stands by itself again, and its survivor as if it had never come.", row)


def forget(access: Access, row: Memory, sent: Mapping[str, str]) -> Went:
    feedback.forget_memory(access.namespace, row.id, by=access.caller)
    return Went("Forgotten: no answer holds it any more, and the next purge erases it.", row)


ACTS: dict[str, Callable[[Access, Memory, Mapping[str, str]], Went]] = {
    "confirm": confirm,
    "correct": correct,
    "contradict": contradict,
    "split": split_off,
    "forget": forget,
}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def act(request: HttpRequest, namespace: Namespace, id: UUID, act: str) -> HttpResponse:
    """Say something of a memory: the page again, with what it did or with what stands against it."""
    access = access_of(request, namespace)
    need(access, Role.WRITE)
    row, here = stored(access, id), resolve_url("memories-memory", namespace.slug, id)
    if act not in ACTS:
        raise Http404(f"There is nothing at {request.path}.")
    if act == "forget" and "sure" not in request.POST:
        return render_page(request, "memories/forget.html", {"rows": [row], "back": here, "action": request.path})
    if request.method != "POST":
        return redirect(here)
    try:
        went = ACTS[act](access, row, request.POST.dict())
    except (ValidationError, NotFoundError, RefusedError, IntervalError, ProviderError) as error:
        return shown(request, access, row, refused=refusal(act, error, request), status=status_of(error))
    messages.success(request, went.said)
    gone = act == "forget" and Status.FORGOTTEN not in visible_statuses(access)
    return redirect(resolve_url("memories", namespace.slug) if gone else page_of(namespace, went.to))


def page_of(namespace: Namespace, row: Memory) -> str:
    """Where a memory is looked at."""
    return resolve_url("memories-memory", namespace.slug, row.id)


def refusal(act: str, error: Exception, request: HttpRequest) -> dict[str, Any]:
    """What was refused, why, and what had been typed."""
    told = list(flat(error.detail)) if isinstance(error, ValidationError) else [{"at": "", "message": str(error)}]
    return {"act": act, "problems": told, "sent": request.POST.dict()}


def status_of(error: Exception) -> int:
    """The status the API would give."""
    return {ValidationError: 400, IntervalError: 400, ProviderError: 503}.get(type(error), 409)
