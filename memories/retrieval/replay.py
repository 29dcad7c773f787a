"""A trace ranked again: the same candidates under other parameters, exactly as a live retrieval would rank them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memories.db.id_arrays import format_ids, id_array
from memories.models import Trace
from memories.models.choices import Status
from memories.retrieval.answer import PARSED_FIELDS
from memories.retrieval.candidate_sql import STATEMENTS_FOR_ALL, VECTORS, CandidateTables, memory_rows
from memories.retrieval.candidate_vectors import load_candidate_vectors
from memories.retrieval.candidates import Candidates, rows_as_of
from memories.retrieval.fetch import Fetched
from memories.retrieval.plan import QueryPlan
from memories.retrieval.query import Config
from memories.retrieval.retrieve import Retrieval, Stopwatch, rank_candidates, retrieve
from memories.retrieval.scope import CandidateScope
from memories.retrieval.trace import query_from_trace
from memories.retrieval.trace_codec import decode_signals, unpack_arrays, unpack_fingerprints
from scoring.signals import LEVELS, TYPES, Signals
from scoring.systems import SYSTEMS
from scoring.systems.system import System


@dataclass(frozen=True, eq=False)
class Replay:
    """A retrieval from a trace, or a live one and why; and the memories that are not what they were."""

    retrieval: Retrieval
    rerun_because: tuple[str, ...] = ()  # what could not be replayed
    changed: tuple[str, ...] = ()  # candidates whose vectors are others now, or that are gone


def replay(trace: Trace, config: Config) -> Replay:
    """Rank a trace's candidates under a setting; what decides about the candidates themselves is asked live."""
    if live := params_needing_rerun(trace, config):
        return Replay(retrieve(query_from_trace(trace, config)), live)
    watch = Stopwatch()
    batch, changed = load_trace_candidates(trace)
    watch.lap("load")
    late = {one["retriever"]: one["reason"] for one in trace.answer.get("late", ())}
    understood = {name: value for name, value in trace.answer.get("plan", {}).items() if name in PARSED_FIELDS}
    retrieval = replace(
        rank_trace(trace, batch, config, watch), fetched=Fetched(timed_out=late), parsed_in_trace=understood
    )
    return Replay(retrieval, changed=changed)


def rank_trace(trace: Trace, candidates: Candidates, config: Config, watch: Stopwatch) -> Retrieval:
    """The candidates of a trace, ranked under a setting that has the same ones."""
    query, planning = query_from_trace(trace, config), QueryPlan.from_dict(trace.plan)
    params = config.params_under(planning.plan)
    ranking = rank_candidates(query, candidates.signals, params, planning.plan)
    watch.lap("rank")
    return Retrieval(query, None, planning, params, Fetched(), candidates, ranking, watch.took_ms)


def params_needing_rerun(trace: Trace, config: Config) -> tuple[str, ...]:
    """What differs from the trace and decides which candidates there are: another system, or a parameter."""
    if config.system.name != trace.system:
        return ("system",)
    before, now = (all_params(config.system, given) for given in (trace.params, config.given))
    declared = config.system.params.declarations()
    return tuple(name for name, one in declared.items() if one.scope == "candidates" and before[name] != now[name])


def all_params(system: System, given: Mapping[str, object]) -> Mapping[str, object]:
    """All parameters, those that were given and the defaults of the others."""
    return system.params.of(dict(given)).as_dict()


def load_trace_candidates(trace: Trace) -> tuple[Candidates, tuple[str, ...]]:
    """The candidates of a trace: signals from the trace, texts and vectors from where they are kept.

    Of one that was forgotten since, or is not kept any more, only the numbers are left.
    """
    arrays, head = unpack_arrays(bytes(trace.signals))
    ids, marks, query = list(trace.candidates), unpack_fingerprints(arrays), query_from_trace(trace)
    tables = CandidateTables(query, head["embedder"], id_array(ids))
    reads = "vectors" in SYSTEMS[trace.system].optional_features
    found = tables.fetch(STATEMENTS_FOR_ALL | ({"vectors": VECTORS} if reads else {}))
    today = memory_rows(found["memories"])
    forgotten = [status == Status.FORGOTTEN for status in today.column("status")]
    of_then = rows_as_of(tables, CandidateScope.for_query(query), today)
    known = {row["id"]: row for row, gone in zip(of_then, forgotten, strict=True) if not gone}
    vectors, now = load_candidate_vectors(tables, found["vectors"]) if reads and ids else (None, marks)
    changed = tuple(
        str(id) for id, then, today in zip(ids, marks, now, strict=True) if then != today or id not in known
    )
    signals = decode_signals(format_ids(tables.id_array), arrays, head, vectors)
    gone = {"content": "", "status": Status.FORGOTTEN}
    rows = [
        {**known.get(id, gone), "id": id, **result_fields_from_signals(signals, place)} for place, id in enumerate(ids)
    ]
    return Candidates(tables.id_array, rows, signals, marks, found["contradictions"]), changed


def result_fields_from_signals(signals: Signals, place: int) -> dict[str, Any]:
    """What an answer shows of a candidate and its trace has kept."""
    return {
        "type": TYPES[signals.type[place]],
        "level": LEVELS[signals.level[place]],
        "confidence": float(signals.confidence[place]),
    }
