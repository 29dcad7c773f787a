"""Views of the memory list: filters, facets, search, saved views and bulk actions."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.models import Namespace
from memories.models.choices import Role, Status
from memories.pages.access import access_of, check_role, members_only
from memories.pages.memory_list.bulk_actions import BulkActionSerializer, outcomes_with_content, run_bulk_action
from memories.pages.memory_list.facets import MAX_COUNTED, Facet, list_url, load_facets
from memories.pages.memory_list.filters import FILTERS, MemorySelection, select_memories
from memories.pages.memory_list.saved_views import VIEW_ACTIONS, load_saved_views
from memories.text.provider_error import ProviderError
from memories.web.layout import render_page
from memories.web.memory_filters import memories_with_tags, visible_statuses
from memories.web.middleware import current_request_id
from memories.web.pagination import paginate
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors

OUTCOMES_KEY = "memories.outcomes"  # session key of the last bulk action's outcomes
TEMPLATE = "memories/memories.html"
FORM_PARAMS = ("q", "by", "cursor", "status")  # set or reset by the search form itself


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def memory_list_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List memories; POST runs a bulk action, or saves or deletes a view."""
    access = access_of(request, namespace)
    if request.method != "POST":
        return render_memory_list(request, access)
    if request.POST.get("act") not in VIEW_ACTIONS:
        return perform_bulk_action(request, access)
    try:
        return VIEW_ACTIONS[request.POST["act"]](request, namespace, redirect(request.get_full_path()))
    except ValidationError as error:
        return render_memory_list(request, access, list(flatten_errors(error.detail)))


def render_memory_list(
    request: HttpRequest, access: Access, problems: list[dict[str, str]] | None = None
) -> HttpResponse:
    """The list with its facets, and once the outcomes of the last bulk action."""
    params = non_empty_params(request.GET)
    outcomes = request.session.pop(OUTCOMES_KEY, None)
    context: dict[str, Any] = {
        "outcomes": outcomes and outcomes_with_content(access, outcomes),
        "may_write": access.allows(Role.WRITE),
        "form_params": {name: value for name, value in params.items() if name not in FORM_PARAMS},
        "views": load_saved_views(request, access.namespace),
        "here": list_url(params),
    }
    status = 400 if problems else 200
    try:
        context |= memory_list_context(request, access, params)
    except ValidationError as error:
        problems, status = [*(problems or []), *flatten_errors(error.detail)], 400
    except ProviderError as error:
        problems, status = [{"at": "", "message": str(error)}], 503
    context |= {"problems": problems, "request_id": current_request_id.get()}
    htmx: Any = getattr(request, "htmx", None)
    partial = "" if htmx and htmx.history_restore_request else "found"
    return render_page(request, TEMPLATE, context, partial=partial, status=status)


def memory_list_context(request: HttpRequest, access: Access, params: dict[str, str]) -> dict[str, Any]:
    """The matching memories and their facets; raises ValidationError or ProviderError."""
    selection = select_memories(access.namespace, params)
    if selection.query["status"] not in visible_statuses(access):
        raise ValidationError(
            {"status": [f"must be one of {', '.join(visible_statuses(access))}; got {selection.query['status']}"]}
        )
    facets, counts = load_facets(selection, access, params)
    if selection.is_semantic:
        rows, after, before = selection.nearest(), None, None
    else:
        rows, after, before = paginate(Request(request), access.namespace, selection.rows(), dict(selection.query))
    return {
        "query": selection.query,
        "rows": rows,
        "next": after,
        "previous": before,
        "facets": facets,
        "total": f"{MAX_COUNTED:,}+" if counts.more else f"{counts.total:,}",
        "total_is_one": counts.total == 1,
        "max_counted": f"{MAX_COUNTED:,}" if counts.more else "",
        "timed_out": selection.timed_out,
        "semantic": selection.is_semantic,
        "nearest": len(selection.cosines or ()),
        "filters": selected_filters(selection, facets, params),
        "is_filtered": is_filtered(selection),
        "empty_messages": [] if rows else empty_messages(selection),
        "now": access.namespace.now,
    }


def selected_filters(selection: MemorySelection, facets: list[Facet], params: dict[str, str]) -> list[tuple[str, str]]:
    """Label of each selected filter, and the URL without it."""
    labels = {facet.name: option.label for facet in facets for option in facet.options if option.selected}
    return [
        (f"{name} {labels.get(name, '')}", list_url(params, **{name: ""}))
        for name in FILTERS
        if name in selection.query
    ]


def is_filtered(selection: MemorySelection) -> bool:
    """Whether any filter is selected, the status included."""
    return any(name in selection.query for name in FILTERS) or selection.query["status"] != Status.ACTIVE


def empty_messages(selection: MemorySelection) -> list[str]:
    """Why there are no results, one sentence per paragraph."""
    under_filters = " under these filters" if any(name in selection.query for name in FILTERS) else ""
    if selection.missing:
        words = ", ".join(f"“{word}”" for word in selection.missing)
        return [f"No memory contains {words}.", "A semantic search may find it in other words."]
    if selection.timed_out:
        return ["Nothing was searched; try again."]
    if selection.cosines:
        return [
            f"None of the {len(selection.cosines)} nearest passes these filters.",
            "Only type and tag restrict the search itself; the other filters apply to its results.",
        ]
    if selection.is_semantic:
        return [f"There is nothing to search semantically{under_filters}."]
    if "q" in selection.query:
        return [f"No memory contains all of these words{under_filters}."]
    if is_filtered(selection):
        return ["Nothing matches these filters."]
    return ["There are no memories yet.", "Import a file, paste a conversation, or let agents store them over the API."]


def non_empty_params(params: QueryDict) -> dict[str, str]:
    """The query parameters without the form's empty fields."""
    return {name: value for name, value in params.items() if isinstance(value, str) and value.strip()}


def perform_bulk_action(request: HttpRequest, access: Access) -> HttpResponse:
    """Run an action on the selected memories; forgetting asks for confirmation first."""
    check_role(access, Role.WRITE)
    form = {"act": request.POST.get("act", ""), "ids": request.POST.getlist("ids")}
    form |= {"tag": request.POST["tag"]} if request.POST.get("tag", "").strip() else {}
    try:
        body = valid_values(BulkActionSerializer(data=form))
    except ValidationError as error:
        return render_memory_list(request, access, list(flatten_errors(error.detail)))
    rows = list(memories_with_tags(access.namespace).filter(id__in=body["ids"], status__in=visible_statuses(access)))
    url = f"{request.path}?{request.GET.urlencode()}" if request.GET else request.path
    if body["act"] == "forget" and "sure" not in request.POST:
        return render_page(request, "memories/forget.html", {"rows": rows, "back": url, "action": url})
    request.session[OUTCOMES_KEY] = run_bulk_action(access, body, rows)
    return redirect(url)
