"""Who is a member of a namespace: its founding, and those who are let in, given another role or sent away."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from memories.models import Membership, Namespace
from memories.models.choices import Mode, Role


class MemberError(Exception):
    """A change of members that cannot be; says why."""


@transaction.atomic
def found(
    slug: str, *, title: str = "", mode: str = Mode.GENERAL, redacts: bool = False, admin: Any = None
) -> Namespace:
    """Make an empty namespace, and let its first admin in; a name that cannot be is refused (ValidationError)."""
    namespace = Namespace(slug=slug, title=title or slug, mode=mode, embedder=settings.RECALL_EMBEDDER, redacts=redacts)
    namespace.full_clean()
    namespace.save(force_insert=True)
    if admin is not None:
        Membership.objects.create(user=admin, namespace=namespace, role=Role.ADMIN)
    return namespace


def admit(namespace: Namespace, username: str, role: str) -> Membership:
    """Let a user in."""
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise MemberError(f"must be the name of a user; got “{username}”, whom nobody has made yet")
    try:
        with transaction.atomic():
            return Membership.objects.create(namespace=namespace, user=user, role=role)
    except IntegrityError as error:
        raise MemberError(f"must be somebody who is no member yet; got “{username}”, who is") from error


@transaction.atomic
def change_role(namespace: Namespace, user: int, role: str) -> Membership:
    """Let a member do more or less."""
    member = held(namespace, user, keeps=role)
    member.role = role
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove(namespace: Namespace, user: int) -> Membership:
    """Send a member away."""
    member = held(namespace, user)
    Membership.objects.filter(id=member.id).delete()
    return member


def held(namespace: Namespace, user: int, keeps: str = "") -> Membership:
    """Hold a member who may change: all admins are held together, so that two cannot send each other away."""
    admins = Membership.objects.select_for_update().filter(namespace=namespace, role=Role.ADMIN).order_by("id")
    last = [one.user_id for one in admins] == [user]
    member = Membership.objects.select_related("user").filter(namespace=namespace, user_id=user).first()
    if member is None:
        raise MemberError("There is no such member here any more.")
    if last and keeps != Role.ADMIN:
        raise MemberError(f"{member.user} is the last admin: make somebody else one first.")
    return member
