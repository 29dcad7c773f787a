"""Which parameters cannot move an answer under a configuration, or for one query, and why."""

from django.conf import settings

from memories.providers.reranker import MAXSIM
from memories.retrieval.query import Config
from scoring.params import Params
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.systems.candidates import PlanParams
from scoring.systems.system import inert_parameters

# Parameters that a plan sets, and those with which a request overrides them.
OVERRIDDEN = {"entity_plan_weight": "weight_entity", "temporal_plan_weight": "weight_temporal"}
EVERY_QUERY = Plan("all")


def inert_reasons(
    config: Config, params: Params | None = None, signals: Signals | None = None, plan: Plan = EVERY_QUERY
) -> dict[str, str]:
    """The inert parameters with their reasons; for one query, given its signals and its plan."""
    params = params or config.params_under(plan)
    reasons: dict[str, str] = {}
    if isinstance(params, PlanParams):
        if settings.RECALL_RERANKER == MAXSIM:
            reasons["rerank_top"] = "no cross-encoder is configured"
        reasons |= {
            name: f"{weight} is given, and it overrides the plan's"
            for name, weight in OVERRIDDEN.items()
            if weight in config.given
        }
    reasons |= inert_parameters(config.system, params, signals, None if signals is None else plan)
    return reasons | retriever_weights_out_of_plan(config, plan)


def retriever_weights_out_of_plan(config: Config, plan: Plan) -> dict[str, str]:
    """The weights of retrievers that a plan does not run."""
    if plan is EVERY_QUERY:
        return {}
    declared = config.system.params.declarations()
    return {
        name: f"the plan {plan.name} does not run this retriever"
        for retriever in config.system.retrievers
        if retriever not in plan.retrievers and (name := f"weight_{retriever}") in declared
    }
