"""The Keys page: create, rotate and revoke API keys; a key is shown once."""

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
from memories.pages.access import access_of, members_only, require_role
from memories.pages.connect import connection_context
from memories.pages.request_data import filled_fields
from memories.web.api_keys import KeyEndedError, issue_key, key_end, revoke_key, rotate_key
from memories.web.fields import Integer, OneOf, Text
from memories.web.layout import render_page
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from memories.web.validation_errors import flatten_errors

MAX_KEYS = 200


class NewKeySerializer(StrictObject):
    """Form of a new key."""

    name = Text(max_length=200)
    role = OneOf(choices=Role.values)
    days = Integer(in_query=True, min_value=1, max_value=3_650, required=False)


@never_cache
@require_http_methods(["GET", "POST"])
@members_only
def keys_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List the keys; POST creates one and shows it once."""
    if request.method == "GET":
        return render_keys(request, namespace, access_of(request, namespace))
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        body = valid_values(NewKeySerializer(data=given))
    except ValidationError as error:
        return render_keys(
            request, namespace, access, given=given, wrong=list(flatten_errors(error.detail)), status=400
        )
    lifetime = timedelta(days=body["days"]) if "days" in body else None
    key, plain = issue_key(namespace, name=body["name"], role=body["role"], lifetime=lifetime)
    return render_keys(request, namespace, access, made=key, plain=plain, status=201)


@never_cache
@require_POST
@members_only
def key_rotate_view(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Replace a key by a new one, and show it once."""
    access = require_role(request, namespace, Role.ADMIN)
    old = key_or_404(namespace, id)
    try:
        key, plain = rotate_key(namespace, old)
    except KeyEndedError as error:
        messages.warning(request, str(error))
        return redirect("keys", namespace.slug)
    return render_keys(request, namespace, access, made=key, plain=plain, rotated=old, status=201)


@require_POST
@members_only
def key_revoke_view(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Revoke a key at once."""
    require_role(request, namespace, Role.ADMIN)
    key = key_or_404(namespace, id)
    try:
        revoke_key(namespace, key)
        messages.success(request, f"The key “{key.name}” ({key.prefix}…) is revoked.")
    except KeyEndedError as error:
        messages.warning(request, str(error))
    return redirect("keys", namespace.slug)


def key_or_404(namespace: Namespace, id: UUID) -> ApiKey:
    """A key of the namespace; raises Http404."""
    key = ApiKey.objects.within(namespace).filter(id=id).first()
    if key is None:
        raise Http404(f"There is no key {id} in this namespace.")
    return key


def render_keys(
    request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page; active keys first, newest first."""
    now = timezone.now()
    keys = list(ApiKey.objects.within(namespace).defer("hash").order_by("-created_at", "id")[: MAX_KEYS + 1])
    rows = [{"key": key, "ended": key_end(key, now)} for key in keys[:MAX_KEYS]]
    context = {
        "rows": sorted(rows, key=lambda row: bool(row["ended"])),
        "working": sum(not row["ended"] for row in rows),
        "capped": len(keys) > MAX_KEYS,
        "most": MAX_KEYS,
        "roles": Role.values,
        "may_change": access.allows(Role.ADMIN),
        **(connection_context(request, namespace, new=more["made"], plain=more["plain"]) if "plain" in more else {}),
        **more,
    }
    return render_page(request, "memories/keys.html", context, status=status)
