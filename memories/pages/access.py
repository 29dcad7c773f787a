"""Access to a namespace's pages: members only; to everyone else it is a 404."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django_htmx.http import HttpResponseClientRedirect

from memories.models import Membership, Namespace
from memories.models.choices import Role
from memories.web.roles import Access, access_of_member


def members_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Resolve the namespace of the URL for a view; 404 unless the user is a member."""

    @wraps(view)
    def wrapper(request: HttpRequest, namespace: str, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_sign_in(request)
        member_of = Namespace.objects.filter(slug=namespace, memberships__user=request.user.pk).first()
        if member_of is None:
            raise Http404(f"There is no namespace “{namespace}”, or you are not a member of it.")
        if request.session.get("namespace") != namespace:
            request.session["namespace"] = namespace
        return view(request, member_of, **kwargs)

    return wrapper


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page and back; an htmx request redirects the whole page."""
    if not (htmx := getattr(request, "htmx", None)):
        return redirect_to_login(request.get_full_path())
    return HttpResponseClientRedirect(redirect_to_login(htmx.current_url_abs_path or request.path).url)


def access_of(request: HttpRequest, namespace: Namespace) -> Access:
    """The signed-in member's access to the namespace."""
    membership = Membership.objects.only("role").get(namespace=namespace, user=request.user.pk)
    return access_of_member(namespace, membership.role, request.user)


def require_role(request: HttpRequest, namespace: Namespace, role: Role) -> Access:
    """The member's access; raises PermissionDenied unless it includes the role."""
    access = access_of(request, namespace)
    check_role(access, role)
    return access


def check_role(access: Access, role: Role) -> None:
    """Raise PermissionDenied unless the access includes the role."""
    if not access.allows(role):
        raise PermissionDenied(access.denial_message(role))
