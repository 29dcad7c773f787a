"""The base view of a namespace: authentication, role check, rate limit."""

from typing import Any, ClassVar, NoReturn, cast
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from rest_framework.exceptions import MethodNotAllowed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from memories.api.authentication import KeyAuthentication, SessionAuthentication
from memories.api.schema import NamespacedSchema
from memories.api.throttling import CallerThrottle
from memories.models import Namespace
from memories.models.choices import Role
from memories.web.http_errors import TooManyRequests
from memories.web.rate_limit import RateLimit
from memories.web.roles import Access


class RoleRequired(BasePermission):
    """Check the role the view declares for the method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        view = cast(NamespacedView, view)
        access = cast(Access | None, request.auth)
        if access is None:
            raise NotAuthenticated("Send an API key in the header Authorization (Bearer rk_…), or sign in.")
        needed = view.roles.get("GET" if request.method == "HEAD" else str(request.method))
        if needed is None:
            view.http_method_not_allowed(request)
        if not access.allows(needed):
            raise PermissionDenied(access.denial_message(needed))
        return True


class NamespacedView(APIView):
    """A view of one namespace; `roles` declares the role each method needs."""

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
        # The memories in the response, stored with its idempotency record so that an erasure finds it.
        self.memory_ids: list[UUID] = []

    @property
    def access(self) -> Access:
        """The caller and its role."""
        return cast(Access, self.request.auth)

    @property
    def namespace(self) -> Namespace:
        """The namespace of the URL."""
        return self.access.namespace

    @property
    def allowed_methods(self) -> list[str]:
        return list(self.roles)

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        rate, seconds = RateLimit.from_settings(), int(wait or 1)
        assert rate is not None
        detail = f"The {self.access.name} is limited to {rate.count} requests per {rate.period}; retry in {seconds} s."
        raise TooManyRequests(detail, seconds)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        allowed = ", ".join(self.allowed_methods)
        raise MethodNotAllowed(str(request.method), f"Allowed methods are {allowed}; got {request.method}.")
