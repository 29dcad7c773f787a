"""What somebody wants to be reminded of, and by which setting it is ranked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.models import Namespace
from memories.models.choices import STATEMENTS, ChunkLevel
from scoring.params import Params
from scoring.specificity import Plan, params_for_plan
from scoring.systems.system import System

VERSION_SEPARATOR = "@"  # a profile's name, or its name and version: careful@3


def profile_version_name(profile: str, number: int | None) -> str:
    """A version of a profile as one names it."""
    return f"{profile}{VERSION_SEPARATOR}{number}"


@dataclass(frozen=True)
class Config:
    """A system, and what was said of its parameters by a profile, a namespace's mode or the caller."""

    system: System
    given: Mapping[str, object] = field(default_factory=dict)
    profile: str = ""
    version: int | None = None
    version_id: UUID | None = None

    @property
    def label(self) -> str:
        """By what it ranks, as an address says it; what the caller said on top is not told."""
        return profile_version_name(self.profile, self.version) if self.profile else self.system.name

    def params_under(self, plan: Plan) -> Params:
        """The parameters under a plan: what was given wins over what the plan would set."""
        return params_for_plan(self.system.params, plan, self.given)


@dataclass(frozen=True)
class Filters:
    """Which memories may come back: of one of these types, tags, users and levels; nothing named lets all through."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Query:
    """One question to a namespace."""

    namespace: Namespace
    text: str
    config: Config
    top_k: int = 10
    filters: Filters = Filters()
    user: str = ""  # who asks
    session: str = ""  # in which conversation
    as_of: datetime | None = None  # a past moment to answer from

    @property
    def now(self) -> datetime:
        """The moment that ages are measured from."""
        return self.as_of or self.namespace.now

    @property
    def levels(self) -> tuple[str, ...]:
        """How much of a conversation a memory may hold: statements alone, unless the system asks conversations too."""
        usual = tuple(ChunkLevel.values) if self.config.system.ranks_conversations else tuple(STATEMENTS)
        return self.filters.levels or usual
