"""Memories: browse them by page, divide them, search them, and act on many at once."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.api.memories import memories_with_tags, visible_statuses
from memories.models import Memory, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, need
from memories.pages.memory_list import saved_views
from memories.pages.memory_list.facets import MAX_COUNTED, address, facets
from memories.pages.memory_list.filters import FILTERS, Browsing, browsing
from memories.providers.unavailable import ProviderError
from memories.web.fields import Identifier, ListOf, OneOf, Text
from memories.web.pagination import MAX_LIMIT, paginate
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from memories.writing import feedback
from memories.writing.edit import edit_memory
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError
from recall_site.layout import render_page
from recall_site.middleware import current_request_id
from recall_site.problems import flat

TOLD = "memories.told"  # in the session, what became of the last chosen ones
TEMPLATE = "memories/memories.html"


class Chosen(StrictObject):
    """What to do with which memories."""

    act = OneOf(choices=["confirm", "tag", "forget"])
    ids = ListOf(child=Identifier(), max_length=MAX_LIMIT, min_length=1)
    tag = Text(max_length=100, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a tag that is not named."""
        if attrs["act"] == "tag" and "tag" not in attrs:
            raise ValidationError({"tag": ["must not be empty"]})
        return attrs


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def memories(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Look at memories, or do something to the chosen ones."""
    access = access_of(request, namespace)
    if request.method != "POST":
        return listed(request, access)
    if request.POST.get("act") not in saved_views.DOING:
        return act(request, access)
    try:
        return saved_views.DOING[request.POST["act"]](request, namespace, redirect(request.get_full_path()))
    except ValidationError as error:
        return listed(request, access, list(flat(error.detail)))


def listed(request: HttpRequest, access: Access, problems: list[dict[str, str]] | None = None) -> HttpResponse:
    """The list, its facets, and what became of the last chosen ones."""
    told = remembered(access, request.session.pop(TOLD)) if TOLD in request.session else None
    context: dict[str, Any] = {
        "told": told,
        "writes": access.allows(Role.WRITE),
        "kept": kept(request.GET),
        "views": saved_views.saved(request, access.namespace),
        "here": address(kept(request.GET)),
    }
    status = 400 if problems else 200
    try:
        context |= found(request, access)
    except ValidationError as error:
        problems, status = [*(problems or []), *flat(error.detail)], 400
    except ProviderError as error:
        problems, status = [{"at": "", "message": str(error)}], 503
    context |= {"problems": problems, "request_id": current_request_id.get()}
    htmx: Any = getattr(request, "htmx", None)
    if not htmx or htmx.history_restore_request:
        return render_page(request, TEMPLATE, context, status=status)
    return render_page(request, TEMPLATE, context, partial="found")  # htmx shows no answer that tells a failure


def found(request: HttpRequest, access: Access) -> dict[str, Any]:
    """The memories that the address asks for, and how they divide."""
    given = kept(request.GET)
    look = browsing(access.namespace, given)
    if look.query["status"] not in visible_statuses(access):
        raise ValidationError(
            {"status": [f"must be one of {', '.join(visible_statuses(access))}; got {look.query['status']}"]}
        )
    divided, counts = facets(look, access, given)
    if look.cosines is not None:
        rows, after, before = look.nearest(), None, None
    else:
        rows, after, before = paginate(Request(request), access.namespace, look.rows(), dict(look.query))
    return {
        "look": look.query,
        "rows": rows,
        "next": after,
        "previous": before,
        "facets": divided,
        "total": f"{MAX_COUNTED:,}+" if counts.more else f"{counts.total:,}",
        "one": counts.total == 1,
        "counted": f"{MAX_COUNTED:,}" if counts.more else "",
        "missing": look.missing,
        "late": look.late,
        "meaning": look.cosines is not None,
        "nearest": len(look.cosines or ()),
        "chosen": chosen(look, divided, given),
        "now": access.namespace.now,
    }


def chosen(look: Browsing, divided: list[Any], given: Mapping[str, str]) -> list[tuple[str, str]]:
    """The filters in force, each with the address without it."""
    labels = {facet.name: one.label for facet in divided for one in facet.options if one.chosen}
    return [(f"{name} {labels.get(name, '')}", address(given, **{name: ""})) for name in FILTERS if name in look.query]


def kept(given: QueryDict) -> dict[str, str]:
    """What an address says, without the empty fields of its form."""
    return {name: value for name, value in given.items() if isinstance(value, str) and value.strip()}


def act(request: HttpRequest, access: Access) -> HttpResponse:
    """Do to each chosen memory what was asked for, and tell what became of each; forgetting asks first."""
    need(access, Role.WRITE)
    sent = {"act": request.POST.get("act", ""), "ids": request.POST.getlist("ids")}
    sent |= {"tag": request.POST["tag"]} if request.POST.get("tag", "").strip() else {}
    try:
        asked = valid_values(Chosen(data=sent))
    except ValidationError as error:
        return listed(request, access, list(flat(error.detail)))
    rows = list(memories_with_tags(access.namespace).filter(id__in=asked["ids"], status__in=visible_statuses(access)))
    back = f"{request.path}?{request.GET.urlencode()}" if request.GET else request.path
    if asked["act"] == "forget" and "sure" not in request.POST:
        return render_page(request, "memories/forget.html", {"rows": rows, "back": back, "action": back})
    request.session[TOLD] = outcomes(access, asked, rows)
    return redirect(back)


def outcomes(access: Access, asked: Mapping[str, Any], rows: list[Memory]) -> dict[str, Any]:
    """What became of each, in the order of the list."""
    did, do = DOING[asked["act"]]
    done = []
    for row in sorted(rows, key=lambda row: asked["ids"].index(row.id)):
        refused = ""
        try:
            do(access, row, asked)
        except (NotFoundError, RefusedError, IntervalError) as error:
            refused = str(error)
        done.append({"id": str(row.id), "refused": refused})
    absent = len(asked["ids"]) - len(rows)
    return {"did": did, "done": sum(not one["refused"] for one in done), "rows": done, "absent": absent}


def remembered(access: Access, told: dict[str, Any]) -> dict[str, Any]:
    """What became of each, with its words, which no session keeps: they might outlive the memory there."""
    rows = Memory.objects.within(access.namespace).filter(id__in=[one["id"] for one in told["rows"]])
    contents = {str(row.id): row.content for row in rows}
    return {**told, "rows": [{**one, "content": contents.get(one["id"], one["id"])} for one in told["rows"]]}


def confirm(access: Access, row: Memory, asked: Mapping[str, Any]) -> None:
    feedback.confirm_memory(access.namespace, row.id, by=access.caller)


def tag(access: Access, row: Memory, asked: Mapping[str, Any]) -> None:
    tags = [*(one.tag for one in row.tags.all()), asked["tag"]]
    edit_memory(access.namespace, row.id, {"tags": tags}, by=access.caller)


def forget(access: Access, row: Memory, asked: Mapping[str, Any]) -> None:
    feedback.forget_memory(access.namespace, row.id, by=access.caller)


DOING: dict[str, tuple[str, Callable[[Access, Memory, Mapping[str, Any]], None]]] = {
    "confirm": ("Confirmed", confirm),
    "tag": ("Tagged", tag),
    "forget": ("Forgotten", forget),
}
