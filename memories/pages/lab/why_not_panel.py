"""The why-not panel: what kept a memory out of the answer, and the smallest parameter change that brings it in."""

from functools import reduce
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from memories.contracts.json_values import storage_error
from memories.contracts.number_format import format_value
from memories.contracts.text_limits import MAX_QUERY_CHARS
from memories.contracts.why_not import WhyNot
from memories.models import Memory
from memories.models.choices import Status
from memories.pages import sliders
from memories.pages.retriever_styles import retriever_style
from memories.retrieval.answer import failed_gates
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.replay import Replay
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.why_not import ordinal, why_not_in_trace
from scoring.params import Number, Params

if TYPE_CHECKING:
    from memories.pages.lab.views import LabState

MAX_NEAR_MISSES = 5  # memories that just missed
MAX_SEARCH_RESULTS = 8  # memories that a search offers
# The panel's own search: all retrievers, no confidence gate.
SEARCH_CONFIG = {"system": "recall", "params": {"confidence_gate": False}}


def why_not_context(state: "LabState", replayed: Replay) -> dict[str, Any]:
    """Near misses, search results, and the explanation of the selected memory if one is named."""
    retrieval = replayed.retrieval
    text = state.data.get("find", "").strip()
    context: dict[str, Any] = {
        "find": text,
        "near": [memory_choice(state, row, retrieval) for row in near_misses(retrieval)],
    }
    if problem := storage_error(text) or (
        len(text) > MAX_QUERY_CHARS and f"must have at most {MAX_QUERY_CHARS} characters"
    ):
        return context | {"missing_problem": problem}
    context["found"] = search_missing_memory(state, text) if text else []
    memory_id = state.data.get("missing", "")
    if not memory_id:
        return context
    memory = find_memory(state, memory_id)
    if memory is None:
        return context | {"missing_problem": f"The memory must be the id of one of this namespace; got {memory_id}"}
    explained = why_not_in_trace(state.trace, replayed, memory)
    why_not = explained.why_not
    change = why_not.change
    # Reranking the traced candidates cannot bring in a memory that was not among them: link to a new query.
    new_query: dict[str, Any] = {"trace": "", "find": ""} if explained.live and not replayed.rerun_because else {}
    fix = None
    if change is not None:
        params = state.start.system.params
        declared, given = params.declarations()[change.param], params.as_requested({change.param: change.after})
        fix = {
            "label": sliders.param_label(declared),
            "group": declared.group,
            "before": change.before,
            "after": change.after,
            "unit": declared.unit if isinstance(declared, Number) else "",
            "percent": 100 * change.fraction,
            "rank": change.rank,
            "link": state.query_string({**state.changed, **given}, **new_query),
        }
    return context | {
        "memory": memory,
        "why_not": why_not,
        "reason": why_not_sentence(why_not, state.start.system.params),
        "gates": [gate.replace("_", " ") for gate in why_not.gates],
        "fix": fix,
        "ranked_lists": [
            {"style": retriever_style(name), "passed": bool(entry.rank and not entry.why), "entry": entry}
            for name, entry in why_not.retrievers.items()
        ],
        "score_compared": why_not.score is not None and why_not.needed is not None,
        "live_reason": explained.live,
        "new_query_link": state.query_string(**new_query) if new_query and why_not.rank else "",
    }


def why_not_sentence(why_not: WhyNot, params: type[Params]) -> str:
    """The reason in one sentence, with gates and parameter under the page's labels."""
    reason = reduce(lambda text, gate: text.replace(gate, gate.replace("_", " ")), why_not.gates, why_not.reason)
    if (change := why_not.change) is None:
        return reason
    before, _, _ = reason.rpartition(f"{change.param} ")
    label = sliders.param_label(params.declarations()[change.param])
    values = f"{format_value(change.after)} instead of {format_value(change.before)}"
    return f"{before}{label}: {values} brings it in, {ordinal(change.rank)}."


def near_misses(retrieval: Retrieval) -> list[int]:
    """Rows of the best candidates that were not returned."""
    ranking, signals = retrieval.ranking, retrieval.signals
    returned = set() if ranking.abstained else set(ranking.order.rows.tolist())
    order = np.lexsort((signals.id_ranks, -ranking.score.value)).tolist()
    return [row for row in order if row not in returned][:MAX_NEAR_MISSES]


def memory_choice(state: "LabState", row: int, retrieval: Retrieval) -> dict[str, Any]:
    """A memory to select in the panel, and the gates that filtered it."""
    candidate = retrieval.candidates.rows[row]
    return {
        "content": candidate["content"],
        "score": float(retrieval.ranking.score.value[row]),
        "filtered_by": [gate.replace("_", " ") for gate in failed_gates(retrieval, row)],
        "link": state.query_string(missing=candidate["id"], find=""),
    }


def search_missing_memory(state: "LabState", text: str) -> list[dict[str, Any]]:
    """Memories that match the text, by all retrievers."""
    namespace = state.trace.namespace
    config = resolve_config(namespace, **SEARCH_CONFIG)  # type: ignore[arg-type]
    retrieval = retrieve(Query(namespace=namespace, text=text, config=config, top_k=MAX_SEARCH_RESULTS))
    return [memory_choice(state, row, retrieval) for row in retrieval.ranking.order.rows.tolist()]


def find_memory(state: "LabState", memory_id: str) -> Memory | None:
    """The memory with this id, if it is in the namespace and not forgotten."""
    try:
        id = UUID(memory_id)
    except ValueError:
        return None
    return Memory.objects.within(state.trace.namespace).filter(id=id).exclude(status=Status.FORGOTTEN).first()
