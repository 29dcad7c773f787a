"""The plan panel: a query's specificity by component, and why the plan was chosen."""

from collections.abc import Sequence
from typing import Any

from memories.contracts.answer import ParsedReport, TimeWindowReport, WeightingReport
from memories.contracts.number_format import format_number, format_rounded
from memories.retrieval.plan import SPECIFICITY_WEIGHTS
from memories.retrieval.retrieve import Retrieval
from scoring.systems.candidates import PlanParams

SPECIFICITY_LABELS = {
    "entity_density": "Entities",
    "temporal_precision": "Time",
    "lexical_rarity": "Lexical rarity",
    "type_cue": "Type cue",
}


def plan_context(retrieval: Retrieval, parsed: ParsedReport) -> dict[str, Any]:
    """The plan with its specificity components; systems without a planner ask every retriever that has a weight."""
    query_plan, params, system = retrieval.query_plan, retrieval.params, retrieval.query.config.system
    names, window = [entity.surface for entity in parsed.entities], parsed.window
    context: dict[str, Any] = {"name": query_plan.plan.name, "parsed": parsed_sentence(names, window)}
    if query_plan.specificity is None or not isinstance(params, PlanParams):
        return {**context, "reason": f"{system.name} has no planner: it asks every retriever that has a weight."}
    specificity = query_plan.specificity["value"]
    details = {
        "entity_density": ", ".join(f"“{name}”" for name in dict.fromkeys(names)) or "no known entity",
        "temporal_precision": f"“{window.cue}”" if window else "no time expression",
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
        "fill": 100 * specificity,
        "exploratory": 100 * params.exploratory_below,
        "precise": 100 * params.precise_from,
        "scale_label": f"Specificity {format_number(specificity, 3)} on a scale from 0 to 1: exploratory below"
        f" {format_rounded(params.exploratory_below)}, precise from {format_rounded(params.precise_from)}",
        "low": params.exploratory_below,
        "high": params.precise_from,
        "parts": parts,
        "reranker": query_plan.reranker,
    }


def weighting_context(report: WeightingReport) -> dict[str, Any]:
    """The weight profile and the recency half-life of a query, with their reasons, and the weights as bars."""
    half_life = f"{format_rounded(report.half_life_hours)} h"
    return {
        "profile": report.emphasis,
        "reason": f"Weight profile {report.emphasis}: {report.emphasis_reason}.",
        "half_life": f"Recency half-life {half_life}: intent {report.intent}, {report.intent_reason}.",
        "bars": [{"name": name, "value": value, "width": 100 * value} for name, value in report.weights.items()],
    }


def parsed_sentence(names: Sequence[str], window: TimeWindowReport | None) -> str:
    """The entities and the time window found in a query."""
    parts = [", ".join(f"“{name}”" for name in names)] if names else []
    if window is not None:
        parts.append(f"“{window.cue}” as {window.start:%Y-%m-%d} to {window.until:%Y-%m-%d}")
    return f"Parsed: {'; '.join(parts)}." if parts else "No entity and no time expression was found in the query."


def plan_reason(name: str, specificity: float, params: PlanParams) -> str:
    """Why this plan was chosen."""
    value = f"Specificity {format_number(specificity, 3)}"
    low, high = format_rounded(params.exploratory_below), format_rounded(params.precise_from)
    return {
        "precise": f"{value} is {high} or more: only semantic and entity graph run, and few results are returned.",
        "entity-centric": f"{value}; an entity is recognised with a confidence above "
        f"{format_rounded(params.entity_above)}, so "
        f"the entity graph weighs {format_rounded(params.entity_plan_weight)}.",
        "temporal": f"{value}; the temporal precision is {format_rounded(params.window_from)} or more, so "
        f"the temporal retriever weighs {format_rounded(params.temporal_plan_weight)}.",
        "exploratory": f"{value} is below {low}: results are reranked and diversified.",
        "hybrid": f"{value} is between {low} and {high}: all retrievers run with their own weights.",
    }.get(name, value)
