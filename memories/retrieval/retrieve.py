"""One retrieval, from the query to the ranked candidates."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memories.models.choices import EMBEDDERS
from memories.retrieval.asking import Found, ask
from memories.retrieval.candidates import Candidates, candidates
from memories.retrieval.planning import Planning, plan, pool_of
from memories.retrieval.query import Query
from memories.retrieval.reading import Reading, read
from memories.retrieval.reranking import reranked
from memories.retrieval.retrievers import RETRIEVERS
from memories.retrieval.retrievers.question import Asked, Question, Unready
from memories.retrieval.scope import Scope
from memories.snapshot import moment
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

    def apart(self, part: str, took_ms: float, *, of: str) -> None:
        """Tell a part of a step by itself; one that was done beforehand took no time now."""
        took = min(took_ms, self.took_ms[of])
        self.took_ms |= {of: self.took_ms[of] - took, part: took}


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A query with everything that its answer is made of."""

    query: Query
    reading: Reading | None  # none where it is replayed
    planning: Planning
    params: Params
    found: Found
    batch: Candidates
    ranking: Ranking
    took_ms: Mapping[str, float]
    understood: Mapping[str, Any] = field(default_factory=dict)  # what the trace of a replay tells of its reading

    @property
    def signals(self) -> Signals:
        """What the ranking knew of the candidates."""
        return self.batch.signals


def retrieve(query: Query, reading: Reading | None = None) -> Retrieval:
    """Read the query, plan, ask every retriever, learn what is known of the candidates, rank them."""
    watch = Stopwatch()
    reading = reading or read(query)
    watch.lap("read")
    watch.apart("embed", reading.embedding_ms, of="read")
    planning = plan(reading, query.setting)
    params = query.setting.under(planning.plan)
    with moment() as end:
        scope = Scope.of(query)
        found = ask(questions(query, reading, scope, planning.plan, params))
        watch.lap("retrieve")
        batch = candidates(query, reading, scope, found, params, end)
        watch.lap("load")
    batch, planning = reranked(query, batch, found, params, planning)
    if planning.reranker:
        watch.lap("rerank")
    ranking = ranking_of(query, batch.signals, params, planning.plan)
    watch.lap("rank")
    return Retrieval(query, reading, planning, params, found, batch, ranking, watch.took_ms)


def questions(
    query: Query, reading: Reading, scope: Scope, plan: Plan, params: Params, pool: int | None = None
) -> dict[str, Question | Unready | None]:
    """What the retrievers of a plan ask, in the transaction in which they are asked."""
    large = reading.words.documents >= SCAN_BELOW and reading.embedder in EMBEDDERS
    listed = pool_of(params, query.top_k)
    asked = Asked(query.namespace, reading, scope, params, pool or listed, large, listed)
    return {route: RETRIEVERS[route](asked) for route in query.setting.system.routes if route in plan.retrievers}


def ranking_of(query: Query, signals: Signals, params: Params, plan: Plan) -> Ranking:
    """Rank by the query's system; a plan may want fewer than the caller."""
    top_k = min(query.top_k, plan.top_k or query.top_k)
    return rank(query.setting.system, signals, params, top_k=top_k, diversify=plan.diversify)
