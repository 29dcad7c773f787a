"""What an address of the Graph says: from which entity to which, over which edges, and which parameters were moved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from memories.pages import sliders
from scoring.params import number
from scoring.systems.recall import RecallParams


@dataclass(frozen=True)
class GraphParams(RecallParams):
    """What recall walks by, and which edges are looked at."""

    least_confidence: float = number(
        0.0,
        "how sure an edge must be",
        group="Edges",
        low=0,
        high=1,
        step=0.01,
        source="ours: retrieval takes every edge, so does the page unless somebody asks otherwise",
    )

    @property
    def hop_scores(self) -> list[float]:
        """What each hop is worth, up to the last that is taken."""
        return [self.hop_1, self.hop_2, self.hop_3][: self.max_hops]


PATHS, EDGES = ("hop_1", "hop_2", "hop_3", "max_hops"), ("least_confidence",)


class Shown(sliders.ParamGroup):
    """A group that is drawn again at once, and so stands open."""

    @property
    def needs_new_query(self) -> bool:
        """Never: every move is a new query here."""
        return False


@dataclass(frozen=True)
class Asked:
    """An address, read: what was typed, what was moved, and what is wrong with it."""

    entity: str
    to: str
    predicate: str
    moved: Mapping[str, Any]
    problems: Mapping[str, str]

    @classmethod
    def of(cls, sent: QueryDict) -> "Asked":
        """Read an address; a wrong value leaves the others standing."""
        values, problems = sliders.parse_valid_params(GraphParams, sent, {})
        entity, to, predicate = (sent.get(name, "").strip() for name in ("entity", "to", "predicate"))
        return cls(entity, to, predicate, values, problems)

    @property
    def params(self) -> GraphParams:
        """All parameters."""
        return GraphParams.of(self.moved)

    def kept(self, **changed: str) -> dict[str, str]:
        """What an address must say for this, with some of it changed; what is as usual is not said."""
        said = {
            "entity": self.entity,
            "to": self.to,
            "predicate": self.predicate,
            **sliders.params_to_query(self.moved),
        }
        return {name: value for name, value in {**said, **changed}.items() if value}

    def url(self, **changed: str) -> str:
        """The address of this, with some of it changed."""
        return f"?{urlencode(self.kept(**changed))}"

    def opening(self, name: str, **changed: str) -> Callable[[str], str]:
        """The address of this with another entity at a name; written thousands of times, so most of it once."""
        rest = self.kept(**{**changed, name: ""})
        start = f"?{urlencode(rest)}&" if rest else "?"
        return lambda id: f"{start}{name}={id}"

    def groups(self, names: tuple[str, ...]) -> list[Shown]:
        """The sliders that count here."""
        return [
            Shown(group.name, some)
            for group in sliders.param_groups(GraphParams, self.moved)
            if (some := [one for one in group.sliders if one.name in names])
        ]
