"""What every view of a namespace does first: find it, let the caller in, ask for the role."""

from typing import Any, ClassVar, NoReturn, cast
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from rest_framework.exceptions import MethodNotAllowed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from memories.api.access import Access
from memories.api.authentication import KeyAuthentication, SessionAuthentication
from memories.api.refusals import TooOften
from memories.api.schema import NamespacedSchema
from memories.api.throttling import CallerThrottle
from memories.models import Namespace
from memories.models.choices import Role


class RoleRequired(BasePermission):
    """The role that the view declares for the method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        view = cast(NamespacedView, view)
        access = cast(Access | None, request.auth)
        if access is None:
            raise NotAuthenticated("Send a key in the header Authorization (Bearer rk_…), or sign in.")
        needed = view.roles.get("GET" if request.method == "HEAD" else str(request.method))
        if needed is None:
            view.http_method_not_allowed(request)
        if not access.allows(needed):
            raise PermissionDenied(access.refusal(needed))
        return True


class NamespacedView(APIView):
    """A view of one namespace; `roles` says what each method needs."""

    authentication_classes = [KeyAuthentication, SessionAuthentication]
    permission_classes = [RoleRequired]
    throttle_classes = [CallerThrottle]
    metadata_class = None
    schema = NamespacedSchema()
    roles: ClassVar[dict[str, Role]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        methods = {name.upper() for name in cls.http_method_names if hasattr(cls, name)} - {"OPTIONS"}
        if methods != set(cls.roles):
            raise ImproperlyConfigured(f"{cls.__name__}.roles must name {methods}; got {set(cls.roles)}")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # What the answer tells of, kept with it under an idempotency key so that an erasure finds it.
        self.memory_ids: list[UUID] = []

    @property
    def access(self) -> Access:
        """Who calls, and what they may."""
        return cast(Access, self.request.auth)

    @property
    def namespace(self) -> Namespace:
        """The namespace of the address."""
        return self.access.namespace

    @property
    def allowed_methods(self) -> list[str]:
        return list(self.roles)

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        rate, seconds = settings.RECALL_RATE, int(wait or 1)
        assert rate is not None
        allowed = f"The {self.access.name} may ask {rate.count} times per {rate.period}; ask again in {seconds} s."
        raise TooOften(allowed, seconds)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        allowed = ", ".join(self.allowed_methods)
        raise MethodNotAllowed(str(request.method), f"This address takes {allowed}; got {request.method}.")
