"""What a caller may do in the namespace of the URL."""

from typing import Any, NamedTuple
from uuid import UUID

from memories.models import Namespace
from memories.models.choices import Role


class Access(NamedTuple):
    """An authenticated caller of a namespace: its role, display name and the id that scopes idempotency keys."""

    namespace: Namespace
    role: Role
    name: str
    caller: str
    key_id: UUID | None = None

    def allows(self, needed: Role) -> bool:
        """Whether the role is the needed one or includes it."""
        order = list(Role)
        return order.index(self.role) >= order.index(needed)

    def denial_message(self, needed: Role) -> str:
        """The error message: which role is needed and which one the caller has."""
        return f"This needs the role {needed}; the {self.name} has {self.role}."


def access_of_member(namespace: Namespace, role: str, user: Any) -> Access:
    """The access of a user as a member."""
    return Access(namespace, Role(role), f"user “{user.get_username()}”", f"user {user.pk}")
