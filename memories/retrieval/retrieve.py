"""One retrieval, from the query to the ranked candidates."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memories.contracts.answer import NOTHING_PARSED, ParsedReport
from memories.db.pipeline import Staged, Statement, snapshot
from memories.models.vector import index_name
from memories.retrieval.candidates import Candidates, load_candidates
from memories.retrieval.fetch import Fetched, fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import QueryPlan, active_retrievers, choose_plan, list_depth
from memories.retrieval.query import Query
from memories.retrieval.rerank import rerank
from memories.retrieval.retrievers import RETRIEVERS
from memories.retrieval.retrievers.context import RetrieverContext
from memories.retrieval.retrievers.semantic import ef_search, hnsw_settings
from memories.retrieval.scope import CandidateScope
from scoring.params import Params
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.systems.system import Ranking, rank

# The timed steps, in order.
STEPS = ("parse", "embed", "retrieve", "load", "rerank", "rank")


@dataclass
class Stopwatch:
    """How long each step took."""

    took_ms: dict[str, float] = field(default_factory=dict)
    since: float = field(default_factory=time.perf_counter)

    def lap(self, step: str) -> None:
        """End a step and start the next."""
        now = time.perf_counter()
        self.took_ms[step], self.since = 1000 * (now - self.since), now

    def split(self, part: str, took_ms: float, *, of: str) -> None:
        """Count a part of a step as a step of its own."""
        took = min(took_ms, self.took_ms[of])
        self.took_ms |= {of: self.took_ms[of] - took, part: took}


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A query and everything its answer is built from."""

    query: Query
    parsed: ParsedQuery | None  # None in a replay
    query_plan: QueryPlan
    params: Params
    fetched: Fetched
    candidates: Candidates
    ranking: Ranking
    took_ms: Mapping[str, float]
    parsed_in_trace: ParsedReport = NOTHING_PARSED  # of a replay

    @property
    def active_retrievers(self) -> tuple[str, ...]:
        """The retrievers that were asked."""
        return active_retrievers(self.query, self.query_plan.plan, self.params)

    @property
    def signals(self) -> Signals:
        """The features of the candidates."""
        return self.candidates.signals


def retrieve(query: Query, parsed: ParsedQuery | None = None) -> Retrieval:
    """Parse the query, plan, fetch every retriever's list, load the candidates, rerank and rank them."""
    watch = Stopwatch()
    parsed = parsed or understand(query)
    watch.lap("parse")
    watch.split("embed", parsed.embedding_ms, of="parse")
    query_plan = choose_plan(parsed, query.config)
    params = query.config.params_under(query_plan.plan)
    with snapshot():
        context = retriever_context(query, parsed, params)
        retrievers = active_retrievers(query, query_plan.plan, params)
        fetched = fetch(retriever_statements(context, retrievers), database_settings(context))
        watch.lap("retrieve")
        candidates = load_candidates(query, context, fetched, query_plan.plan)
        watch.lap("load")
    candidates, query_plan = rerank(query, candidates, fetched, params, query_plan)
    if query_plan.reranker:
        watch.lap("rerank")
    ranking = rank_candidates(query, candidates.signals, params, query_plan.plan)
    watch.lap("rank")
    return Retrieval(query, parsed, query_plan, params, fetched, candidates, ranking, watch.took_ms)


def retriever_context(query: Query, parsed: ParsedQuery, params: Params, depth: int | None = None) -> RetrieverContext:
    """What the retrievers of a query share; why-not passes a greater depth than the answer's."""
    # The name says of which embedder the index is: another process may be switching it.
    indexed = parsed.terms.vector_index == index_name(query.namespace.id, parsed.embedder)
    answer_depth = list_depth(params, query.top_k)
    scope = CandidateScope.for_query(query)
    depth = depth or answer_depth
    effort = ef_search(parsed.terms.ef_search, depth)
    return RetrieverContext(query.namespace, parsed, scope, params, depth, indexed, effort, answer_depth)


def retriever_statements(context: RetrieverContext, retrievers: Sequence[str]) -> dict[str, Statement | Staged | None]:
    """The statement of each retriever; None if the query has nothing for it to search for."""
    return {retriever: RETRIEVERS[retriever](context) for retriever in retrievers}


def database_settings(context: RetrieverContext) -> dict[str, str]:
    """Postgres settings for the retrievers.

    JIT compilation, parallel workers and custom plans cost more than they save; only with filters does the best plan
    depend on the values.
    """
    plan = "force_generic_plan" if context.scope.plain else "auto"
    planner = {"jit": "off", "max_parallel_workers_per_gather": "0", "plan_cache_mode": plan}
    return planner | hnsw_settings(context.ef_search)


def rank_candidates(query: Query, signals: Signals, params: Params, plan: Plan) -> Ranking:
    """Rank by the query's system; the plan may lower `top_k`."""
    if len(signals) and signals.vectors is None and query.config.system.reads_vectors(params, plan):
        raise ValueError("MMR must have the candidates' vectors; got none, so it needs a new query")
    top_k = min(query.top_k, plan.top_k or query.top_k)
    abstain = query.on_low_confidence == "abstain"
    return rank(query.config.system, signals, params, top_k=top_k, diversify=plan.diversify, abstain=abstain)
