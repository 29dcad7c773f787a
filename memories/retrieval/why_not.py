"""Why a memory did not come back: how far each retriever got to it, what stopped it, and what would let it in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.db.pipeline import snapshot
from memories.models import Memory
from memories.models.choices import Status
from memories.retrieval.answer import failed_gates
from memories.retrieval.as_of import Past
from memories.retrieval.fetch import fetch
from memories.retrieval.plan import list_depth
from memories.retrieval.query import Query
from memories.retrieval.retrieve import (
    Retrieval,
    database_settings,
    retrieve,
    retriever_context,
    retriever_statements,
)
from memories.retrieval.smallest_change import (
    ChangeSearch,
    SmallestChange,
    candidate_row,
    rank_in_order,
    smallest_change,
)

MAX_DEPTH = 10_000  # places of a list that are looked through for the memory


@dataclass(frozen=True)
class WhyNot:
    """What kept a memory from coming back, and what would bring it in."""

    rank: int | None  # where it stands in the answer, if it came back after all
    exclusions: Sequence[str]  # why it cannot be a candidate at all
    gates: Sequence[str]  # what holds it back as a candidate
    retrievers: Mapping[str, Mapping[str, Any]]  # its place in each list, however far down
    score: float | None
    needed: float | None  # the score of the last that came back
    change: SmallestChange | None
    tried: Sequence[str]  # the parameters among which the change was looked for
    reason: str


def why_not(query: Query, memory: UUID) -> WhyNot:
    """Look for a memory on the whole way of a query, and for the least change that brings it into the answer."""
    retrieval = retrieve(query)
    outside = find_exclusions(query, Memory.objects.within(query.namespace).get(id=memory))
    return explain_miss(retrieval, memory, outside, {} if outside else list_ranks_of(retrieval, memory))


def explain_miss(
    retrieval: Retrieval, memory: UUID, exclusions: Sequence[str], lists: Mapping[str, Mapping[str, Any]]
) -> WhyNot:
    """What became of a memory in a retrieval, knowing whether it could be found and where the lists have it."""
    row = candidate_row(retrieval, memory)
    rank = None if row is None else rank_in_order(retrieval.ranking, row)
    sought = ChangeSearch(None, ()) if exclusions or rank else smallest_change(retrieval, memory, lists)
    needed = retrieval.ranking.order.rows[-1:].tolist()
    return WhyNot(
        rank=rank,
        exclusions=exclusions,
        gates=[] if row is None else failed_gates(retrieval, row),
        retrievers=lists,
        score=None if row is None else float(retrieval.ranking.score.value[row]),
        needed=float(retrieval.ranking.score.value[needed[0]]) if needed else None,
        change=sought.change,
        tried=sought.tried,
        reason=miss_sentence(retrieval, row, rank, exclusions, lists, sought),
    )


def find_exclusions(query: Query, stored: Memory) -> list[str]:
    """Why a memory cannot be a candidate: its status, or a filter of the query."""
    wanted, why = query.filters, []
    if query.as_of is None:
        if stored.status != Status.ACTIVE:
            why.append(f"its status is {stored.status}")
    else:
        past = Past.load(query.namespace, query.as_of)
        then = (stored.status == Status.ACTIVE and stored.id not in past.active_since) or stored.id in past.hidden_since
        if stored.created_at > query.as_of:
            why.append("it was not stored yet")
        elif not then:
            why.append("it was not active then")
    if stored.level not in query.levels:
        why.append(f"its level is {stored.level}, and {', '.join(query.levels)} are asked for")
    if wanted.types and (stored.type_uncertain or stored.type not in wanted.types):
        kind = "uncertain" if stored.type_uncertain else stored.type
        why.append(f"its type is {kind}, and {', '.join(wanted.types)} are asked for")
    if wanted.users and stored.user not in wanted.users:
        why.append(f"its user is {stored.user or 'nobody'}, and {', '.join(wanted.users)} are asked for")
    if wanted.tags and not set(wanted.tags) & set(stored.tag_names):
        why.append(f"it has none of the tags {', '.join(wanted.tags)}")
    return why


def list_ranks_of(retrieval: Retrieval, memory: UUID) -> dict[str, dict[str, Any]]:
    """A memory's place in the list of each retriever, also below what was asked for; none where it is not found."""
    query, reading = retrieval.query, retrieval.parsed
    assert reading is not None
    pool = list_depth(retrieval.params, query.top_k)
    with snapshot():
        context = retriever_context(query, reading, retrieval.params, MAX_DEPTH)
        asked = retriever_statements(context, query, retrieval.query_plan.plan)
        found = fetch(asked, database_settings(context))
    told: dict[str, dict[str, Any]] = {}
    for route in query.config.system.retrievers:
        if route not in retrieval.query_plan.plan.retrievers:
            told[route] = not_listed(f"the plan {retrieval.query_plan.plan.name} does not ask it")
        elif route in found.timed_out:
            told[route] = not_listed(found.timed_out[route])
        elif asked[route] is None:
            told[route] = not_listed("the query gives it nothing to look for")
        else:
            ids = list(found.lists[route])
            rank = ids.index(memory) + 1 if memory in found.lists[route] else None
            beyond = f"not among the first {pool} that it is asked for" if rank and rank > pool else ""
            why = "" if rank and not beyond else beyond or "it does not find it"
            told[route] = {"rank": rank, "score": found.lists[route].get(memory), "why": why}
    return told


