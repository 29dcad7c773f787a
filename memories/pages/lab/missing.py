"""Why not? For a memory that did not come back: what stopped it, and the smallest change that brings it in."""

from functools import reduce
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from memories.api.retrieval import LONGEST_QUERY
from memories.api.storable import flaw
from memories.models import Memory
from memories.models.choices import Status
from memories.pages import sliders
from memories.pages.lab.routes import look
from memories.retrieval.answer import stopped_by
from memories.retrieval.missed_then import missed_then
from memories.retrieval.query import Query
from memories.retrieval.replaying import Replay
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.settings import setting
from memories.retrieval.why_not import WhyNot, ordinal
from memories.templatetags.numbers import worded
from scoring.params import Number, Params

if TYPE_CHECKING:
    from memories.pages.lab.page import State

NEAR = 5  # memories that just missed
FOUND = 8  # memories that a search offers
# By what memories are looked for: all lists, and no one held back.
SEARCH = {"system": "recall", "params": {"confidence_gate": False}}


def shown(state: "State", done: Replay) -> dict[str, Any]:
    """What just missed; what a search finds; and, where a memory is named, what stopped it."""
    retrieval = done.retrieval
    words = state.sent.get("find", "").strip()
    context: dict[str, Any] = {
        "find": words,
        "near": [offered(state, row, retrieval) for row in missed(retrieval)],
    }
    if wrong := flaw(words) or (len(words) > LONGEST_QUERY and f"must have at most {LONGEST_QUERY} characters"):
        return context | {"missing_problem": wrong}
    context["found"] = search(state, words) if words else []
    named = state.sent.get("missing", "")
    if not named:
        return context
    memory = memory_of(state, named)
    if memory is None:
        return context | {"missing_problem": f"The memory must be the id of one of this namespace; got {named}"}
    told_then = missed_then(state.trace, done, memory)
    asked = told_then.why_not
    change = asked.change
    # What was no candidate then is brought in by no ranking of those that were: the question is asked again.
    anew: dict[str, Any] = {"trace": "", "find": ""} if told_then.live and not done.live else {}
    fix = None
    if change is not None:
        declared = state.start.system.params.declared()[change.param]
        fix = {
            "label": sliders.called(declared),
            "group": declared.group,
            "before": change.before,
            "after": change.after,
            "unit": declared.unit if isinstance(declared, Number) else "",
            "percent": 100 * change.fraction,
            "rank": change.rank,
            "link": state.link({**state.changed, change.param: change.after}, **anew),
        }
    lists = [{"look": look(route), **listed} for route, listed in asked.retrievers.items()]
    gates = [gate.replace("_", " ") for gate in asked.gates]
    told = {"reason": in_words(asked, state.start.system.params), "gates": gates, "fix": fix, "places": lists}
    told |= {"asked_live": told_then.live, "ask_again": state.link(**anew) if anew and asked.rank else ""}
    return context | {"memory": memory, "why_not": asked, **told}


def in_words(asked: WhyNot, params: type[Params]) -> str:
    """The answer in a sentence, with gates and a parameter called as the page calls them."""
    said = reduce(lambda text, gate: text.replace(gate, gate.replace("_", " ")), asked.gates, asked.reason)
    if (change := asked.change) is None:
        return said
    before, _, _ = said.rpartition(f"{change.param} ")
    label = sliders.called(params.declared()[change.param])
    moved = f"{worded(change.after)} instead of {worded(change.before)}"
    return f"{before}{label}: {moved} brings it in, {ordinal(change.rank)}."


def missed(retrieval: Retrieval) -> list[int]:
    """The best candidates that did not come back."""
    ranking, signals = retrieval.ranking, retrieval.signals
    back = set() if ranking.abstained else set(ranking.order.rows.tolist())
    order = np.lexsort((signals.by_id, -ranking.score.value)).tolist()
    return [row for row in order if row not in back][:NEAR]


def offered(state: "State", row: int, retrieval: Retrieval) -> dict[str, Any]:
    """A memory that can be asked about, and what held it back."""
    stored = retrieval.batch.rows[row]
    return {
        "content": stored["content"],
        "score": float(retrieval.ranking.score.value[row]),
        "held": [gate.replace("_", " ") for gate in stopped_by(retrieval, row)],
        "link": state.link(missing=stored["id"], find=""),
    }


def search(state: "State", words: str) -> list[dict[str, Any]]:
    """Memories like these words, by all lists."""
    namespace = state.trace.namespace
    by = setting(namespace, **SEARCH)  # type: ignore[arg-type]
    found = retrieve(Query(namespace=namespace, text=words, setting=by, top_k=FOUND))
    return [offered(state, row, found) for row in found.ranking.order.rows.tolist()]


def memory_of(state: "State", named: str) -> Memory | None:
    """The memory that an address names, if it is here and not forgotten."""
    try:
        id = UUID(named)
    except ValueError:
        return None
    return Memory.objects.within(state.trace.namespace).filter(id=id).exclude(status=Status.FORGOTTEN).first()
