"""Why a memory was not returned then: from the trace's own candidates, and live only beyond them."""

from dataclasses import dataclass, replace

import numpy as np

from memories.contracts.why_not import ListRank, WhyNot
from memories.models import Memory, Trace
from memories.retrieval.answer import retriever_hits
from memories.retrieval.plan import list_depth
from memories.retrieval.replay import Replay
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.retrievers import NEEDS
from memories.retrieval.smallest_change import candidate_row
from memories.retrieval.why_not import ZERO_WEIGHT, explain_miss, find_exclusions, list_ranks_of, not_listed, why_not


@dataclass(frozen=True)
class TracedWhyNot:
    """Why a memory was not returned, and why the trace alone could not say so."""

    why_not: WhyNot
    live: str = ""


def why_not_in_trace(trace: Trace, replayed: Replay, memory: Memory) -> TracedWhyNot:
    """Diagnose from the candidates of a trace; a memory that was not among them needs a new query."""
    retrieval = replayed.retrieval
    if replayed.rerun_because:
        exclusions = find_exclusions(retrieval.query, memory)
        list_ranks = {} if exclusions else list_ranks_of(retrieval, memory.id)
        return TracedWhyNot(
            explain_miss(retrieval, memory.id, exclusions, list_ranks), "the ranking needed a new query"
        )
    row = candidate_row(retrieval, memory.id)
    if row is not None:
        return TracedWhyNot(explain_miss(retrieval, memory.id, [], list_ranks_at_trace(retrieval, row)))
    if exclusions := exclusions_at_trace(trace, retrieval, memory):
        return TracedWhyNot(explain_miss(retrieval, memory.id, exclusions, {}))
    now = why_not(retrieval.query, memory.id)
    reason = f"It was no candidate when the query ran. Run again now: {now.reason[0].lower()}{now.reason[1:]}"
    return TracedWhyNot(replace(now, reason=reason), "a trace stores nothing of a memory that was no candidate")


def exclusions_at_trace(trace: Trace, retrieval: Retrieval, memory: Memory) -> list[str]:
    """Why a memory could be no candidate at the time of a trace."""
    # UUIDv7 ids order by creation, even where the namespace's clock stands still.
    if memory.id > trace.id:
        return ["it was not stored yet"]
    return find_exclusions(replace(retrieval.query, as_of=trace.as_of), memory)


def list_ranks_at_trace(retrieval: Retrieval, row: int) -> dict[str, ListRank]:
    """A candidate's rank in each retriever's list at the time of a trace."""
    signals, plan, timed_out = retrieval.signals, retrieval.query_plan.plan, retrieval.fetched.timed_out
    depth = list_depth(retrieval.params, retrieval.query.top_k)
    [hits] = retriever_hits(signals, [row])
    ranks: dict[str, ListRank] = {}
    for retriever in retrieval.query.config.system.retrievers:
        length = int(np.isfinite(signals.ranks[retriever]).sum()) if retriever in signals.ranks else 0
        if retriever in hits:
            ranks[retriever] = ListRank(hits[retriever].rank, hits[retriever].score, "")
        elif retriever not in plan.retrievers:
            ranks[retriever] = not_listed(f"the plan {plan.name} does not run it")
        elif retriever not in retrieval.asked:
            ranks[retriever] = not_listed(ZERO_WEIGHT)
        elif retriever in timed_out:
            ranks[retriever] = not_listed(timed_out[retriever])
        elif retriever in NEEDS and not getattr(retrieval.parsed_in_trace, NEEDS[retriever]):
            ranks[retriever] = not_listed("the query has nothing for it to search for")
        elif not length:
            ranks[retriever] = not_listed("it found nothing")
        else:
            ranks[retriever] = not_listed(f"not among the {'first ' if length >= depth else ''}{length} that it found")
    return ranks
