"""What a caller may do in the namespace of the address."""

from typing import NamedTuple
from uuid import UUID

from memories.models import Namespace
from memories.models.choices import Role


class Access(NamedTuple):
    """A caller let into a namespace: as whom, with which role, and under which name a request is told again."""

    namespace: Namespace
    role: Role
    name: str
    caller: str
    key: UUID | None = None

    def allows(self, needed: Role) -> bool:
        """Tell whether the role is the needed one or includes it."""
        order = list(Role)
        return order.index(self.role) >= order.index(needed)

    def refusal(self, needed: Role) -> str:
        """Say which role is needed, and which one the caller has."""
        return f"This needs the role {needed}; the {self.name} has {self.role}."
