"""Why a memory did not come back then: told from a trace's own candidates and moment, and live only beyond them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memories.models import Memory, Trace
from memories.retrieval.answer import retriever_hits
from memories.retrieval.plan import list_depth
from memories.retrieval.replay import Replay
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.retrievers import NEEDS
from memories.retrieval.smallest_change import candidate_row
from memories.retrieval.why_not import WhyNot, explain_miss, find_exclusions, list_ranks_of, not_listed, why_not


@dataclass(frozen=True)
class TracedWhyNot:
    """What kept a memory from coming back, and why that could not be told from the trace alone."""

    why_not: WhyNot
    live: str = ""


def why_not_in_trace(trace: Trace, replayed: Replay, memory: Memory) -> TracedWhyNot:
    """Answer from the candidates of a trace; a memory that was none of them is looked for by asking again."""
    retrieval = replayed.retrieval
    if replayed.rerun_because:
        outside = find_exclusions(retrieval.query, memory)
        lists = {} if outside else list_ranks_of(retrieval, memory.id)
        return TracedWhyNot(explain_miss(retrieval, memory.id, outside, lists), "the ranking itself was asked again")
    row = candidate_row(retrieval, memory.id)
    if row is not None:
        return TracedWhyNot(explain_miss(retrieval, memory.id, [], list_ranks_at_trace(retrieval, row)))
    if outside := exclusions_at_trace(trace, retrieval, memory):
        return TracedWhyNot(explain_miss(retrieval, memory.id, outside, {}))
    now = why_not(retrieval.query, memory.id)
    told = f"It was no candidate when this was asked. Asked again now: {now.reason[0].lower()}{now.reason[1:]}"
    return TracedWhyNot(replace(now, reason=told), "a trace keeps nothing of a memory that was no candidate")


def exclusions_at_trace(trace: Trace, retrieval: Retrieval, memory: Memory) -> list[str]:
    """Why a memory could be no candidate at the moment of a trace."""
    # Both ids tell when they were made, also where a namespace's own clock stands still.
    if memory.id > trace.id:
        return ["it was not stored yet"]
    return find_exclusions(replace(retrieval.query, as_of=trace.as_of), memory)


def list_ranks_at_trace(retrieval: Retrieval, row: int) -> dict[str, dict[str, Any]]:
    """A candidate's place in the list that each retriever gave then."""
    signals, plan, late = retrieval.signals, retrieval.query_plan.plan, retrieval.fetched.timed_out
    pool = list_depth(retrieval.params, retrieval.query.top_k)
    [found] = retriever_hits(signals, [row])
    told: dict[str, dict[str, Any]] = {}
    for route in retrieval.query.config.system.retrievers:
        listed = int(np.isfinite(signals.ranks[route]).sum()) if route in signals.ranks else 0
        if route in found:
            told[route] = {"rank": found[route]["rank"], "score": found[route]["score"], "why": ""}
        elif route not in plan.retrievers:
            told[route] = not_listed(f"the plan {plan.name} does not ask it")
        elif route in late:
            told[route] = not_listed(late[route])
        elif route in NEEDS and not retrieval.parsed_in_trace.get(NEEDS[route]):
            told[route] = not_listed("the query gives it nothing to look for")
        elif not listed:
            told[route] = not_listed("it found nothing")
        else:
            told[route] = not_listed(f"not among the {'first ' if listed >= pool else ''}{listed} that it found")
    return told
