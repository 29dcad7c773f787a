"""Saved views of the memory list: named query strings in a signed cookie.

Not in a table: it would hold what people searched for, and every export and purge would have to cover it.
"""

from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import ValidationError

from memories.models import Namespace
from memories.web.fields import Text
from memories.web.serializers import StrictObject, valid_values

MAX_VIEWS = 8  # that fit in a cookie
MAX_QUERY_STRING_CHARS = 300
COOKIE_AGE = 365 * 24 * 3600
TRANSIENT_PARAMS = ("cursor",)


class SavedViewSerializer(StrictObject):
    """A named query string."""

    name = Text(max_length=40)
    query = Text(max_length=MAX_QUERY_STRING_CHARS, allow_blank=True)


def views_cookie_name(request: HttpRequest) -> str:
    """Name of the cookie, per user: several may share a browser."""
    return f"views-{request.user.pk}"


def load_saved_views(request: HttpRequest, namespace: Namespace) -> dict[str, str]:
    """URLs of the views by name; none if the cookie is missing or its signature is invalid."""
    try:
        views: dict[str, str] = signing.loads(request.COOKIES[views_cookie_name(request)], salt=str(namespace.id))
    except (KeyError, signing.BadSignature):
        return {}
    return views


def save_view(request: HttpRequest, namespace: Namespace, response: HttpResponse) -> HttpResponse:
    """Save the current query string under a name, replacing an earlier one; raises ValidationError."""
    lasting = [(name, value) for name, value in parse_qsl(request.GET.urlencode()) if name not in TRANSIENT_PARAMS]
    body = {"name": request.POST.get("name", ""), "query": urlencode(lasting)}
    view = valid_values(SavedViewSerializer(data=body))
    views = {**load_saved_views(request, namespace), view["name"]: f"?{view['query']}"}
    if len(views) > MAX_VIEWS:
        raise ValidationError({"name": [f"must be one of at most {MAX_VIEWS} views; delete one first"]})
    return set_views_cookie(request, namespace, response, views)


def delete_view(request: HttpRequest, namespace: Namespace, response: HttpResponse) -> HttpResponse:
    """Delete a view."""
    views = load_saved_views(request, namespace)
    views.pop(request.POST.get("name", ""), None)
    return set_views_cookie(request, namespace, response, views)


def set_views_cookie(
    request: HttpRequest, namespace: Namespace, response: HttpResponse, views: dict[str, str]
) -> HttpResponse:
    """The response with the views in its cookie."""
    response.set_cookie(
        views_cookie_name(request),
        signing.dumps(views, salt=str(namespace.id), compress=True),
        COOKIE_AGE,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


VIEW_ACTIONS = {"keep": save_view, "drop": delete_view}
