"""Views that a person saved: named addresses of the list, kept in a cookie of their browser.

A table would hold what they searched for, and every export and every erasure would have to mind it.
"""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import ValidationError

from memories.models import Namespace
from memories.web.fields import Text
from memories.web.serializers import StrictObject, valid_values

MOST = 8  # as many as a cookie holds
LONGEST = 300  # characters of an address
YEAR = 365 * 24 * 3600
PASSING = ("cursor",)  # where somebody was, and not what they looked for


class View(StrictObject):
    """A name for what is looked at."""

    name = Text(max_length=40)
    query = Text(max_length=LONGEST, allow_blank=True)


def cookie_of(request: HttpRequest) -> str:
    """Name the cookie: two people may share a browser."""
    return f"views-{request.user.pk}"


def saved(request: HttpRequest, namespace: Namespace) -> dict[str, str]:
    """The views by name, each with its address; none where the cookie is no longer what was given."""
    try:
        found: dict[str, str] = signing.loads(request.COOKIES[cookie_of(request)], salt=str(namespace.id))
    except (KeyError, signing.BadSignature):
        return {}
    return found


def keep(request: HttpRequest, namespace: Namespace, response: HttpResponse) -> HttpResponse:
    """Save what the address looks at under a name (ValidationError), or in place of what had the name."""
    lasting = [(name, value) for name, value in parse_qsl(request.GET.urlencode()) if name not in PASSING]
    view = valid_values(View(data={"name": request.POST.get("name", ""), "query": urlencode(lasting)}))
    views = {**saved(request, namespace), view["name"]: f"?{view['query']}"}
    if len(views) > MOST:
        raise ValidationError({"name": [f"must be one of at most {MOST} views; let go of one first"]})
    return written(request, namespace, response, views)


def drop(request: HttpRequest, namespace: Namespace, response: HttpResponse) -> HttpResponse:
    """Let go of a view."""
    views = saved(request, namespace)
    views.pop(request.POST.get("name", ""), None)
    return written(request, namespace, response, views)


def written(request: HttpRequest, namespace: Namespace, response: HttpResponse, views: dict[str, Any]) -> HttpResponse:
    """The answer with the views in its cookie."""
    value = signing.dumps(views, salt=str(namespace.id), compress=True)
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(
        cookie_of(request), value, YEAR, path=request.path, secure=secure, httponly=True, samesite="Lax"
    )
    return response


DOING = {"keep": keep, "drop": drop}
