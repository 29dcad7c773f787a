"""Who may see a namespace's pages: its members; to all others it does not exist."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse

from memories.models import Namespace


def members_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Hand the view the namespace its address names, if the user is a member of it."""

    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, namespace: str, **kwargs: Any) -> HttpResponse:
        found = Namespace.objects.filter(slug=namespace, memberships__user=request.user.pk).first()
        if found is None:
            raise Http404(f"There is no namespace “{namespace}”, or you are not a member of it.")
        if request.session.get("namespace") != namespace:
            request.session["namespace"] = namespace
        return view(request, found, **kwargs)

    return wrapped
