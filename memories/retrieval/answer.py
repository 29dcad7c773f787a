"""A retrieval as it is told: results with their reasons, what was held back, and why where nothing came back."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal
from uuid import UUID

import numpy as np

from memories.models.choices import Status
from memories.retrieval.conflicts import find_conflicts
from memories.retrieval.prompt_context import empty_context_reason, fit_budget, group_by_type
from memories.retrieval.retrieve import Retrieval
from scoring.signals import Signals
from scoring.term import Codes, Term, Tree

Explain = Literal["none", "parts", "full"]
NEAREST = 3  # misses that an answer shows where it abstains
RESULT_FIELDS = ("id", "type", "level", "content", "confidence")
PARSED_FIELDS = ("entities", "window", "embedded")
AS_OF_NOTE = (
    "word statistics, clusters, vectors, tags, names, whom a memory is about or mentions, and what the asker uses most "
    "are today's, all else is of then"
)


def answer_to_dict(
    retrieval: Retrieval, *, explain: Explain = "parts", token_budget: int | None = None
) -> dict[str, Any]:
    """The answer as the API gives it."""
    query, ranking, setting = retrieval.query, retrieval.ranking, retrieval.query.config
    order = ranking.order.rows[:0] if ranking.abstained else ranking.order.rows
    stored = [retrieval.candidates.rows[row] for row in order.tolist()]
    results = results_to_dicts(retrieval, order, stored, explain)
    against, outdated = find_conflicts(query, [row["id"] for row in stored], retrieval.candidates.contradictions)
    for one, row in zip(results, stored, strict=True):
        if others := against.get(one["id"]):
            one["conflicts_with"] = others
        one["outdated"] = one["id"] in outdated
        if row["status"] == Status.FORGOTTEN:
            one["gone"] = True
    current = [one for one in results if not (one["outdated"] or "gone" in one)]
    handed = fit_budget(current, token_budget)
    abstained = not results
    why = (
        abstention_reason(retrieval)
        if abstained
        else ""
        if handed
        else empty_context_reason(len(results), current, token_budget)
    )
    return {
        "profile": {"name": setting.profile or None, "version": setting.version, "system": setting.system.name},
        "plan": plan_to_dict(retrieval),
        "results": results,
        "context": group_by_type(handed),
        "filtered": {gate: held for gate, kept in ranking.gates.items() if (held := int((~kept).sum()))},
        "late": [{"retriever": route, "reason": reason} for route, reason in retrieval.fetched.timed_out.items()],
        "tiebreak_applied": ranking.order.tiebreak_applied,
        "abstained": abstained,
        "chance": ranking.answer_probability,
        "reason": why,
        "nearest": nearest_misses(retrieval) if abstained else [],
        "as_of": query.as_of,
        "note": AS_OF_NOTE if query.as_of else "",
        "took_ms": {step: round(took, 3) for step, took in retrieval.took_ms.items()},
    }


def plan_to_dict(retrieval: Retrieval) -> dict[str, Any]:
    """The plan, the names and the time that were understood, and the parameters that came of it."""
    planning, reading = retrieval.query_plan, retrieval.parsed
    understood = dict(retrieval.parsed_in_trace)
    if reading is not None:
        understood = {
            "entities": [
                {"id": one.entity_id, "surface": one.surface, "confidence": one.confidence} for one in reading.entities
            ],
            "window": None
            if reading.window is None
            else {
                "start": reading.window.interval.start,
                "until": reading.window.interval.until,
                "cue": reading.window.cue,
            },
            "embedded": reading.embedded_text,
        }
    return {
        "name": planning.plan.name,
        "retrievers": list(planning.plan.retrievers),
        "specificity": planning.specificity,
        "reranker": planning.reranker or None,
        "params": retrieval.params.as_dict(),
        **understood,
    }


def results_to_dicts(
    retrieval: Retrieval, order: Codes, rows: Sequence[Mapping[str, Any]], explain: Explain
) -> list[dict[str, Any]]:
    """The memories that came back, and why each stands where it does."""
    system, signals, score = retrieval.query.config.system, retrieval.signals, retrieval.ranking.score
    terms = score.terms_by_name()
    outputs = {name: term_column(terms.get(term), order) for name, term in system.outputs.items()}
    shares = {route: term_column(terms.get(system.retriever_terms.get(route, "")), order) for route in signals.ranks}
    retrievers = retriever_hits(signals, order, shares)
    ages, scores = signals.age_days[order].tolist(), score.value[order].tolist()
    explained = result_explanations(score, order, explain)
    results = []
    for place, row in enumerate(order.tolist()):
        one: dict[str, Any] = {
            **{name: rows[place][name] for name in RESULT_FIELDS},
            "age_days": ages[place],
            "rank": place + 1,
            "score": scores[place],
            "retrievers": retrievers[place],
            **{name: values[place] for name, values in outputs.items()},
            **system.details(signals, retrieval.params, row),
        }
        if explained:
            one["explanation"] = explained[place]
        if picks := retrieval.ranking.order.picks:
            pick = picks[place]
            one["selection"] = {
                "step": place + 1,
                "relevance": pick.relevance,
                "redundancy": pick.redundancy,
                "nearest": None if pick.nearest is None else retrieval.candidates.rows[pick.nearest]["id"],
            }
        results.append(one)
    return results


def term_column(term: Term | None, rows: Codes) -> list[float | None]:
    """The values of a term for some candidates; none where the score has no such term."""
    if term is None:
        return [None] * len(rows)
    return [float(term.value)] * len(rows) if term.value.ndim == 0 else term.value[rows].tolist()


def result_explanations(score: Term, rows: Codes, explain: Explain) -> list[Tree]:
    """How each score came about: all of it, its parts alone, or nothing."""
    if explain == "none":
        return []
    if explain == "full":
        return score.trees(rows)
    flat = score.shallow().trees(rows)
    return [
        {**tree, "parts": [{"name": part["name"], "value": part["value"]} for part in tree["parts"]]} for tree in flat
    ]


def retriever_hits(
    signals: Signals, rows: Codes | Sequence[int], shares: Mapping[str, Sequence[float | None]] | None = None
) -> list[dict[str, dict[str, float | None]]]:
    """Who found each of some memories: its place in each list, the list's own score, and what that brought it."""
    found: list[dict[str, dict[str, float | None]]] = [{} for _ in rows]
    nothing, matched = [None] * len(rows), signals.maxsim[rows].tolist()
    for route, ranks in signals.ranks.items():
        told = (ranks[rows].tolist(), signals.raw_scores(route)[rows].tolist(), shares[route] if shares else nothing)
        for one, rank, raw, share, word_by_word in zip(found, *told, matched, strict=True):
            if isfinite(rank):
                score = raw if isfinite(raw) else word_by_word
                one[route] = {"rank": int(rank), "score": score, "contribution": share}
    return found


