"""Replay: the candidates of a trace ranked under other parameters, exactly as a live retrieval would."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from memories.contracts.answer import ParsedReport
from memories.models import Trace
from memories.models.choices import Status
from memories.retrieval.candidate_rows import (
    STATEMENTS_FOR_ALL,
    VECTORS,
    CandidateTables,
    load_candidate_vectors,
    memory_rows,
)
from memories.retrieval.candidates import Candidates, rows_as_of
from memories.retrieval.fetch import Fetched
from memories.retrieval.plan import QueryPlan
from memories.retrieval.query import Config
from memories.retrieval.retrieve import Retrieval, Stopwatch, rank_candidates, retrieve
from memories.retrieval.scope import CandidateScope
from memories.retrieval.trace import query_from_trace
from memories.retrieval.trace_codec import decode_signals, unpack_arrays, unpack_fingerprints
from scoring.signals import LEVELS, TYPES, Signals


@dataclass(frozen=True, eq=False)
class Replay:
    """A retrieval replayed from a trace, or a live one and the parameters that required it."""

    retrieval: Retrieval
    rerun_because: tuple[str, ...] = ()  # parameters that need a new query
    changed: tuple[UUID, ...] = ()  # candidates re-embedded or gone since


def replay(trace: Trace, config: Config) -> Replay:
    """Rank a trace's candidates under a configuration; one that changes the candidates needs a new query."""
    if changed_params := params_needing_rerun(trace, config):
        return Replay(retrieve(query_from_trace(trace, config)), changed_params)
    watch = Stopwatch()
    candidates, changed = load_trace_candidates(trace)
    watch.lap("load")
    timed_out = {entry["retriever"]: entry["reason"] for entry in trace.answer.get("timed_out", ())}
    retrieval = replace(
        rank_trace(trace, candidates, config, watch),
        fetched=Fetched(timed_out=timed_out),
        parsed_in_trace=ParsedReport.from_dict(trace.answer.get("plan", {})),
    )
    return Replay(retrieval, changed=changed)


def rank_trace(trace: Trace, candidates: Candidates, config: Config, watch: Stopwatch) -> Retrieval:
    """Rank the candidates of a trace under a configuration that has the same ones."""
    query, query_plan = query_from_trace(trace, config), QueryPlan.from_dict(trace.plan)
    params = config.params_under(query_plan.plan)
    ranking = rank_candidates(query, candidates.signals, params, query_plan.plan)
    watch.lap("rank")
    return Retrieval(query, None, query_plan, params, Fetched(), candidates, ranking, watch.took_ms)


def params_needing_rerun(trace: Trace, config: Config) -> tuple[str, ...]:
    """What differs from the trace and needs what it lacks: other candidates, or their vectors for MMR."""
    system = config.system
    if system.name != trace.system:
        return ("system",)
    plan = QueryPlan.from_dict(trace.plan).plan
    before, now = (replace(config, given=given).params_under(plan) for given in (trace.params, config.given))
    asked_before, asked_now = (set(system.weighted_retrievers(params)) for params in (before, now))
    needing = system.weights_of(asked_before ^ asked_now)
    if system.reads_vectors(now, plan) and not system.reads_vectors(before, plan):
        needing.update(system.diversified_by)
    return tuple(
        name
        for name, param in system.params.declarations().items()
        if (param.scope == "candidates" or name in needing) and getattr(before, name) != getattr(now, name)
    )


def load_trace_candidates(trace: Trace) -> tuple[Candidates, tuple[UUID, ...]]:
    """The candidates of a trace, and those that changed since: signals from the trace, texts and vectors as stored.

    Vectors only if its ranking read them; their fingerprints tell which are others now. A candidate that was forgotten
    or erased since keeps only its numbers.
    """
    arrays, header = unpack_arrays(bytes(trace.signals))
    ids, fingerprints, query = list(trace.candidates), unpack_fingerprints(arrays), query_from_trace(trace)
    tables = CandidateTables(query, header["embedder"], ids)
    plan = QueryPlan.from_dict(trace.plan).plan
    reads_vectors = query.config.system.reads_vectors(query.config.params_under(plan), plan)
    fetched = tables.fetch(STATEMENTS_FOR_ALL | ({"vectors": VECTORS} if reads_vectors else {}))
    today = memory_rows(fetched["memories"])
    forgotten = {row["id"] for row in today if row["status"] == Status.FORGOTTEN}
    rows_then = rows_as_of(tables, CandidateScope.for_query(query), today)
    stored = {row["id"]: row for row in rows_then if row["id"] not in forgotten}
    vectors, fingerprints_now = (
        load_candidate_vectors(tables, fetched["vectors"]) if reads_vectors and ids else (None, fingerprints)
    )
    changed = tuple(
        id for id, then, now in zip(ids, fingerprints, fingerprints_now, strict=True) if then != now or id not in stored
    )
    signals = decode_signals([str(id) for id in ids], arrays, header, vectors)
    gone_row = {"content": "", "user": "", "status": Status.FORGOTTEN}
    rows = [
        {**stored.get(id, gone_row), "id": id, **result_fields_from_signals(signals, row)} for row, id in enumerate(ids)
    ]
    return Candidates(ids, rows, signals, fingerprints, fetched["contradictions"]), changed


def result_fields_from_signals(signals: Signals, row: int) -> dict[str, Any]:
    """The fields of a result that the signals hold as of the trace."""
    return {
        "type": TYPES[signals.type[row]],
        "level": LEVELS[signals.level[row]],
        "confidence": float(signals.confidence[row]),
    }
