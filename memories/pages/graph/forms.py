"""The Graph's query string: from which entity to which, over which edges, and the changed parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from memories.pages import sliders
from scoring.params import ParamProblem, number
from scoring.systems.recall import RecallParams


@dataclass(frozen=True)
class GraphParams(RecallParams):
    """recall's traversal parameters, and which edges are drawn."""

    least_confidence: float = number(
        0.0,
        "minimum confidence of an edge",
        group="Edges",
        low=0,
        high=1,
        step=0.01,
        source="ours: retrieval traverses every edge, and so does the page by default",
    )

    @property
    def hop_scores(self) -> list[float]:
        """The score of each hop, up to the last one taken."""
        return [self.hop_1, self.hop_2, self.hop_3][: self.max_hops]


HOP_PARAMS, EDGE_PARAMS = ("hop_1", "hop_2", "hop_3", "max_hops"), ("least_confidence",)


class OpenParamGroup(sliders.ParamGroup):
    """A group that starts expanded: on this page every move runs a new query anyway."""

    @property
    def needs_new_query(self) -> bool:
        """False, so that the group is not collapsed and marked."""
        return False


@dataclass(frozen=True)
class GraphQuery:
    """A parsed query string, with its errors."""

    entity: str
    to: str
    predicate: str
    changed: Mapping[str, Any]
    problems: Sequence[ParamProblem]

    @classmethod
    def parse(cls, data: QueryDict) -> "GraphQuery":
        """Parse a query string; an invalid value leaves the others in effect."""
        changed, problems = sliders.parse_valid_params(GraphParams, data, {})
        entity, to, predicate = (data.get(name, "").strip() for name in ("entity", "to", "predicate"))
        return cls(entity, to, predicate, changed, problems)

    @property
    def params(self) -> GraphParams:
        """All parameters."""
        return GraphParams.of(self.changed)

    @property
    def is_narrowed(self) -> bool:
        """Whether some edges are filtered out."""
        return bool(self.predicate or self.params.least_confidence)

    def query_params(self, **overrides: str) -> dict[str, str]:
        """The query parameters of this, with overrides; defaults are left out."""
        values = {
            "entity": self.entity,
            "to": self.to,
            "predicate": self.predicate,
            **sliders.params_to_query(self.changed),
        }
        return {name: value for name, value in {**values, **overrides}.items() if value}

    def url(self, **overrides: str) -> str:
        """The URL of this, with overrides."""
        return f"?{urlencode(self.query_params(**overrides))}"

    def url_builder(self, name: str, **overrides: str) -> Callable[[str], str]:
        """Builds the URL of this with another id at `name`; encodes the rest once for thousands of links."""
        rest = self.query_params(**{**overrides, name: ""})
        start = f"?{urlencode(rest)}&" if rest else "?"
        return lambda id: f"{start}{name}={id}"

    def slider_groups(self, names: tuple[str, ...]) -> list[OpenParamGroup]:
        """The sliders of some parameters."""
        return [
            OpenParamGroup(group.name, chosen)
            for group in sliders.param_groups(GraphParams, self.changed)
            if (chosen := [slider for slider in group.sliders if slider.name in names])
        ]
