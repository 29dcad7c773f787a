"""Who may see a namespace's pages: its members; to all others it does not exist."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django_htmx.http import HttpResponseClientRedirect

from memories.api.authentication import access_of_member
from memories.models import Membership, Namespace
from memories.models.choices import Role
from memories.web.roles import Access


def members_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Hand the view the namespace its address names, if the user is a member of it."""

    @wraps(view)
    def wrapped(request: HttpRequest, namespace: str, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return to_sign_in(request)
        found = Namespace.objects.filter(slug=namespace, memberships__user=request.user.pk).first()
        if found is None:
            raise Http404(f"There is no namespace “{namespace}”, or you are not a member of it.")
        if request.session.get("namespace") != namespace:
            request.session["namespace"] = namespace
        return view(request, found, **kwargs)

    return wrapped


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """The way to sign in and back; the whole page goes there where htmx asked for a part of it."""
    if not (htmx := getattr(request, "htmx", None)):
        return redirect_to_login(request.get_full_path())
    return HttpResponseClientRedirect(redirect_to_login(htmx.current_url_abs_path or request.path).url)


def access_of(request: HttpRequest, namespace: Namespace) -> Access:
    """What the signed-in member may do in the namespace."""
    membership = Membership.objects.only("role").get(namespace=namespace, user=request.user.pk)
    return access_of_member(namespace, membership.role, request.user)


def demanded(request: HttpRequest, namespace: Namespace, needed: Role) -> Access:
    """The member's access, if it is the needed role or includes it."""
    access = access_of(request, namespace)
    need(access, needed)
    return access


def need(access: Access, role: Role) -> None:
    """Refuse whoever may not do this."""
    if not access.allows(role):
        raise PermissionDenied(access.denial_message(role))
