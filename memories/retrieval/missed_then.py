"""Why a memory did not come back then: told from a trace's own candidates and moment, and live only beyond them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memories.models import Memory, Trace
from memories.retrieval.answer import retrievers_of
from memories.retrieval.least_change import row_of
from memories.retrieval.planning import pool_of
from memories.retrieval.replaying import Replay
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.retrievers import NEEDS
from memories.retrieval.why_not import WhyNot, excluded, explained, places, unranked, why_not


@dataclass(frozen=True)
class Missed:
    """What kept a memory from coming back, and why that could not be told from the trace alone."""

    why_not: WhyNot
    live: str = ""


def missed_then(trace: Trace, done: Replay, memory: Memory) -> Missed:
    """Answer from the candidates of a trace; a memory that was none of them is looked for by asking again."""
    retrieval = done.retrieval
    if done.live:
        outside = excluded(retrieval.query, memory)
        lists = {} if outside else places(retrieval, memory.id)
        return Missed(explained(retrieval, memory.id, outside, lists), "the ranking itself was asked again")
    row = row_of(retrieval, memory.id)
    if row is not None:
        return Missed(explained(retrieval, memory.id, [], places_then(retrieval, row)))
    if outside := excluded_then(trace, retrieval, memory):
        return Missed(explained(retrieval, memory.id, outside, {}))
    now = why_not(retrieval.query, memory.id)
    told = f"It was no candidate when this was asked. Asked again now: {now.reason[0].lower()}{now.reason[1:]}"
    return Missed(replace(now, reason=told), "a trace keeps nothing of a memory that was no candidate")


def excluded_then(trace: Trace, retrieval: Retrieval, memory: Memory) -> list[str]:
    """Why a memory could be no candidate at the moment of a trace."""
    # Both ids tell when they were made, also where a namespace's own clock stands still.
    if memory.id > trace.id:
        return ["it was not stored yet"]
    return excluded(replace(retrieval.query, as_of=trace.as_of), memory)


def places_then(retrieval: Retrieval, row: int) -> dict[str, dict[str, Any]]:
    """A candidate's place in the list that each retriever gave then."""
    signals, plan, late = retrieval.signals, retrieval.planning.plan, retrieval.found.late
    pool = pool_of(retrieval.params, retrieval.query.top_k)
    [found] = retrievers_of(signals, [row])
    told: dict[str, dict[str, Any]] = {}
    for route in retrieval.query.setting.system.routes:
        listed = int(np.isfinite(signals.ranks[route]).sum()) if route in signals.ranks else 0
        if route in found:
            told[route] = {"rank": found[route]["rank"], "score": found[route]["score"], "why": ""}
        elif route not in plan.retrievers:
            told[route] = unranked(f"the plan {plan.name} does not ask it")
        elif route in late:
            told[route] = unranked(late[route])
        elif route in NEEDS and not retrieval.understood.get(NEEDS[route]):
            told[route] = unranked("the query gives it nothing to look for")
        elif not listed:
            told[route] = unranked("it found nothing")
        else:
            told[route] = unranked(f"not among the {'first ' if listed >= pool else ''}{listed} that it found")
    return told
