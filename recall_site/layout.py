"""The frame around every page: menu, namespaces, theme; and the one way to render a page."""

from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_vary_headers

from memories.models import Namespace
from recall_site.theme import THEMES, chosen_theme


class Entry(NamedTuple):
    """One line of the menu: what it is called, the page's name in urls, and whether it belongs to a namespace."""

    title: str
    page: str
    in_namespace: bool = False


MENU = {
    "Data": (
        Entry("Overview", "overview", in_namespace=True),
        Entry("Memories", "memories", in_namespace=True),
        Entry("Traces", "traces", in_namespace=True),
    ),
    "Understand": (
        Entry("Lab", "lab", in_namespace=True),
        Entry("Decay", "decay", in_namespace=True),
        Entry("Dedup", "dedup", in_namespace=True),
        Entry("Graph", "graph", in_namespace=True),
        Entry("Guards", "guards", in_namespace=True),
        Entry("Formulas", "formulas"),
    ),
    "Improve": (
        Entry("Tune", "tune", in_namespace=True),
        Entry("Optimise", "optimise", in_namespace=True),
        Entry("Ablation", "ablation", in_namespace=True),
        Entry("Profiles", "profiles", in_namespace=True),
        Entry("Judgements", "judgements", in_namespace=True),
        Entry("Calibrate", "calibrate", in_namespace=True),
    ),
    "Operate": (
        Entry("Health", "health", in_namespace=True),
        Entry("Keys and settings", "keys", in_namespace=True),
        Entry("API docs", "docs"),
    ),
}


def frame(request: HttpRequest) -> dict[str, Any]:
    """What the base template shows around a page."""
    namespaces = namespaces_of(request)
    here = current(request, namespaces)
    return {
        "menu": {group: linked(request, entries, here) for group, entries in MENU.items()},
        "namespaces": namespaces,
        "namespace": here,
        "theme": chosen_theme(request),
        "themes": THEMES,
    }


def namespaces_of(request: HttpRequest) -> list[Namespace]:
    """The namespaces this user may enter, by name."""
    if not request.user.is_authenticated:
        return []
    return list(Namespace.objects.filter(memberships__user=request.user).order_by("slug"))


def current(request: HttpRequest, namespaces: list[Namespace]) -> Namespace | None:
    """The namespace of the address, else the one last visited, else the first."""
    match = request.resolver_match
    slug = (match and match.kwargs.get("namespace")) or request.session.get("namespace")
    return next((one for one in namespaces if one.slug == slug), namespaces[0] if namespaces else None)


def linked(request: HttpRequest, entries: tuple[Entry, ...], namespace: Namespace | None) -> list[dict[str, Any]]:
    """Entries with their addresses; those that need a namespace are left out where there is none."""
    page = request.resolver_match.view_name if request.resolver_match else ""
    return [
        {
            "title": entry.title,
            "url": resolve_url(entry.page, *([namespace.slug] if entry.in_namespace and namespace else [])),
            "current": page == entry.page or page.startswith(f"{entry.page}-"),
        }
        for entry in entries
        if namespace or not entry.in_namespace
    ]


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, partial: str = "", status: int = 200
) -> HttpResponse:
    """The whole page, or only its changing part where htmx asks for that."""
    htmx = getattr(request, "htmx", False)
    response = render(request, f"{template}#{partial}" if partial and htmx else template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
