"""A query, and the configuration that ranks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.contracts.answer import OnLowConfidence
from memories.models import Namespace
from memories.models.choices import STATEMENTS, ChunkLevel
from scoring.params import Params
from scoring.specificity import Plan, params_for_plan
from scoring.systems.system import System

VERSION_SEPARATOR = "@"  # careful@3 is version 3 of the profile careful


def profile_version_name(profile: str, number: int | None) -> str:
    """The name of a profile version."""
    return f"{profile}{VERSION_SEPARATOR}{number}"


@dataclass(frozen=True)
class Config:
    """A system, and the parameters that a profile, a preset or the caller gives."""

    system: System
    given: Mapping[str, object] = field(default_factory=dict)
    profile: str = ""
    version: int | None = None
    version_id: UUID | None = None
    preset: str = ""  # of the system, that it starts from

    @property
    def label(self) -> str:
        """The profile version, or the system, as a URL names it."""
        return profile_version_name(self.profile, self.version) if self.profile else self.system.name

    @property
    def description(self) -> str:
        """The profile version, or the system and the preset it starts from."""
        if self.profile:
            return self.label
        return f"{self.system.name}, preset {self.preset}" if self.preset else f"{self.system.name} defaults"

    def params_under(self, plan: Plan) -> Params:
        """The parameters under a plan; given ones win over the plan's."""
        return params_for_plan(self.system.params, plan, self.given)


@dataclass(frozen=True)
class Filters:
    """The types, tags, users and levels a result may have; an empty filter lets all through."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query to a namespace."""

    namespace: Namespace
    text: str
    config: Config
    top_k: int = 10
    filters: Filters = Filters()
    user: str = ""  # on whose behalf
    session: str = ""  # conversation
    as_of: datetime | None = None  # answer as of this time
    on_low_confidence: OnLowConfidence = "abstain"
    all_retrievers: bool = False  # also those of weight 0, for candidates whose weights will move

    @property
    def now(self) -> datetime:
        """The time that ages are measured from."""
        return self.as_of or self.namespace.now

    @property
    def levels(self) -> tuple[str, ...]:
        """The chunk levels to search: statements alone, unless the system ranks conversations too."""
        default = tuple(ChunkLevel.values) if self.config.system.ranks_conversations else tuple(STATEMENTS)
        return self.filters.levels or default
