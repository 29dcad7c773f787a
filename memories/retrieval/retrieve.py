"""One retrieval, from the query to the ranked candidates."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from memories.contracts.answer import NOTHING_PARSED, ParsedReport
from memories.db.snapshot import pipelined_snapshot
from memories.models.choices import EMBEDDERS
from memories.retrieval.candidates import Candidates, load_candidates
from memories.retrieval.fetch import Fetched, fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import QueryPlan, choose_plan, list_depth
from memories.retrieval.query import Query
from memories.retrieval.rerank import rerank
from memories.retrieval.retrievers import RETRIEVERS
from memories.retrieval.retrievers.retriever_context import PendingQuery, RetrieverContext, RetrieverQuery
from memories.retrieval.scope import CandidateScope
from memories.writing.neighbours import SCAN_BELOW
from scoring.params import Params
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.systems.system import Ranking, rank

# What is timed, in the order in which it is done.
STEPS = ("read", "embed", "retrieve", "load", "rerank", "rank")


@dataclass
class Stopwatch:
    """How long each step took."""

    took_ms: dict[str, float] = field(default_factory=dict)
    since: float = field(default_factory=time.perf_counter)

    def lap(self, step: str) -> None:
        """End a step."""
        now = time.perf_counter()
        self.took_ms[step], self.since = 1000 * (now - self.since), now

    def split(self, part: str, took_ms: float, *, of: str) -> None:
        """Tell a part of a step by itself; one that was done beforehand took no time now."""
        took = min(took_ms, self.took_ms[of])
        self.took_ms |= {of: self.took_ms[of] - took, part: took}


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A query with everything that its answer is made of."""

    query: Query
    parsed: ParsedQuery | None  # none where it is replayed
    query_plan: QueryPlan
    params: Params
    fetched: Fetched
    candidates: Candidates
    ranking: Ranking
    took_ms: Mapping[str, float]
    parsed_in_trace: ParsedReport = NOTHING_PARSED  # of a replay

    @property
    def signals(self) -> Signals:
        """What the ranking knew of the candidates."""
        return self.candidates.signals


def retrieve(query: Query, parsed: ParsedQuery | None = None) -> Retrieval:
    """Read the query, plan, ask every retriever, learn what is known of the candidates, rank them."""
    watch = Stopwatch()
    parsed = parsed or understand(query)
    watch.lap("read")
    watch.split("embed", parsed.embedding_ms, of="read")
    planning = choose_plan(parsed, query.config)
    params = query.config.params_under(planning.plan)
    with pipelined_snapshot() as end:
        scope = CandidateScope.for_query(query)
        found = fetch(retriever_queries(query, parsed, scope, planning.plan, params))
        watch.lap("retrieve")
        batch = load_candidates(query, parsed, scope, found, params, end)
        watch.lap("load")
    batch, planning = rerank(query, batch, found, params, planning)
    if planning.reranker:
        watch.lap("rerank")
    ranking = rank_candidates(query, batch.signals, params, planning.plan)
    watch.lap("rank")
    return Retrieval(query, parsed, planning, params, found, batch, ranking, watch.took_ms)


def retriever_queries(
    query: Query, parsed: ParsedQuery, scope: CandidateScope, plan: Plan, params: Params, pool: int | None = None
) -> dict[str, RetrieverQuery | PendingQuery | None]:
    """What the retrievers of a plan ask, in the transaction in which they are asked."""
    large = parsed.terms.documents >= SCAN_BELOW and parsed.embedder in EMBEDDERS
    listed = list_depth(params, query.top_k)
    asked = RetrieverContext(query.namespace, parsed, scope, params, pool or listed, large, listed)
    return {route: RETRIEVERS[route](asked) for route in query.config.system.retrievers if route in plan.retrievers}


def rank_candidates(query: Query, signals: Signals, params: Params, plan: Plan) -> Ranking:
    """Rank by the query's system; a plan may want fewer than the caller."""
    top_k = min(query.top_k, plan.top_k or query.top_k)
    return rank(query.config.system, signals, params, top_k=top_k, diversify=plan.diversify)
