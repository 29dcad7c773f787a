"""Side-by-side comparison with other systems or profiles: a bump chart of ranks and rank agreement."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memories.contracts.answer import Agreement
from memories.pages.lab import charts, forms
from memories.retrieval.compare import compare_systems, ranking_agreement
from memories.retrieval.config import parse_config_label, resolve_config
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.trace import query_from_trace, redact_forgotten
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

if TYPE_CHECKING:
    from memories.pages.lab.views import LabState

ALL_SYSTEMS = "all"  # compare with every other system
START, NOW = "start", "now"


def comparison_context(state: "LabState", retrieval: Retrieval) -> dict[str, Any]:
    """Run the chosen systems live and compare them with the current ranking; empty if none is chosen."""
    chosen = state.data.get("beside", "")
    context: dict[str, Any] = {"beside": chosen, "comparison_options": comparison_options(state)}
    if not chosen:
        return context
    namespace, now = state.trace.namespace, result_contents(retrieval)
    try:
        if chosen == ALL_SYSTEMS:
            names = [name for name in SYSTEMS if name != state.start.system.name]
            others = {name: resolve_config(namespace, system=name, params={}) for name in names}
        else:
            others = {chosen: resolve_config(namespace, **parse_config_label(chosen), params={})}
    except (LookupError, ParamsError):
        allowed = ", ".join([ALL_SYSTEMS, *SYSTEMS, *(label for label, _ in forms.preset_options())])
        return context | {"beside_problem": f"must be one of {allowed}, or a profile@version; got {chosen}"}
    retrievals = compare_systems(replace(query_from_trace(state.trace), config=state.start), others)
    own = state.raw["by"]
    before = {str(result.id): result.content for result in redact_forgotten(state.trace).results}
    columns = {f"{own}, {START}": list(before), f"{own}, {NOW}": list(now)}
    contents = {**now, **before}
    for name, other in retrievals.items():
        results = result_contents(other)
        columns[name] = list(results)
        contents |= results
    if not state.changed:
        del columns[f"{own}, {START}"]
    pairs = [pair for pair in ranking_agreement(columns) if f"{own}, {NOW}" in pair.systems]
    return context | {
        "bump": charts.bump_chart(
            columns, {id: charts.short_chart_label(content) for id, content in contents.items()}, next(iter(now), "")
        ),
        "bump_label": bump_chart_label(columns, contents),
        "agreement": [
            {
                **vars(pair),
                "other": next(name for name in pair.systems if name != f"{own}, {NOW}"),
                "incomparable": incomparable_reason(pair),
            }
            for pair in pairs
        ],
        "columns": columns,
        "bump_rows": rank_table_rows(columns, contents),
    }


def incomparable_reason(pair: Agreement) -> str:
    """Why two rankings have no Kendall’s τ; empty if they have one."""
    if pair.kendall_tau is not None:
        return ""
    return "fewer than two memories in common, so no order to compare" if pair.rbo else "nothing in common"


def result_contents(retrieval: Retrieval) -> dict[str, str]:
    """Content by id of the returned memories, in rank order."""
    if retrieval.ranking.abstained:
        return {}
    rows = [retrieval.candidates.rows[row] for row in retrieval.ranking.order.rows.tolist()]
    return {str(row["id"]): row["content"] for row in rows}


def comparison_options(state: "LabState") -> dict[str, list[tuple[str, str]]]:
    """Options of the compare select."""
    options = forms.ranking_options(state.trace.namespace)
    own = state.raw["by"]
    return {
        "": [("", "nothing"), (ALL_SYSTEMS, "every system")],
        **{
            group: [option for option in options[group] if option[0] != own]
            for group in ("Systems", "Presets", "Profiles")
        },
    }


def bump_chart_label(columns: dict[str, list[str]], contents: dict[str, str]) -> str:
    """Text alternative of the bump chart."""
    first = next((id for ids in columns.values() for id in ids), "")
    ranks = [f"{name}: {ids.index(first) + 1 if first in ids else 'absent'}" for name, ids in columns.items()]
    return f"Ranks under {', '.join(columns)}. “{contents.get(first, '')}”: {', '.join(ranks)}."


def rank_table_rows(columns: dict[str, list[str]], contents: dict[str, str]) -> list[dict[str, Any]]:
    """The bump chart's ranks as table rows."""
    ids = list(dict.fromkeys(id for column in columns.values() for id in column))
    return [
        {
            "content": contents[id],
            "ranks": [column.index(id) + 1 if id in column else None for column in columns.values()],
        }
        for id in ids
    ]
