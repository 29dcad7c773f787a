"""Chooses the plan of a query: which retrievers to ask, how deep, with which weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from memories.retrieval.parse import ParsedQuery
from memories.retrieval.query import Config, Query
from scoring.fusion import candidate_limit, retriever_pool
from scoring.params import Params
from scoring.specificity import Plan, plan_for, specificity
from scoring.systems.candidates import PlanParams
from scoring.term import Tree, feature

SPECIFICITY_WEIGHTS = {
    "entity_density": "specificity_entities",
    "temporal_precision": "specificity_time",
    "lexical_rarity": "specificity_rarity",
    "type_cue": "specificity_type",
}


@dataclass(frozen=True)
class QueryPlan:
    """A plan, the query's specificity, and the reranker used."""

    plan: Plan
    specificity: Tree | None = None  # for systems that plan
    reranker: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As a trace stores it."""
        own = {"specificity": self.specificity, "reranker": self.reranker}
        return {**vars(self.plan), "retrievers": list(self.plan.retrievers), **own}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "QueryPlan":
        """Inverse of `to_dict`."""
        values = {name: value for name, value in stored.items() if name not in ("specificity", "reranker")}
        plan = Plan(**values | {"retrievers": tuple(values["retrievers"])})
        return cls(plan, stored["specificity"], stored.get("reranker", ""))


def choose_plan(parsed: ParsedQuery, config: Config) -> QueryPlan:
    """The paper's plan for systems that plan; the others use all their retrievers."""
    system = config.system
    params = system.params.of(dict(config.given))
    if not isinstance(params, PlanParams):
        return QueryPlan(Plan("all", retrievers=system.retrievers))
    parts = {name: feature(name, np.asarray(value)) for name, value in parsed.specificity_parts.items()}
    weights = dict(zip(parts, params.weights(*(SPECIFICITY_WEIGHTS[name] for name in parts)), strict=True))
    score = specificity(parts, weights).with_name("specificity")
    plan = plan_for(
        float(score.value),
        max((match.confidence for match in parsed.entities), default=0.0),
        parsed.specificity_parts["temporal_precision"],
        precise=params.precise_from,
        exploratory=params.exploratory_below,
        entity_threshold=params.entity_above,
        window_threshold=params.window_from,
        precise_top_k=params.precise_top_k,
        entity_weight=params.entity_plan_weight,
        temporal_weight=params.temporal_plan_weight,
    )
    return QueryPlan(plan, score.tree())


def active_retrievers(query: Query, plan: Plan, params: Params) -> tuple[str, ...]:
    """The retrievers of the plan that can change a score; one of weight 0 is not asked."""
    system = query.config.system
    retrievers = system.retrievers if query.all_retrievers else system.weighted_retrievers(params)
    return tuple(retriever for retriever in retrievers if retriever in plan.retrievers)


def list_depth(params: Any, top_k: int) -> int:
    """How many memories each retriever's list may hold."""
    if hasattr(params, "pool"):
        return int(params.pool)
    limit = candidate_limit(top_k, params.limit_factor, params.limit_least)
    return retriever_pool(limit, params.route_widening, params.route_least)
