"""Authentication by key or by session; a namespace without access looks like one that does not exist.

One SQL query loads namespace and caller together, so neither the number of queries nor their time distinguishes an
unknown namespace from one the caller may not enter.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils import timezone
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.request import Request

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import ApiKey, Membership, Namespace
from memories.models.choices import Role
from memories.web.api_keys import KEY_PREFIX, hash_key
from memories.web.roles import Access, access_of_member

SCHEME = "Bearer"
NO_ACCESS = "There is no namespace of this name, or you have no access to it."
LAST_USED_RESOLUTION = timedelta(minutes=1)
# Read by every request, so it is prepared; Django compiles and Postgres plans the join anew each time.
KEY_FIELDS = [field.attname for field in ApiKey._meta.concrete_fields]
NAMESPACE_FIELDS = [field.attname for field in Namespace._meta.concrete_fields]
KEY = f"""
    SELECT {", ".join(f'k."{name}"' for name in KEY_FIELDS)}, {", ".join(f'n."{name}"' for name in NAMESPACE_FIELDS)}
    FROM memories_namespace n JOIN memories_apikey k ON k.namespace_id = n.id
    WHERE n.slug = %(slug)s AND k.hash = %(hash)s
"""


class KeyAuthentication(authentication.BaseAuthentication):
    """An API key of the namespace, in the header `Authorization: Bearer rk_…`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Access] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, plain = header.partition(" ")
        if scheme.lower() != SCHEME.lower() or not plain.startswith(KEY_PREFIX):
            raise AuthenticationFailed(f"The header Authorization must be “{SCHEME} {KEY_PREFIX}…”.", "malformed_key")
        return AnonymousUser(), access_by_key(namespace_slug(request), plain)

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="recall"'


class SessionAuthentication(authentication.SessionAuthentication):
    """A signed-in member of the namespace."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, Access] | None:
        authenticated = super().authenticate(request)
        return authenticated and (authenticated[0], access_by_membership(namespace_slug(request), authenticated[0]))


def namespace_slug(request: Request) -> str:
    """The namespace's slug in the URL."""
    slug: str = request.parser_context["kwargs"]["namespace"]
    return slug


def access_by_key(slug: str, secret: str) -> Access:
    """Authenticate the holder of a key."""
    if (key := find_key(slug, secret)) is None:
        raise NotFound(NO_ACCESS)
    now = timezone.now()
    if key.revoked_at is not None and key.revoked_at <= now:
        raise AuthenticationFailed(f"The key {key.prefix}… is revoked.", "revoked_key")
    if key.expires_at is not None and key.expires_at <= now:
        raise AuthenticationFailed(
            f"The key {key.prefix}… expired at {key.expires_at:%Y-%m-%dT%H:%M:%SZ}.", "expired_key"
        )
    record_key_use(key, now)
    return Access(key.namespace, Role(key.role), f"key “{key.name}”", f"key {key.id}", key.id)


def find_key(slug: str, secret: str) -> ApiKey | None:
    """The key with its namespace."""
    # Looked up in an index of hashes: the time it takes reveals nothing about the key.
    [rows] = fetch_pipeline([Statement(KEY, {"slug": slug, "hash": hash_key(secret)})])
    for values in rows:
        key = ApiKey.from_db("default", KEY_FIELDS, values[: len(KEY_FIELDS)])
        key.namespace = Namespace.from_db("default", NAMESPACE_FIELDS, values[len(KEY_FIELDS) :])
        return key
    return None


def access_by_membership(slug: str, user: Any) -> Access:
    """Authenticate a member."""
    membership = Membership.objects.select_related("namespace").filter(namespace__slug=slug, user=user).first()
    if membership is None:
        raise NotFound(NO_ACCESS)
    return access_of_member(membership.namespace, membership.role, user)


def record_key_use(key: ApiKey, now: datetime) -> None:
    """Record when a key was last used, at most once a minute: a write per request would be too expensive."""
    stale = now - LAST_USED_RESOLUTION
    if key.last_used_at is None or key.last_used_at <= stale:
        due = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiKey.objects.filter(due, pk=key.pk).update(last_used_at=now)
