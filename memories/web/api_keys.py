"""API keys: shown once when issued, stored as a hash, rotated and revoked."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from memories.models import ApiKey, Namespace

KEY_PREFIX = "rk_"
ROTATION_GRACE = timedelta(days=1)  # how long a rotated key still works
VISIBLE_CHARS = len(KEY_PREFIX) + 6


class KeySecret(NamedTuple):
    """A new key: the secret, its SHA-256, and the prefix by which a person recognises it."""

    plain: str
    hash: bytes
    prefix: str


class KeyEndedError(Exception):
    """A revoked or expired key cannot be revoked or rotated."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__(f"The key “{key.name}” ({key.prefix}…) has already ended: create a new one.")


def make_key() -> KeySecret:
    """Generate a key of 256 random bits."""
    plain = KEY_PREFIX + secrets.token_urlsafe(32)
    return KeySecret(plain, hash_key(plain), plain[:VISIBLE_CHARS])


def hash_key(plain: str) -> bytes:
    """The stored hash of a key; a random secret of this length needs no salt and no slow hash."""
    return hashlib.sha256(plain.encode()).digest()


def key_end(key: ApiKey, now: datetime) -> str:
    """How a key ended: `revoked`, `expired`, or empty while it works."""
    if key.revoked_at is not None and key.revoked_at <= now:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else ""


def issue_key(
    namespace: Namespace, *, name: str, role: str, lifetime: timedelta | None = None, rotated_from: ApiKey | None = None
) -> tuple[ApiKey, str]:
    """Create a key for a namespace; the secret is returned only here."""
    new, now = make_key(), timezone.now()
    key = ApiKey.objects.create(
        namespace=namespace,
        name=name,
        role=role,
        prefix=new.prefix,
        hash=new.hash,
        created_at=now,
        expires_at=now + lifetime if lifetime else None,
        rotated_from_id=rotated_from.id if rotated_from else None,
    )
    return key, new.plain


@transaction.atomic
def rotate_key(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, str]:
    """Issue a key with the same name, role and lifetime; the old one works for `ROTATION_GRACE` more."""
    old, now = lock_working_key(namespace, key)
    lifetime = old.expires_at - old.created_at if old.expires_at else None
    old.expires_at = min(old.expires_at or now + ROTATION_GRACE, now + ROTATION_GRACE)
    ApiKey.objects.within(namespace).filter(id=old.id).update(expires_at=old.expires_at)
    return issue_key(namespace, name=old.name, role=old.role, lifetime=lifetime, rotated_from=old)


@transaction.atomic
def revoke_key(namespace: Namespace, key: ApiKey) -> None:
    """Revoke a key with immediate effect."""
    old, now = lock_working_key(namespace, key)
    ApiKey.objects.within(namespace).filter(id=old.id).update(revoked_at=now)


def lock_working_key(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, datetime]:
    """Lock a key that still works, so that it ends only once; raises KeyEndedError."""
    now = timezone.now()
    locked = ApiKey.objects.within(namespace).select_for_update().get(id=key.id)
    if key_end(locked, now):
        raise KeyEndedError(locked)
    return locked, now
