"""What a caller may do in the namespace of the URL."""

from typing import NamedTuple
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
