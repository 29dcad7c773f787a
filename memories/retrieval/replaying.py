"""A trace ranked again: the same candidates under other parameters, exactly as a live retrieval would rank them."""

from collections.abc import Mapping
from dataclasses import dataclass

from memories.models import Trace
from memories.retrieval.asking import Found
from memories.retrieval.candidates import Candidates
from memories.retrieval.facts import COLUMNS, MEMORIES, VECTORS, Facts
from memories.retrieval.packing import marks_of, signals_of, unpacked
from memories.retrieval.planning import Planning
from memories.retrieval.query import Setting
from memories.retrieval.retrieve import Retrieval, Stopwatch, ranking_of, retrieve
from memories.retrieval.tracing import query_of
from memories.retrieval.vectors import vectors_of
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
    return Replay(ranked(trace, batch, setting, watch), changed=changed)


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
    """The candidates of a trace: signals from the trace, texts and vectors from where they are kept."""
    arrays, head = unpacked(bytes(trace.signals))
    ids, marks = list(trace.candidates), marks_of(arrays)
    facts = Facts.of(query_of(trace), head["embedder"], ids)
    found = facts.ask({"memories": MEMORIES, "vectors": VECTORS})
    known = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in found["memories"]}
    vectors, now = vectors_of(facts, found["vectors"])
    changed = tuple(
        str(id) for id, then, today in zip(ids, marks, now, strict=True) if then != today or id not in known
    )
    signals = signals_of(facts.names, arrays, head, vectors if ids else None)
    rows = [known.get(id) or dict.fromkeys(COLUMNS) | {"id": id, "content": ""} for id in ids]
    return Candidates(rows, signals, marks), changed
