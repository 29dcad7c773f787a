"""Views of the Thresholds page: move any threshold, see what changes, save a profile or a policy draft."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from memories.models import Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.policy_publishing import publish_and_recompute
from memories.pages.thresholds.effects import Effect, count_effects, count_together
from memories.pages.thresholds.forms import POLICY, ThresholdState, parse_threshold_state
from memories.pages.thresholds.populations import NothingToCount
from memories.pages.thresholds.rows import BoardRow, BoardSection, board_section, board_sections, moved_rows
from memories.tuning.policy_drafts import save_policy_draft
from memories.tuning.profile_versions import (
    MAX_NAME_LENGTH,
    add_profile_version,
    profile_name_problem,
    version_label,
)
from memories.web.layout import render_page
from scoring.catalogue.thresholds import THRESHOLD_TABLES

TEMPLATE = "memories/thresholds.html"
COUNTING_BUDGET_S = 0.6  # time budget of one request for effects
RowEffects = tuple[BoardRow, list[Effect | NothingToCount]]


@require_GET
@members_only
def thresholds_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Every threshold with its slider; `count` names a section whose effects are counted before it is sent."""
    state = parse_threshold_state(namespace, request.GET)
    access = access_of(request, namespace)
    context = {
        "state": state,
        "problems": state.problems,
        "may_write": access.allows(Role.WRITE),
        "may_admin": access.allows(Role.ADMIN),
        "max_name_length": MAX_NAME_LENGTH,
        "moved": [
            (scope, moved_rows(state, scope), "" if scope == POLICY else state.starts[scope].profile)
            for scope in state.changed
        ],
        "draft": state.draft,
    }
    if not getattr(request, "htmx", False):
        context["sections"] = board_sections(state)
        context["effects"] = inline_effects(state, request.GET.get("count", ""))
    response = render_page(request, TEMPLATE, context, partial="moved")
    response["HX-Replace-Url"] = f"{request.path}?{state.query_string}" if state.query_string else request.path
    return response


def inline_effects(state: ThresholdState, name: str) -> dict[str, Any]:
    """The effects of one section by field, for browsers without JavaScript."""
    sections = [section for section in board_sections(state) if section.name == name]
    return {row.slider.field: effects for section in sections for row, effects in section_effects(state, section)}


@require_GET
@members_only
def threshold_effects(request: HttpRequest, namespace: Namespace, system: str) -> HttpResponse:
    """What each threshold of a section changes, as many as fit the time budget; the page asks for those after them."""
    table = next((table for table in THRESHOLD_TABLES if table.system == system), None)
    if table is None:
        raise Http404(f"There is no table {system}; there are {', '.join(table.system for table in THRESHOLD_TABLES)}.")
    state = parse_threshold_state(namespace, request.GET)
    section = board_section(state, table)
    after = request.GET.get("after", "")
    done = int(after) if after.isdecimal() else 0
    counted = list(section_effects(state, section, done, COUNTING_BUDGET_S))
    done += len(counted)
    context = {
        "state": state,
        "section": section,
        "counted": counted,
        "done": done,
        "remaining": done < len(section.rows),
        "together": None if done < len(section.rows) else count_together(state, system),
    }
    return render_page(request, "memories/threshold_effects.html", context)


def section_effects(
    state: ThresholdState, section: BoardSection, done: int = 0, seconds: float = float("inf")
) -> Iterator[RowEffects]:
    """The effects of one row after another from a position, at least one, until the time is up."""
    until = time.monotonic() + seconds
    for row in section.rows[done:]:
        yield row, count_effects(state, row.slider)
        if time.monotonic() > until:
            return


@require_POST
@members_only
def save_threshold_profile(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the moved thresholds of one system as the next version of a profile; not served until published."""
    access = require_role(request, namespace, Role.WRITE)
    state = parse_threshold_state(namespace, QueryDict(request.POST.get("here", "")))
    system, name = request.POST.get("system", ""), request.POST.get("name", "").strip()
    refusal = f"the name {problem}" if (problem := profile_name_problem(name)) else ""
    if system not in state.starts or not state.changed.get(system):
        refusal = "no threshold of this system was moved"
    if refusal:
        messages.warning(request, f"Nothing was saved: {refusal}.")
        return HttpResponseRedirect(f"{resolve_url('thresholds', namespace.slug)}?{state.query_string}")
    start = state.starts[system]
    version = add_profile_version(
        namespace,
        name=name,
        system=system,
        params=dict(state.values(system)),
        parent=start.version_id,
        note=f"Thresholds: {moved_text(moved_rows(state, system))}.",
        by=access.caller,
    )
    url, label = resolve_url("profiles-one", namespace.slug, version.id), version_label(version)
    message = 'Saved as <a href="{}">{}</a>. It is not served until it is published there, past the gate.'
    messages.success(request, format_html(message, url, label))
    return HttpResponseRedirect(f"{resolve_url('thresholds', namespace.slug)}?{state.query_string}")


@require_POST
@members_only
def save_threshold_policy(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the moved thresholds of the write path as a draft of the write policy."""
    access = require_role(request, namespace, Role.ADMIN)
    state = parse_threshold_state(namespace, QueryDict(request.POST.get("here", "")))
    changes = state.changed.get(POLICY, {})
    if not changes:
        messages.warning(request, "Nothing was saved: no threshold of the write policy was moved.")
        return HttpResponseRedirect(f"{resolve_url('thresholds', namespace.slug)}?{state.query_string}")
    note = f"Thresholds: {moved_text(moved_rows(state, POLICY))}."
    version = save_policy_draft(namespace, changes, note=note, by=access.caller)
    data = QueryDict(state.query_string, mutable=True)
    data["draft"] = str(version.id)
    return HttpResponseRedirect(f"{resolve_url('thresholds', namespace.slug)}?{data.urlencode()}#draft")


@require_POST
@members_only
def publish_threshold_policy(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Publish a draft of the write policy and, if requested, start the recompute job."""
    publish_and_recompute(request, namespace, id)
    return redirect("thresholds", namespace.slug)


def moved_text(rows: list[BoardRow]) -> str:
    """Moved thresholds with their values before and after."""
    return ", ".join(f"{row.threshold.title} {row.before_text} → {row.after_text}" for row in rows)