def not_listed(why: str) -> dict[str, Any]:
    """No place in a list, and why."""
    return {"rank": None, "score": None, "why": why}


def miss_sentence(
    retrieval: Retrieval,
    row: int | None,
    rank: int | None,
    exclusions: Sequence[str],
    lists: Mapping[str, Mapping[str, Any]],
    search: ChangeSearch,
) -> str:
    """The answer in a sentence."""
    if rank:
        return f"It came back, {ordinal(rank)}."
    if exclusions:
        return f"It cannot come back: {'; '.join(exclusions)}."
    end = change_sentence(search, candidate=row is not None)
    if row is None:
        best = min((one["rank"] for one in lists.values() if one["rank"]), default=None)
        found = f"the best list has it {ordinal(best)}" if best else "no retriever finds it"
        if best and retrieval.fetched.timed_out and best <= list_depth(retrieval.params, retrieval.query.top_k):
            return (
                f"It was no candidate: {', '.join(retrieval.fetched.timed_out)} did not answer. Asked again, {found}."
            )
        return f"It was no candidate: {found}. {end}"
    if gates := failed_gates(retrieval, row):
        return f"It was found and held back: {', '.join(gates)}. {end}"
    if retrieval.ranking.abstained:
        return f"The whole answer was withheld. {end}"
    score, signals = retrieval.ranking.score.value, retrieval.signals
    place = (
        int((score > score[row]).sum() + ((score == score[row]) & (signals.id_ranks < signals.id_ranks[row])).sum()) + 1
    )
    return f"It was found, and {ordinal(place)} of {len(signals)} by score. {end}"


def change_sentence(search: ChangeSearch, *, candidate: bool) -> str:
    """What brings a memory in, or what was tried in vain."""
    if (change := search.change) is not None:
        numbers = isinstance(change.after, int | float) and not isinstance(change.after, bool)
        after, before = (f"{one:g}" if numbers else f"{one}" for one in (change.after, change.before))
        return f"{change.param} {after} instead of {before} brings it in, {ordinal(change.rank)}."
    if candidate:
        return (
            f"Tried one by one, none of the {len(search.tried)} parameters that rank brings it in; "
            "those that choose the candidates were not tried."
        )
    if not search.tried:
        return "No parameter makes a list reach it."
    return f"Longer lists do not bring it in: {', '.join(search.tried)} were tried one by one."


def ordinal(rank: int) -> str:
    """A rank in a word."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10 if rank % 100 not in (11, 12, 13) else 0, "th")
    return f"{rank}{ending}"
