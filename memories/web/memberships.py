"""Namespaces and their members: create a namespace; add a member, change a role, remove a member."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from memories.models import Membership, Namespace
from memories.models.choices import Mode, Role


class MemberError(Exception):
    """A change of members that is refused; the message says why."""


@transaction.atomic
def create_namespace(
    slug: str, *, title: str = "", mode: str = Mode.GENERAL, redacts: bool = False, admin: Any = None
) -> Namespace:
    """Create an empty namespace with its first admin; an invalid slug raises ValidationError."""
    namespace = Namespace(slug=slug, title=title or slug, mode=mode, embedder=settings.RECALL_EMBEDDER, redacts=redacts)
    namespace.full_clean()
    namespace.save(force_insert=True)
    if admin is not None:
        Membership.objects.create(user=admin, namespace=namespace, role=Role.ADMIN)
    return namespace


def add_member(namespace: Namespace, username: str, role: str) -> Membership:
    """Add a user to a namespace."""
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise MemberError(f"must be an existing user; got “{username}”")
    try:
        with transaction.atomic():
            return Membership.objects.create(namespace=namespace, user=user, role=role)
    except IntegrityError as error:
        raise MemberError(f"must not be a member already; got “{username}”") from error


@transaction.atomic
def change_member_role(namespace: Namespace, user: int, role: str) -> Membership:
    """Give a member another role."""
    member = lock_member(namespace, user, new_role=role)
    member.role = role
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove_member(namespace: Namespace, user: int) -> Membership:
    """Remove a member."""
    member = lock_member(namespace, user)
    Membership.objects.filter(id=member.id).delete()
    return member


def lock_member(namespace: Namespace, user: int, new_role: str = "") -> Membership:
    """Load a member to change; locks all admins, so that two cannot remove each other."""
    admins = Membership.objects.select_for_update().filter(namespace=namespace, role=Role.ADMIN).order_by("id")
    is_last = [admin.user_id for admin in admins] == [user]
    member = Membership.objects.select_related("user").filter(namespace=namespace, user_id=user).first()
    if member is None:
        raise MemberError("There is no such member.")
    if is_last and new_role != Role.ADMIN:
        raise MemberError(f"{member.user} is the last admin: make somebody else an admin first.")
    return member
