"""The plan of a question: how specific it is, part by part, and what that called for."""

from collections.abc import Mapping
from typing import Any

from memories.retrieval.planning import WEIGHTS
from memories.retrieval.retrieve import Retrieval
from memories.templatetags.numbers import about, figure
from scoring.systems.candidates import Planned

NAMES = {
    "entity_density": "Entities",
    "temporal_precision": "Time",
    "lexical_rarity": "Rare words",
    "type_cue": "Type cue",
}


def planned(retrieval: Retrieval, understood: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with the bars of its specificity; a system that does not plan asks all it has."""
    planning, params, system = retrieval.planning, retrieval.params, retrieval.query.setting.system
    named = [one["surface"] for one in understood.get("entities") or ()]
    window = understood.get("window") or {}
    shown: dict[str, Any] = {"name": planning.plan.name, "named": named, "window": window}
    if planning.specificity is None or not isinstance(params, Planned):
        return {**shown, "why": f"{system.name} does not plan: it always asks all of its lists."}
    whole = planning.specificity["value"]
    said = {
        "entity_density": ", ".join(f"“{name}”" for name in dict.fromkeys(named)) or "nobody that is known",
        "temporal_precision": f"“{window['cue']}”" if window.get("cue") else "no time",
        "lexical_rarity": "mean IDF ÷ highest",
        "type_cue": "",
    }
    parts = []
    for name, part in zip(WEIGHTS, planning.specificity["parts"], strict=False):
        weight, value = (one["value"] for one in part["parts"])
        parts.append(
            {
                "name": NAMES[name],
                "share": part["value"],
                "value": value,
                "weight": weight,
                "width": 100 * value,
                "said": said[name],
            }
        )
    return {
        **shown,
        "why": why(planning.plan.name, whole, params),
        "specificity": whole,
        "fill": 100 * whole,
        "exploratory": 100 * params.exploratory_below,
        "precise": 100 * params.precise_from,
        "low": params.exploratory_below,
        "high": params.precise_from,
        "parts": parts,
        "reranker": planning.reranker,
    }


def why(name: str, whole: float, params: Planned) -> str:
    """What chose the plan."""
    at = f"Specificity {figure(whole, 3)}"
    low, high = about(params.exploratory_below), about(params.precise_from)
    return {
        "precise": f"{at} is {high} or more: meaning and entities alone are asked, and few come back.",
        "entity-centric": f"{at}; an entity is named beyond doubt ({about(params.entity_above)}), and its list weighs "
        f"{about(params.entity_plan_weight)}.",
        "temporal": f"{at}; a time is named exactly ({about(params.window_from)} or more), and its list weighs "
        f"{about(params.temporal_plan_weight)}.",
        "exploratory": f"{at} is below {low}: what comes back is reranked and kept from repeating itself.",
        "hybrid": f"{at} lies from {low} to {high}: all lists are asked as they weigh.",
    }.get(name, at)
