"""A second way to rank beside the first: ranks joined by lines, and how far the two agree."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memories.pages.lab import address, figures
from memories.retrieval.comparing import agreement, compare
from memories.retrieval.readable import readable
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.settings import said, setting
from memories.retrieval.tracing import query_of
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

if TYPE_CHECKING:
    from memories.pages.lab.page import State

ALL = "all"  # every system beside the chosen one
START, NOW = "start", "now"


def shown(state: "State", retrieval: Retrieval) -> dict[str, Any]:
    """The chosen others, asked live, beside what is shown; nothing where none is chosen."""
    chosen = state.sent.get("beside", "")
    context: dict[str, Any] = {"beside": chosen, "beside_ways": ways(state)}
    if not chosen:
        return context
    namespace, now = state.trace.namespace, returned(retrieval)
    try:
        if chosen == ALL:
            names = [name for name in SYSTEMS if name != state.start.system.name]
            others = {name: setting(namespace, system=name, params={}) for name in names}
        else:
            others = {chosen: setting(namespace, **said(chosen), params={})}
    except (LookupError, ParamsError):
        allowed = ", ".join([ALL, *SYSTEMS])
        return context | {"beside_problem": f"must be one of {allowed}, or a profile@version; got {chosen}"}
    found = compare(replace(query_of(state.trace), setting=state.start), others)
    own = state.typed["by"]
    before = {one["id"]: one["content"] for one in readable(state.trace)["results"]}
    columns = {f"{own}, {START}": list(before), f"{own}, {NOW}": list(now)}
    contents = {**now, **before}
    for name, one in found.items():
        other = returned(one)
        columns[name] = list(other)
        contents |= other
    if not state.changed:
        del columns[f"{own}, {START}"]
    pairs = [pair for pair in agreement(columns) if f"{own}, {NOW}" in pair["systems"]]
    return context | {
        "bump": figures.bump(
            columns, {id: figures.short(content) for id, content in contents.items()}, next(iter(now), "")
        ),
        "bump_label": label(columns, contents),
        "agreement": [
            {**pair, "other": next(name for name in pair["systems"] if name != f"{own}, {NOW}")} for pair in pairs
        ],
        "columns": columns,
        "bump_rows": table(columns, contents),
    }


def returned(retrieval: Retrieval) -> dict[str, str]:
    """What came back, in its order, with its words."""
    if retrieval.ranking.abstained:
        return {}
    rows = [retrieval.batch.rows[row] for row in retrieval.ranking.order.rows.tolist()]
    return {str(row["id"]): row["content"] for row in rows}


def ways(state: "State") -> dict[str, list[tuple[str, str]]]:
    """By what else the question can be ranked."""
    offered = address.ways(state.trace.namespace)
    own = state.typed["by"]
    return {
        "": [("", "nothing"), (ALL, "every system")],
        **{group: [way for way in offered[group] if way[0] != own] for group in ("Systems", "Profiles")},
    }


def label(columns: dict[str, list[str]], contents: dict[str, str]) -> str:
    """What the lines show, for whoever does not see them."""
    first = next((id for ids in columns.values() for id in ids), "")
    ranks = [f"{name}: {ids.index(first) + 1 if first in ids else 'absent'}" for name, ids in columns.items()]
    return f"Ranks under {', '.join(columns)}. “{contents.get(first, '')}”: {', '.join(ranks)}."


def table(columns: dict[str, list[str]], contents: dict[str, str]) -> list[dict[str, Any]]:
    """The same ranks as rows."""
    ids = list(dict.fromkeys(id for column in columns.values() for id in column))
    return [
        {
            "content": contents[id],
            "ranks": [column.index(id) + 1 if id in column else None for column in columns.values()],
        }
        for id in ids
    ]
