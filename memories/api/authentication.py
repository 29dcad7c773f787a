"""Who calls, by key or by session; to whoever has no access a namespace does not exist.

One question finds the namespace and who calls together, so neither count nor time tells an unknown namespace from one
that is closed to the caller.
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

from memories import stored
from memories.api.access import Access
from memories.keys import MARK, hash_of
from memories.models import ApiKey, Membership, Namespace
from memories.models.choices import Role

SCHEME = "Bearer"
CLOSED = "There is no namespace of this name, or you have no access to it."
NOTED_EVERY = timedelta(minutes=1)
BY_HASH = f"""
    SELECT {stored.columns(k=ApiKey, n=Namespace)}
    FROM memories_namespace n JOIN memories_apikey k ON k.namespace_id = n.id
    WHERE n.slug = %(slug)s AND k.hash = %(hash)s
"""


class KeyAuthentication(authentication.BaseAuthentication):
    """A key of the namespace, in the header `Authorization: Bearer rk_…`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Access] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, plain = header.partition(" ")
        if scheme.lower() != SCHEME.lower() or not plain.startswith(MARK):
            raise AuthenticationFailed(f"The header Authorization must be “{SCHEME} {MARK}…”.", "malformed_key")
        return AnonymousUser(), access_by_key(slug_of(request), plain)

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="recall"'


class SessionAuthentication(authentication.SessionAuthentication):
    """A member who is signed in on the site."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, Access] | None:
        found = super().authenticate(request)
        return found and (found[0], access_by_membership(slug_of(request), found[0]))


def slug_of(request: Request) -> str:
    """Give the namespace's name in the address."""
    slug: str = request.parser_context["kwargs"]["namespace"]
    return slug


def access_by_key(slug: str, plain: str) -> Access:
    """Let the holder of a key in."""
    # Found by an index of hashes: how long it takes tells nothing of the key.
    found = stored.first(BY_HASH, {"slug": slug, "hash": hash_of(plain)}, ApiKey, Namespace)
    if found is None:
        raise NotFound(CLOSED)
    key, namespace = found
    now = timezone.now()
    if key.revoked_at is not None and key.revoked_at <= now:
        raise AuthenticationFailed(f"The key {key.prefix}… is revoked.", "revoked_key")
    if key.expires_at is not None and key.expires_at <= now:
        raise AuthenticationFailed(
            f"The key {key.prefix}… expired at {key.expires_at:%Y-%m-%dT%H:%M:%SZ}.", "expired_key"
        )
    note_use(key, now)
    return Access(namespace, Role(key.role), f"key “{key.name}”", f"key {key.id}", key.id)


def access_by_membership(slug: str, user: Any) -> Access:
    """Let a member in."""
    membership = Membership.objects.select_related("namespace").filter(namespace__slug=slug, user=user).first()
    if membership is None:
        raise NotFound(CLOSED)
    return access_of_member(membership.namespace, membership.role, user)


def access_of_member(namespace: Namespace, role: str, user: Any) -> Access:
    """What a user may do as a member."""
    return Access(namespace, Role(role), f"user “{user.get_username()}”", f"user {user.pk}")


def note_use(key: ApiKey, now: datetime) -> None:
    """Remember when a key was used, to the minute: a write for every request would cost more than it tells."""
    stale = now - NOTED_EVERY
    if key.last_used_at is None or key.last_used_at <= stale:
        due = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiKey.objects.filter(due, pk=key.pk).update(last_used_at=now)
