"""The keys of agents: made, shown once, put in another's place, revoked."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.models import ApiKey, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, demanded, members_only
from memories.pages.request_data import filled_fields
from memories.web.api_keys import GRACE, EndedError, end_reason, issue, revoke, rotate
from memories.web.fields import Integer, OneOf, Text
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from recall_site.layout import render_page
from recall_site.problems import flat

MOST_SHOWN = 200


class NewKey(StrictObject):
    """A key to be made."""

    name = Text(max_length=200)
    role = OneOf(choices=Role.values)
    days = Integer(in_query=True, min_value=1, max_value=3_650, required=False)


@never_cache
@require_http_methods(["GET", "POST"])
@members_only
def keys(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List the keys; make one, and show it this once."""
    if request.method == "GET":
        return show(request, namespace, access_of(request, namespace))
    access = demanded(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        wanted = valid_values(NewKey(data=given))
    except ValidationError as error:
        return show(request, namespace, access, given=given, wrong=list(flat(error.detail)), status=400)
    lasts = timedelta(days=wanted["days"]) if "days" in wanted else None
    key, plain = issue(namespace, name=wanted["name"], role=wanted["role"], lasts=lasts)
    return show(request, namespace, access, made=key, plain=plain, status=201)


@never_cache
@require_POST
@members_only
def rotated(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Put another key in a key's place, and show it this once."""
    access = demanded(request, namespace, Role.ADMIN)
    old = key_of(namespace, id)
    try:
        key, plain = rotate(namespace, old)
    except EndedError as error:
        messages.warning(request, str(error))
        return redirect("keys", namespace.slug)
    return show(request, namespace, access, made=key, plain=plain, rotated=old, status=201)


@require_POST
@members_only
def revoked(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Let a key open nothing from now on."""
    demanded(request, namespace, Role.ADMIN)
    key = key_of(namespace, id)
    try:
        revoke(namespace, key)
        messages.success(request, f"The key “{key.name}” ({key.prefix}…) is revoked and opens nothing any more.")
    except EndedError as error:
        messages.warning(request, str(error))
    return redirect("keys", namespace.slug)


def key_of(namespace: Namespace, id: UUID) -> ApiKey:
    """Find a key of the namespace."""
    key = ApiKey.objects.within(namespace).filter(id=id).first()
    if key is None:
        raise Http404(f"There is no key {id} here.")
    return key


def show(request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page: those that work first, the newest before the others."""
    now = timezone.now()
    found = list(ApiKey.objects.within(namespace).defer("hash").order_by("-created_at", "id")[: MOST_SHOWN + 1])
    rows = [{"key": key, "ended": end_reason(key, now)} for key in found[:MOST_SHOWN]]
    context = {
        "rows": sorted(rows, key=lambda row: bool(row["ended"])),
        "working": sum(not row["ended"] for row in rows),
        "capped": len(found) > MOST_SHOWN,
        "most": MOST_SHOWN,
        "roles": Role.values,
        "grace": GRACE,
        "may_change": access.allows(Role.ADMIN),
        **more,
    }
    return render_page(request, "memories/keys.html", context, status=status)