def failed_gates(retrieval: Retrieval, row: int) -> list[str]:
    """The gates that hold a candidate back."""
    return [gate for gate, kept in retrieval.ranking.gates.items() if not kept[row]]


def abstention_reason(retrieval: Retrieval) -> str:
    """Why nothing came back."""
    count, ranking = len(retrieval.candidates), retrieval.ranking
    if not count:
        silent = f" ({', '.join(retrieval.fetched.timed_out)} did not answer)" if retrieval.fetched.timed_out else ""
        return f"No retriever found anything{silent}."
    if not len(ranking.order.rows):
        held = ", ".join(f"{int((~kept).sum())} {gate}" for gate, kept in ranking.gates.items() if not kept.all())
        return f"All {count} candidates were held back: {held}."
    least = getattr(retrieval.params, "abstain_below", 0.0)
    chance, bound = format_distinct(ranking.answer_probability, least)
    return f"The best of {count} candidates answers this with a chance of {chance}, below {bound}."


def format_distinct(low: float, high: float) -> tuple[str, str]:
    """Two numbers with as many decimals as tell them apart, two at the least.

    >>> format_distinct(0.5, 0.69), format_distinct(0.6899, 0.69)
    (('0.50', '0.69'), ('0.6899', '0.6900'))
    """
    written = ((f"{low:.{digits}f}", f"{high:.{digits}f}") for digits in range(2, 18))
    return next((pair for pair in written if pair[0] != pair[1]), (f"{low}", f"{high}"))


def nearest_misses(retrieval: Retrieval) -> list[dict[str, Any]]:
    """The best candidates that did not come back, and what held each of them."""
    ranking, signals = retrieval.ranking, retrieval.signals
    best = np.lexsort((signals.id_ranks, -ranking.score.value))[:NEAREST].tolist()
    return [
        {
            **{name: retrieval.candidates.rows[row][name] for name in RESULT_FIELDS},
            "age_days": float(signals.age_days[row]),
            "score": float(ranking.score.value[row]),
            "held_by": failed_gates(retrieval, row) or ["abstention"],
        }
        for row in best
    ]


def result_ids(results: Sequence[Mapping[str, Any]]) -> list[UUID]:
    """The memories that came back."""
    return [one["id"] for one in results]
