"""The Overview page: counts and recent memories of a namespace."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Max, Min, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from memories.models import Entity, EntityEdge, JudgedQuery, Memory, Namespace, ReviewItem, Session
from memories.models.choices import STATEMENTS, MemoryType, QueryKind, Status, Verdict
from memories.pages.access import members_only
from memories.pages.checklist import checklist_context
from memories.pages.connect import connection_context
from memories.pages.lab.views import example_queries
from memories.retrieval.config import resolve_config, serving_description
from memories.retrieval.query import Config
from memories.web.layout import current_namespace, namespaces_of, render_page
from scoring.params import ParamsError
from scoring.signal_effects import signal_effects
from scoring.systems import SYSTEMS

MAX_EXAMPLES = 3
INACTIVE = [status for status in Status.values if status != Status.ACTIVE]


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the last used namespace; without any membership, explain how to get one."""
    namespace = current_namespace(request, namespaces_of(request))
    if namespace is None:
        return render_page(request, "memories/no_namespace.html", {})
    return redirect("overview", namespace.slug)


@require_GET
@members_only
def overview_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Counts and recent memories of a namespace."""
    context = namespace_summary(namespace) | connection_context(request, namespace)
    context |= checklist_context(request, namespace)
    return render_page(request, "memories/overview.html", context)


def signals_read(config: Config) -> dict[str, Any]:
    """What a configuration reads: its retrievers, the effect of every stored signal, and what it declares besides."""
    system, params = config.system, config.system.params.of(dict(config.given))
    asked = system.weighted_retrievers(params)
    return {
        "system": system.name,
        "description": config.description,
        "asked": asked,
        "not_asked": [retriever for retriever in system.retrievers if retriever not in asked],
        "effects": signal_effects(system.name, params),
        "besides": system.optional_features,
    }


def served_signals(namespace: Namespace) -> dict[str, Any]:
    """What the served configuration reads, or why it cannot rank: a profile may be older than its system's bounds."""
    try:
        return signals_read(resolve_config(namespace, params={}))
    except ParamsError as error:
        return {"description": serving_description(namespace), "problem": str(error)}


def namespace_summary(namespace: Namespace) -> dict[str, Any]:
    """Counts of everything in a namespace, one SQL query per table."""
    statements = Memory.objects.within(namespace).filter(level__in=STATEMENTS)
    memories = statements.aggregate(
        **{status: Count("id", filter=Q(status=status)) for status in Status.values},
        **{type: Count("id", filter=Q(status=Status.ACTIVE, type=type)) for type in MemoryType.values},
        first=Min("created_at"),
        last=Max("created_at"),
    )
    types = {type: memories[type] for type in MemoryType.values}
    served = served_signals(namespace)
    systems = [signals_read(resolve_config(namespace, system=name, params={})) for name in SYSTEMS]
    queries = JudgedQuery.objects.within(namespace).aggregate(
        all=Count("id"), unanswerable=Count("id", filter=Q(kind=QueryKind.UNANSWERABLE))
    )
    return {
        "now": namespace.now,
        "serving": served["description"],
        "memories": memories,
        "types": [(type, count, 100 * count / (max(types.values()) or 1)) for type, count in types.items()],
        "inactive": {status: memories[status] for status in INACTIVE if memories[status]},
        "recent": statements.filter(status=Status.ACTIVE).order_by("-created_at", "id")[:8],
        "entities": Entity.objects.within(namespace).count(),
        "edges": EntityEdge.objects.within(namespace).count(),
        "sessions": Session.objects.within(namespace).count(),
        "reviews": ReviewItem.objects.within(namespace).filter(state=Verdict.PENDING).count(),
        "queries": queries,
        "served": served,
        "systems": systems,
        "effects_by_signal": list(zip(*(system["effects"] for system in systems), strict=True)),
        "examples": example_queries(namespace)[:MAX_EXAMPLES],
    }
