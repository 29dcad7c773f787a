"""Keys to a namespace, and clients of its members."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.test import Client

from memories.models import ApiKey, Membership, Namespace
from memories.models.choices import Role
from memories.web.api_keys import make_key

CLOSED = "There is no namespace of this name, or you have no access to it."


def key_to(namespace: Namespace, role: Role = Role.ADMIN, **given: Any) -> dict[str, str]:
    """Create a key for a namespace; return the headers that carry it."""
    made = make_key()
    ApiKey.objects.create(namespace=namespace, name="agent", role=role, prefix=made.prefix, hash=made.hash, **given)
    return {"Authorization": f"Bearer {made.plain}"}


def member_of(namespace: Namespace, role: Role = Role.ADMIN) -> Client:
    """A client signed in as a member of a namespace."""
    user = User.objects.create(username=f"member {uuid4()}")
    Membership.objects.create(namespace=namespace, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client
