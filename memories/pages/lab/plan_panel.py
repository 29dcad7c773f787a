"""The plan panel: a query's specificity by component, and why the plan was chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

from memories.retrieval.plan import SPECIFICITY_WEIGHTS
from memories.retrieval.retrieve import Retrieval
from memories.templatetags.numbers import about, figure
from scoring.systems.candidates import PlanParams

SPECIFICITY_LABELS = {
    "entity_density": "Entities",
    "temporal_precision": "Time",
    "lexical_rarity": "Lexical rarity",
    "type_cue": "Type cue",
}


def plan_context(retrieval: Retrieval, parsed: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with its specificity components; systems without a planner run all their retrievers."""
    query_plan, params, system = retrieval.query_plan, retrieval.params, retrieval.query.config.system
    names = [entity["surface"] for entity in parsed.get("entities") or ()]
    window = parsed.get("window") or {}
    context: dict[str, Any] = {"name": query_plan.plan.name, "parsed": parsed_sentence(names, window)}
    if query_plan.specificity is None or not isinstance(params, PlanParams):
        return {**context, "reason": f"{system.name} has no planner: it always runs all of its retrievers."}
    specificity = query_plan.specificity["value"]
    details = {
        "entity_density": ", ".join(f"“{name}”" for name in dict.fromkeys(names)) or "no known entity",
        "temporal_precision": f"“{window['cue']}”" if window.get("cue") else "no time expression",
        "lexical_rarity": "mean IDF ÷ maximum IDF",
        "type_cue": "",
    }
    parts = []
    for name, part in zip(SPECIFICITY_WEIGHTS, query_plan.specificity["parts"], strict=False):
        weight, value = (factor["value"] for factor in part["parts"])
        parts.append(
            {
                "name": SPECIFICITY_LABELS[name],
                "share": part["value"],
                "value": value,
                "weight": weight,
                "width": 100 * value,
                "detail": details[name],
            }
        )
    return {
        **context,
        "reason": plan_reason(query_plan.plan.name, specificity, params),
        "specificity": specificity,
        "fill": 100 * specificity,
        "exploratory": 100 * params.exploratory_below,
        "precise": 100 * params.precise_from,
        "scale_label": f"Specificity {figure(specificity, 3)} on a scale from 0 to 1: exploratory below"
        f" {about(params.exploratory_below)}, precise from {about(params.precise_from)}",
        "low": params.exploratory_below,
        "high": params.precise_from,
        "parts": parts,
        "reranker": query_plan.reranker,
    }


def parsed_sentence(names: Sequence[str], window: Mapping[str, Any]) -> str:
    """The entities and the time window found in a query."""
    found = [", ".join(f"“{name}”" for name in names)] if names else []
    if window.get("cue"):
        found.append(f"“{window['cue']}” as {window['start'][:10]} to {window['until'][:10]}")
    return f"Parsed: {'; '.join(found)}." if found else "No entity and no time expression was found in the query."


def plan_reason(name: str, specificity: float, params: PlanParams) -> str:
    """Why this plan was chosen."""
    value = f"Specificity {figure(specificity, 3)}"
    low, high = about(params.exploratory_below), about(params.precise_from)
    return {
        "precise": f"{value} is {high} or more: only semantic and entity graph run, and few results are returned.",
        "entity-centric": f"{value}; an entity is recognised with a confidence above {about(params.entity_above)}, so "
        f"the entity graph weighs {about(params.entity_plan_weight)}.",
        "temporal": f"{value}; the temporal precision is {about(params.window_from)} or more, so "
        f"the temporal retriever weighs {about(params.temporal_plan_weight)}.",
        "exploratory": f"{value} is below {low}: results are reranked and diversified.",
        "hybrid": f"{value} is between {low} and {high}: all retrievers run with their own weights.",
    }.get(name, value)
