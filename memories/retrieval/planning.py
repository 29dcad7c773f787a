"""Which retrievers a query calls for, and how much each weighs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from memories.retrieval.query import Setting
from memories.retrieval.reading import Reading
from scoring.fusion import candidate_limit, route_pool
from scoring.specificity import Plan, plan_for, specificity
from scoring.systems.candidates import Planned
from scoring.term import Tree, given

WEIGHTS = {
    "entity_density": "specificity_entities",
    "temporal_precision": "specificity_time",
    "lexical_rarity": "specificity_rarity",
    "type_cue": "specificity_type",
}


@dataclass(frozen=True)
class Planning:
    """A plan, how specific the query is and why, and who reranked."""

    plan: Plan
    specificity: Tree | None = None  # for systems that plan by it
    reranker: str = ""  # who ordered the reranker's list, where there is one

    def told(self) -> dict[str, Any]:
        """The plan as an answer and a trace tell it."""
        own = {"specificity": self.specificity, "reranker": self.reranker}
        return {**vars(self.plan), "retrievers": list(self.plan.retrievers), **own}

    @classmethod
    def of(cls, told: dict[str, Any]) -> "Planning":
        """Read what a trace told."""
        values = {name: value for name, value in told.items() if name not in ("specificity", "reranker")}
        plan = Plan(**values | {"retrievers": tuple(values["retrievers"])})
        return cls(plan, told["specificity"], told.get("reranker", ""))


def plan(reading: Reading, setting: Setting) -> Planning:
    """The paper's plans for the systems that have them; the others always ask all their routes."""
    system = setting.system
    params = system.params.of(dict(setting.given))
    if not isinstance(params, Planned):
        return Planning(Plan("all", retrievers=system.routes))
    parts = {name: given(name, np.asarray(value)) for name, value in reading.parts.items()}
    names = dict(zip(parts, params.weights(*(WEIGHTS[name] for name in parts)), strict=True))
    whole = specificity(parts, names).named("specificity")
    chosen = plan_for(
        float(whole.value),
        max((one.confidence for one in reading.named), default=0.0),
        reading.parts["temporal_precision"],
        precise=params.precise_from,
        exploratory=params.exploratory_below,
        entity_threshold=params.entity_above,
        window_threshold=params.window_from,
        precise_top_k=params.precise_top_k,
        entity_weight=params.entity_plan_weight,
        temporal_weight=params.temporal_plan_weight,
    )
    return Planning(chosen, whole.tree())


def pool_of(params: Any, top_k: int) -> int:
    """How many candidates each route is asked for."""
    if hasattr(params, "pool"):
        return int(params.pool)
    limit = candidate_limit(top_k, params.limit_factor, params.limit_least)
    return route_pool(limit, params.route_widening, params.route_least)
