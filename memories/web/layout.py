"""The layout around every page: menu, namespaces, theme; and `render_page`."""

from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_vary_headers

from memories.models import Namespace
from memories.web.theme import THEMES, chosen_theme


class MenuEntry(NamedTuple):
    """A menu entry: its title, its URL name, and whether the URL needs a namespace."""

    title: str
    url_name: str
    in_namespace: bool = False


MENU = {
    "Data": (
        MenuEntry("Overview", "overview", in_namespace=True),
        MenuEntry("Memories", "memories", in_namespace=True),
        MenuEntry("Add data", "add-data", in_namespace=True),
        MenuEntry("Traces", "traces", in_namespace=True),
    ),
    "Understand": (
        MenuEntry("Thresholds", "thresholds", in_namespace=True),
        MenuEntry("Lab", "lab", in_namespace=True),
        MenuEntry("Decay", "decay", in_namespace=True),
        MenuEntry("Dedup", "dedup", in_namespace=True),
        MenuEntry("Graph", "graph", in_namespace=True),
        MenuEntry("Guards", "guards", in_namespace=True),
        MenuEntry("Formulas", "formulas"),
        MenuEntry("Worked example", "worked-example", in_namespace=True),
    ),
    "Improve": (
        MenuEntry("Tune", "tune", in_namespace=True),
        MenuEntry("Optimise", "optimise", in_namespace=True),
        MenuEntry("Ablation", "ablation", in_namespace=True),
        MenuEntry("Profiles", "profiles", in_namespace=True),
        MenuEntry("Judgements", "judgements", in_namespace=True),
        MenuEntry("Calibrate", "calibrate", in_namespace=True),
    ),
    "Operate": (
        MenuEntry("Health", "health", in_namespace=True),
        MenuEntry("Connect", "connect", in_namespace=True),
        MenuEntry("Keys and settings", "keys", in_namespace=True),
        MenuEntry("API docs", "docs"),
    ),
}


def layout_context(request: HttpRequest) -> dict[str, Any]:
    """Context processor of the base template."""
    namespaces = namespaces_of(request)
    namespace = current_namespace(request, namespaces)
    return {
        "menu": {group: menu_links(request, entries, namespace) for group, entries in MENU.items()},
        "namespaces": namespaces,
        "namespace": namespace,
        "theme": chosen_theme(request),
        "themes": THEMES,
    }


def namespaces_of(request: HttpRequest) -> list[Namespace]:
    """The namespaces this user is a member of, by slug."""
    if not request.user.is_authenticated:
        return []
    return list(Namespace.objects.filter(memberships__user=request.user).order_by("slug"))


def current_namespace(request: HttpRequest, namespaces: list[Namespace]) -> Namespace | None:
    """The namespace of the URL, else the last one visited, else the first."""
    match = request.resolver_match
    slug = (match and match.kwargs.get("namespace")) or request.session.get("namespace")
    default = namespaces[0] if namespaces else None
    return next((namespace for namespace in namespaces if namespace.slug == slug), default)


def menu_links(
    request: HttpRequest, entries: tuple[MenuEntry, ...], namespace: Namespace | None
) -> list[dict[str, Any]]:
    """Entries with their URLs, without those that need a namespace where there is none."""
    view = request.resolver_match.view_name if request.resolver_match else ""
    return [
        {
            "title": entry.title,
            "url": resolve_url(entry.url_name, *([namespace.slug] if entry.in_namespace and namespace else [])),
            "current": view == entry.url_name or view.startswith(f"{entry.url_name}-"),
        }
        for entry in entries
        if namespace or not entry.in_namespace
    ]


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, partial: str = "", status: int = 200
) -> HttpResponse:
    """The whole page, or only `partial` for an htmx request: with status 200, as htmx does not swap in errors."""
    if partial and getattr(request, "htmx", False):
        template, status = f"{template}#{partial}", 200
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
