"""API keys: shown once, stored as a hash."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from memories.models import ApiKey, Namespace

KEY_PREFIX = "rk_"
GRACE = timedelta(days=1)  # how long a rotated key still works
VISIBLE_CHARS = len(KEY_PREFIX) + 6


class NewApiKey(NamedTuple):
    """A new key: the secret, its SHA-256, and the visible prefix."""

    plain: str
    hash: bytes
    prefix: str


def make_key() -> NewApiKey:
    """A new key of 256 random bits."""
    plain = KEY_PREFIX + secrets.token_urlsafe(32)
    return NewApiKey(plain, hash_key(plain), plain[:VISIBLE_CHARS])


def hash_key(plain: str) -> bytes:
    """The stored hash of a key; a long random secret needs neither salt nor a slow hash."""
    return hashlib.sha256(plain.encode()).digest()


class EndedError(Exception):
    """A key that is revoked or expired, and can be neither revoked nor rotated."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__(f"The key “{key.name}” ({key.prefix}…) has already ended: create a new one.")


def end_reason(key: ApiKey, now: datetime) -> str:
    """How a key ended: revoked or expired; empty while it works."""
    if key.revoked_at is not None and key.revoked_at <= now:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else ""


def issue(
    namespace: Namespace, *, name: str, role: str, lasts: timedelta | None = None, after: ApiKey | None = None
) -> tuple[ApiKey, str]:
    """Create an API key of a namespace; the secret is returned only here."""
    new, now = make_key(), timezone.now()
    key = ApiKey.objects.create(
        namespace=namespace,
        name=name,
        role=role,
        prefix=new.prefix,
        hash=new.hash,
        created_at=now,
        expires_at=now + lasts if lasts else None,
        rotated_from_id=after.id if after else None,
    )
    return key, new.plain


@transaction.atomic
def rotate(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, str]:
    """Replace a key by a new one with its name, role and lifetime; the old one works for another day."""
    old, now = lock_working_key(namespace, key)
    lasts = old.expires_at - old.created_at if old.expires_at else None
    old.expires_at = min(old.expires_at or now + GRACE, now + GRACE)
    ApiKey.objects.within(namespace).filter(id=old.id).update(expires_at=old.expires_at)
    return issue(namespace, name=old.name, role=old.role, lasts=lasts, after=old)


@transaction.atomic
def revoke(namespace: Namespace, key: ApiKey) -> None:
    """Revoke a key."""
    old, now = lock_working_key(namespace, key)
    ApiKey.objects.within(namespace).filter(id=old.id).update(revoked_at=now)


def lock_working_key(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, datetime]:
    """Lock a key that still works, so that it ends only once."""
    now = timezone.now()
    old = ApiKey.objects.within(namespace).select_for_update().get(id=key.id)
    if end_reason(old, now):
        raise EndedError(old)
    return old, now
