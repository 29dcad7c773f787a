"""The secrets that let agents in: made once, shown once, kept as a hash."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from memories.models import ApiKey, Namespace

MARK = "rk_"
GRACE = timedelta(days=1)  # how long a key goes on after another has taken its place
SHOWN = len(MARK) + 6


class Key(NamedTuple):
    """A new key: the secret itself, its SHA-256, and the beginning by which a person tells keys apart."""

    plain: str
    hash: bytes
    prefix: str


def make_key() -> Key:
    """Make a key of 256 random bits."""
    plain = MARK + secrets.token_urlsafe(32)
    return Key(plain, hash_of(plain), plain[:SHOWN])


def hash_of(plain: str) -> bytes:
    """Give what is kept of a key; so long a random secret needs no salt and no slow hash."""
    return hashlib.sha256(plain.encode()).digest()


class EndedError(Exception):
    """A key that is revoked or expired, and can be neither again nor given a successor."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__(f"The key “{key.name}” ({key.prefix}…) has ended already: make a new one.")


def ended(key: ApiKey, now: datetime) -> str:
    """Tell how a key ended: revoked, expired, or nothing while it works."""
    if key.revoked_at is not None and key.revoked_at <= now:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else ""


def issue(
    namespace: Namespace, *, name: str, role: str, lasts: timedelta | None = None, after: ApiKey | None = None
) -> tuple[ApiKey, str]:
    """Make a key to a namespace; the secret is given this once."""
    made, now = make_key(), timezone.now()
    key = ApiKey.objects.create(
        namespace=namespace,
        name=name,
        role=role,
        prefix=made.prefix,
        hash=made.hash,
        created_at=now,
        expires_at=now + lasts if lasts else None,
        rotated_from_id=after.id if after else None,
    )
    return key, made.plain


@transaction.atomic
def rotate(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, str]:
    """Put another key in a key's place, with its name, role and lifetime; the old one works for a day more."""
    old, now = still_working(namespace, key)
    lasts = old.expires_at - old.created_at if old.expires_at else None
    old.expires_at = min(old.expires_at or now + GRACE, now + GRACE)
    ApiKey.objects.within(namespace).filter(id=old.id).update(expires_at=old.expires_at)
    return issue(namespace, name=old.name, role=old.role, lasts=lasts, after=old)


@transaction.atomic
def revoke(namespace: Namespace, key: ApiKey) -> None:
    """Let a key open nothing from now on."""
    old, now = still_working(namespace, key)
    ApiKey.objects.within(namespace).filter(id=old.id).update(revoked_at=now)


def still_working(namespace: Namespace, key: ApiKey) -> tuple[ApiKey, datetime]:
    """Hold a key that still works, so that it ends once."""
    now = timezone.now()
    old = ApiKey.objects.within(namespace).select_for_update().get(id=key.id)
    if ended(old, now):
        raise EndedError(old)
    return old, now
