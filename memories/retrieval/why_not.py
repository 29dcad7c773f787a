"""Why a memory was not returned, now or in a trace: ranks in the lists, what filtered it, what would bring it in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from memories.contracts.why_not import ListRank, WhyNot
from memories.db.pipeline import snapshot
from memories.models import Memory, Trace
from memories.models.choices import Status
from memories.retrieval.answer import failed_gates, retriever_hits
from memories.retrieval.as_of import Past
from memories.retrieval.fetch import fetch
from memories.retrieval.plan import active_retrievers, list_depth
from memories.retrieval.query import Query
from memories.retrieval.replay import Replay
from memories.retrieval.retrieve import (
    Retrieval,
    database_settings,
    retrieve,
    retriever_context,
    retriever_statements,
)
from memories.retrieval.retrievers import NEEDS
from memories.retrieval.smallest_change import (
    ChangeSearch,
    candidate_row,
    rank_in_order,
    smallest_change,
)

ZERO_WEIGHT = "not asked, because its weight is 0"
MAX_DEPTH = 10_000  # of a list searched for the memory


@dataclass(frozen=True)
class TracedWhyNot:
    """Why a memory was not returned, and why it took a live query to say, if it did."""

    why_not: WhyNot
    live: str = ""


def why_not(query: Query, memory: UUID) -> WhyNot:
    """Run a query, follow a memory through it, and find the smallest change that brings it into the answer."""
    retrieval = retrieve(query)
    exclusions = find_exclusions(query, Memory.objects.within(query.namespace).get(id=memory))
    return explain_miss(retrieval, memory, exclusions, {} if exclusions else list_ranks_of(retrieval, memory))


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


def explain_miss(
    retrieval: Retrieval, memory: UUID, exclusions: Sequence[str], list_ranks: Mapping[str, ListRank]
) -> WhyNot:
    """Why a memory was not returned, given its exclusions and its ranks in the lists."""
    row = candidate_row(retrieval, memory)
    rank = None if row is None else rank_in_order(retrieval.ranking, row)
    search = ChangeSearch(None, ()) if exclusions or rank else smallest_change(retrieval, memory, list_ranks)
    last = retrieval.ranking.order.ranked[-1:].tolist()
    return WhyNot(
        rank=rank,
        exclusions=exclusions,
        gates=[] if row is None else failed_gates(retrieval, row),
        retrievers=list_ranks,
        score=None if row is None else float(retrieval.ranking.score.value[row]),
        needed=float(retrieval.ranking.score.value[last[0]]) if last else None,
        change=search.change,
        tried=search.tried,
        reason=miss_sentence(retrieval, row, rank, exclusions, list_ranks, search),
    )


def find_exclusions(query: Query, stored: Memory) -> list[str]:
    """Why a memory cannot be a candidate: its status, or a filter of the query."""
    filters, exclusions = query.filters, []
    if query.as_of is None:
        if stored.status != Status.ACTIVE:
            exclusions.append(f"its status is {stored.status}")
    else:
        past = Past.load(query.namespace, query.as_of)
        active = (
            stored.status == Status.ACTIVE and stored.id not in past.active_since
        ) or stored.id in past.hidden_since
        if stored.created_at > query.as_of:
            exclusions.append("it was not stored yet")
        elif not active:
            exclusions.append("it was not active then")
    if stored.level not in query.levels:
        exclusions.append(f"its level is {stored.level}; the filter is {', '.join(query.levels)}")
    if filters.types and (stored.type_uncertain or stored.type not in filters.types):
        type = "uncertain" if stored.type_uncertain else stored.type
        exclusions.append(f"its type is {type}; the filter is {', '.join(filters.types)}")
    if filters.users and stored.user not in filters.users:
        exclusions.append(f"its user is {stored.user or 'nobody'}; the filter is {', '.join(filters.users)}")
    if filters.tags and not set(filters.tags) & set(stored.tag_names):
        exclusions.append(f"it has none of the tags {', '.join(filters.tags)}")
    return exclusions


def exclusions_at_trace(trace: Trace, retrieval: Retrieval, memory: Memory) -> list[str]:
    """Why a memory could not be a candidate at the time of a trace."""
    # UUIDv7 ids order by creation, even where the namespace's clock stands still.
    if memory.id > trace.id:
        return ["it was not stored yet"]
    return find_exclusions(replace(retrieval.query, as_of=trace.as_of), memory)


def list_ranks_of(retrieval: Retrieval, memory: UUID) -> dict[str, ListRank]:
    """A memory's rank in each retriever's list, queried again to a greater depth; also where its weight is 0."""
    query, parsed, plan = retrieval.query, retrieval.parsed, retrieval.query_plan.plan
    assert parsed is not None
    depth = list_depth(retrieval.params, query.top_k)
    with snapshot():
        context = retriever_context(query, parsed, retrieval.params, MAX_DEPTH)
        in_plan = active_retrievers(replace(query, all_retrievers=True), plan, retrieval.params)
        statements = retriever_statements(context, in_plan)
        fetched = fetch(statements, database_settings(context))
    ranks: dict[str, ListRank] = {}
    for retriever in query.config.system.retrievers:
        if retriever not in plan.retrievers:
            ranks[retriever] = not_listed(f"the plan {plan.name} does not run it")
        elif retriever in fetched.timed_out:
            ranks[retriever] = not_listed(fetched.timed_out[retriever])
        elif statements[retriever] is None:
            ranks[retriever] = not_listed("the query has nothing for it to search for")
        else:
            ranked = fetched.lists[retriever]
            rank = list(ranked).index(memory) + 1 if memory in ranked else None
            ranks[retriever] = ListRank(rank, ranked.get(memory), why_not_listed(retrieval, retriever, rank, depth))
    return ranks


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
        elif retriever not in retrieval.active_retrievers:
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


def why_not_listed(retrieval: Retrieval, retriever: str, rank: int | None, depth: int) -> str:
    """Why a memory was not in the list of a retriever, given its rank now; empty if it was."""
    if rank is None:
        return "it does not find it"
    if rank > depth:
        return f"below its first {depth}"
    return "" if retriever in retrieval.active_retrievers else ZERO_WEIGHT


def not_listed(why: str) -> ListRank:
    """A missing rank, and why."""
    return ListRank(None, None, why)


def miss_sentence(
    retrieval: Retrieval,
    row: int | None,
    rank: int | None,
    exclusions: Sequence[str],
    list_ranks: Mapping[str, ListRank],
    search: ChangeSearch,
) -> str:
    """The diagnosis in a sentence."""
    if rank:
        return f"It was returned, {ordinal(rank)}."
    if exclusions:
        return f"It cannot be returned: {'; '.join(exclusions)}."
    end = change_sentence(search, candidate=row is not None)
    if row is None:
        ranks = {retriever: entry.rank for retriever, entry in list_ranks.items() if entry.rank}
        best = min(
            (rank for retriever, rank in ranks.items() if retriever in retrieval.active_retrievers), default=None
        )
        found = f"the best list has it {ordinal(best)}" if best else "no retriever finds it"
        if ranks and not best:
            found = f"only {' and '.join(ranks)} would find it, {ZERO_WEIGHT}"
        timed_out = retrieval.fetched.timed_out
        if best and timed_out and best <= list_depth(retrieval.params, retrieval.query.top_k):
            return f"It was no candidate: {', '.join(timed_out)} timed out or failed. Queried again, {found}."
        return f"It was no candidate: {found}. {end}"
    if gates := failed_gates(retrieval, row):
        listed = any(np.isfinite(ranks[row]) for ranks in retrieval.signals.ranks.values())
        return f"It was {'found and ' if listed else ''}filtered: {', '.join(gates)}. {end}"
    if retrieval.ranking.abstained:
        return f"The system abstained. {end}"
    score, signals = retrieval.ranking.score.value, retrieval.signals
    ties_before = (score == score[row]) & (signals.id_ranks < signals.id_ranks[row])
    place = int((score > score[row]).sum() + ties_before.sum()) + 1
    return f"It was found, and {ordinal(place)} of {len(signals)} by score. {end}"


def change_sentence(search: ChangeSearch, *, candidate: bool) -> str:
    """What brings a memory in, or what was tried without success."""
    if (change := search.change) is not None:
        is_number = isinstance(change.after, int | float) and not isinstance(change.after, bool)
        after, before = (f"{value:g}" if is_number else f"{value}" for value in (change.after, change.before))
        return f"{change.param} {after} instead of {before} brings it in, {ordinal(change.rank)}."
    if candidate:
        return (
            f"None of the {len(search.tried)} ranking parameters, tried one by one, brings it in; "
            "those that select the candidates were not tried."
        )
    if not search.tried:
        return "No parameter makes a list reach it."
    return f"Other candidates do not bring it in: {', '.join(search.tried)} were tried one by one."


def ordinal(rank: int) -> str:
    """A rank as an ordinal number."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10 if rank % 100 not in (11, 12, 13) else 0, "th")
    return f"{rank}{ending}"
