"""A trace ranked again: the same candidates under other parameters, exactly as a live retrieval would rank them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memories.id_arrays import array_of, written
from memories.models import Trace
from memories.models.choices import Status
from memories.retrieval.answer import UNDERSTOOD
from memories.retrieval.asking import Found
from memories.retrieval.candidates import Candidates, then
from memories.retrieval.facts import FOR_ALL, VECTORS, Facts, rows_of
from memories.retrieval.packing import marks_of, signals_of, unpacked
from memories.retrieval.planning import Planning
from memories.retrieval.query import Setting
from memories.retrieval.retrieve import Retrieval, Stopwatch, ranking_of, retrieve
from memories.retrieval.scope import Scope
from memories.retrieval.tracing import query_of
from memories.retrieval.vectors import vectors_of
from scoring.signals import LEVELS, TYPES, Signals
from scoring.systems import SYSTEMS
from scoring.systems.system import System


@dataclass(frozen=True, eq=False)
class Replay:
    """A retrieval from a trace, or a live one and why; and the memories that are not what they were."""

    retrieval: Retrieval
    live: tuple[str, ...] = ()  # what could not be replayed
    changed: tuple[str, ...] = ()  # candidates whose vectors are others now, or that are gone


def replay(trace: Trace, setting: Setting) -> Replay:
    """Rank a trace's candidates under a setting; what decides about the candidates themselves is asked live."""
    if live := asks_again(trace, setting):
        return Replay(retrieve(query_of(trace, setting)), live)
    watch = Stopwatch()
    batch, changed = stored(trace)
    watch.lap("load")
    late = {one["retriever"]: one["reason"] for one in trace.answer.get("late", ())}
    understood = {name: value for name, value in trace.answer.get("plan", {}).items() if name in UNDERSTOOD}
    retrieval = replace(ranked(trace, batch, setting, watch), found=Found(late=late), understood=understood)
    return Replay(retrieval, changed=changed)


def ranked(trace: Trace, batch: Candidates, setting: Setting, watch: Stopwatch) -> Retrieval:
    """The candidates of a trace, ranked under a setting that has the same ones."""
    query, planning = query_of(trace, setting), Planning.of(trace.plan)
    params = setting.under(planning.plan)
    ranking = ranking_of(query, batch.signals, params, planning.plan)
    watch.lap("rank")
    return Retrieval(query, None, planning, params, Found(), batch, ranking, watch.took_ms)


def asks_again(trace: Trace, setting: Setting) -> tuple[str, ...]:
    """What differs from the trace and decides which candidates there are: another system, or a parameter."""
    if setting.system.name != trace.system:
        return ("system",)
    before, now = (whole(setting.system, given) for given in (trace.params, setting.given))
    declared = setting.system.params.declared()
    return tuple(name for name, one in declared.items() if one.scope == "candidates" and before[name] != now[name])


def whole(system: System, given: Mapping[str, object]) -> Mapping[str, object]:
    """All parameters, those that were given and the defaults of the others."""
    return system.params.of(dict(given)).as_dict()


def stored(trace: Trace) -> tuple[Candidates, tuple[str, ...]]:
    """The candidates of a trace: signals from the trace, texts and vectors from where they are kept.

    Of one that was forgotten since, or is not kept any more, only the numbers are left.
    """
    arrays, head = unpacked(bytes(trace.signals))
    ids, marks, query = list(trace.candidates), marks_of(arrays), query_of(trace)
    facts = Facts(query, head["embedder"], array_of(ids))
    reads = "vectors" in SYSTEMS[trace.system].reads
    found = facts.ask(FOR_ALL | ({"vectors": VECTORS} if reads else {}))
    today = rows_of(found["memories"])
    forgotten = [status == Status.FORGOTTEN for status in today.column("status")]
    of_then = then(facts, Scope.of(query), today)
    known = {row["id"]: row for row, gone in zip(of_then, forgotten, strict=True) if not gone}
    vectors, now = vectors_of(facts, found["vectors"]) if reads and ids else (None, marks)
    changed = tuple(
        str(id) for id, then, today in zip(ids, marks, now, strict=True) if then != today or id not in known
    )
    signals = signals_of(written(facts.keys), arrays, head, vectors)
    gone = {"content": "", "status": Status.FORGOTTEN}
    rows = [{**known.get(id, gone), "id": id, **shown(signals, place)} for place, id in enumerate(ids)]
    return Candidates(facts.keys, rows, signals, marks, found["contradictions"]), changed


def shown(signals: Signals, place: int) -> dict[str, Any]:
    """What an answer shows of a candidate and its trace has kept."""
    return {
        "type": TYPES[signals.type[place]],
        "level": LEVELS[signals.level[place]],
        "confidence": float(signals.confidence[place]),
    }
