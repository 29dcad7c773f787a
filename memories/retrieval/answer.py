"""The answer of a retrieval: results with their explanations, what was filtered, and why nothing was returned."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal, cast
from uuid import UUID

import numpy as np

from memories.contracts.answer import (
    Answer,
    AnswerProfile,
    EntityReport,
    Explanation,
    MmrSelection,
    NearestMiss,
    ParsedReport,
    PlanReport,
    Result,
    RetrieverHit,
    SystemDetails,
    TimedOut,
    TimeWindowReport,
    WeightingReport,
)
from memories.models.choices import Status
from memories.retrieval.conflicts import find_conflicts
from memories.retrieval.inert import inert_reasons
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.prompt_context import (
    doubt_line,
    empty_context_reason,
    estimate_tokens,
    fit_budget,
    group_by_type,
    users_differ,
)
from memories.retrieval.retrieve import Retrieval
from scoring.params import BY_QUERY
from scoring.signals import Signals
from scoring.systems.system import abstention_threshold
from scoring.term import Codes, Term

Explain = Literal["none", "parts", "full"]
NEAREST_MISSES = 3  # in an answer that abstains
MEMORY_FIELDS = ("id", "type", "level", "content", "user", "confidence")
AS_OF_NOTE = (
    "term statistics, clusters, vectors, tags, names, subjects, mentions, and what the user accesses most are today's; "
    "all else is as of then"
)


def build_answer(
    retrieval: Retrieval, *, explain: Explain = "parts", token_budget: int | None = None, trace: UUID | None = None
) -> Answer:
    """The answer of a retrieval; `trace` is the id its trace will have."""
    query, ranking, config = retrieval.query, retrieval.ranking, retrieval.query.config
    results = build_results(retrieval, explain)
    current = [result for result in results if result.current]
    abstained = not results
    nearest = nearest_misses(retrieval) if abstained else []
    several = users_differ([*(result.user for result in current), *(miss.user for miss in nearest)], query.user)
    reserved = estimate_tokens(doubt_line(ranking.answer_probability)) if ranking.low_confidence else 0
    context = fit_budget(current, token_budget, reserved=reserved, name_users=several)
    reason = ""
    if abstained:
        reason = abstention_reason(retrieval)
    elif not context:
        reason = empty_context_reason(len(results), current, token_budget, reserved, name_users=several)
    elif ranking.low_confidence:
        reason = f"{low_probability(retrieval)} It is flagged, not withheld, as the query asks."
    filtered = {gate: int((~passed).sum()) for gate, passed in ranking.gates.items()}
    return Answer(
        trace=trace,
        profile=AnswerProfile(config.profile or None, config.version, config.system.name, config.preset or None),
        plan=report_plan(retrieval),
        results=results,
        context=group_by_type(context),
        users_differ=several,
        filtered={gate: count for gate, count in filtered.items() if count},
        timed_out=[TimedOut(retriever, why) for retriever, why in retrieval.fetched.timed_out.items()],
        tiebreak_applied=ranking.order.tiebreak_applied,
        abstained=abstained,
        answer_probability=ranking.answer_probability,
        low_confidence=ranking.low_confidence,
        reason=reason,
        nearest=nearest,
        as_of=query.as_of,
        note=AS_OF_NOTE if query.as_of else "",
        took_ms={step: round(took, 3) for step, took in retrieval.took_ms.items()},
    )


def report_plan(retrieval: Retrieval) -> PlanReport:
    """The plan, what was recognised in the query, and the parameters under the plan."""
    query_plan = retrieval.query_plan
    parsed = retrieval.parsed_in_trace if retrieval.parsed is None else report_parsed(retrieval.parsed)
    return PlanReport(
        name=query_plan.plan.name,
        retrievers=list(retrieval.active_retrievers),
        specificity=cast(Explanation | None, query_plan.specificity),
        reranker=query_plan.reranker or None,
        params=retrieval.params.as_dict(),
        entities=parsed.entities,
        window=parsed.window,
        embedded=parsed.embedded,
        intent_words=parsed.intent_words,
        emphasis_words=parsed.emphasis_words,
        weighting=report_weighting(retrieval, parsed),
        inert=inert_reasons(retrieval.query.config, retrieval.params, retrieval.signals, query_plan.plan),
    )


def report_weighting(retrieval: Retrieval, parsed: ParsedReport) -> WeightingReport | None:
    """Recency intent and weight profile with their reasons, for a system that adapts its weights to the query."""
    system, given = retrieval.query.config.system, retrieval.query.config.given
    if system.weighting is None:
        return None
    weighting = system.weighting(retrieval.signals, retrieval.params)
    intent_reason = because_of(parsed.intent_words, "no word asks for now or for background")
    if given.get("intent", BY_QUERY) != BY_QUERY:
        intent_reason = "set by the parameter intent"
    emphasis_reason = because_of(parsed.emphasis_words, "no word asks for facts, news or an analysis")
    if given.get("emphasis", BY_QUERY) != BY_QUERY:
        emphasis_reason = "set by the parameter emphasis"
    elif "emphasis" in system.params.implications(given):
        emphasis_reason = "weights are given, so the query does not adapt them"
    if weighting.raised:
        emphasis_reason += f"; it raises the {weighting.raised} weight"
    return WeightingReport(
        intent=weighting.intent,
        half_life_hours=weighting.half_life_hours,
        emphasis=weighting.emphasis,
        intent_reason=intent_reason,
        emphasis_reason=emphasis_reason,
        weights=weighting.weights,
    )


def because_of(words: Sequence[str], otherwise: str) -> str:
    """The words that decided, or why nothing did."""
    return f"because of {', '.join(f'“{word}”' for word in words)}" if words else otherwise


def report_parsed(parsed: ParsedQuery) -> ParsedReport:
    """Entities, time window, embedded text and deciding words of a query."""
    window = parsed.window
    return ParsedReport(
        entities=[EntityReport(match.entity_id, match.surface, match.confidence) for match in parsed.entities],
        window=None if window is None else TimeWindowReport(window.interval.start, window.interval.until, window.cue),
        embedded=parsed.embedded_text,
        intent_words=parsed.intent.words,
        emphasis_words=parsed.emphasis.words,
    )


def build_results(retrieval: Retrieval, explain: Explain) -> list[Result]:
    """The returned memories in order, each with what explains its rank."""
    ranking, signals, system = retrieval.ranking, retrieval.signals, retrieval.query.config.system
    order = ranking.order.rows[:0] if ranking.abstained else ranking.order.rows
    memories = [retrieval.candidates.rows[row] for row in order.tolist()]
    conflicts, outdated = find_conflicts(
        retrieval.query, [memory["id"] for memory in memories], retrieval.candidates.contradictions
    )
    terms = ranking.score.terms_by_name()
    outputs = {name: term_column(terms.get(term), order) for name, term in system.outputs.items()}
    contributions = {
        retriever: term_column(terms.get(system.retriever_terms.get(retriever, "")), order)
        for retriever in signals.ranks
    }
    hits = retriever_hits(signals, order, contributions)
    ages, scores = signals.age_days[order].tolist(), ranking.score.value[order].tolist()
    explanations = result_explanations(ranking.score, order, explain)
    selections = result_selections(retrieval)
    return [
        Result(
            id=memory["id"],
            type=memory["type"],
            level=memory["level"],
            content=memory["content"],
            user=memory["user"],
            confidence=memory["confidence"],
            age_days=ages[index],
            rank=index + 1,
            score=scores[index],
            retrievers=hits[index],
            outputs={name: column[index] for name, column in outputs.items()},
            details=cast(SystemDetails, system.details(signals, retrieval.params, ranking.order, row)),
            outdated=memory["id"] in outdated,
            conflicts_with=conflicts.get(memory["id"], ()),
            gone=memory["status"] == Status.FORGOTTEN,
            explanation=explanations[index] if explanations else None,
            selection=selections[index] if index < len(selections) else None,
        )
        for index, (row, memory) in enumerate(zip(order.tolist(), memories, strict=True))
    ]


def result_selections(retrieval: Retrieval) -> list[MmrSelection]:
    """How MMR selected the results, which come before the neighbours they brought; empty if it did not."""
    rows = retrieval.candidates.rows
    return [
        MmrSelection(step, pick.relevance, pick.redundancy, None if pick.nearest is None else rows[pick.nearest]["id"])
        for step, pick in enumerate(retrieval.ranking.order.picks, start=1)
    ]


def term_column(term: Term | None, rows: Codes) -> list[float | None]:
    """A term's values for some candidates; None if the score has no such term."""
    if term is None:
        return [None] * len(rows)
    return [float(term.value)] * len(rows) if term.value.ndim == 0 else term.value[rows].tolist()


def result_explanations(score: Term, rows: Codes, explain: Explain) -> list[Explanation]:
    """The explanation of each score: the whole tree, its parts only, or none."""
    if explain == "none":
        return []
    if explain == "full":
        return cast(list[Explanation], score.trees(rows))
    trees = cast(list[Explanation], score.shallow().trees(rows))
    return [
        {**tree, "parts": [{"name": part["name"], "value": part["value"]} for part in tree["parts"]]} for tree in trees
    ]


def retriever_hits(
    signals: Signals, rows: Codes | Sequence[int], contributions: Mapping[str, Sequence[float | None]] | None = None
) -> list[dict[str, RetrieverHit]]:
    """The hits of some candidates by retriever: rank, raw score and contribution to the final score."""
    hits: list[dict[str, RetrieverHit]] = [{} for _ in rows]
    none, maxsim = [None] * len(rows), signals.maxsim[rows].tolist()
    for retriever, ranks in signals.ranks.items():
        raw_scores = signals.raw_scores(retriever)[rows].tolist()
        shares = contributions[retriever] if contributions else none
        for hit, rank, raw, share, similarity in zip(
            hits, ranks[rows].tolist(), raw_scores, shares, maxsim, strict=True
        ):
            if isfinite(rank):
                hit[retriever] = RetrieverHit(int(rank), raw if isfinite(raw) else similarity, share)
    return hits


def failed_gates(retrieval: Retrieval, row: int) -> list[str]:
    """The gates that filter a candidate."""
    return [gate for gate, passed in retrieval.ranking.gates.items() if not passed[row]]


def abstention_reason(retrieval: Retrieval) -> str:
    """Why nothing was returned."""
    count, ranking = len(retrieval.candidates), retrieval.ranking
    if not count:
        timed_out = ", ".join(retrieval.fetched.timed_out)
        return f"No retriever found anything{f' ({timed_out} timed out or failed)' if timed_out else ''}."
    if not len(ranking.order.rows):
        gates = ", ".join(
            f"{int((~passed).sum())} {gate}" for gate, passed in ranking.gates.items() if not passed.all()
        )
        return f"All {count} candidates were filtered: {gates}."
    return low_probability(retrieval)


def low_probability(retrieval: Retrieval) -> str:
    """The answer probability beside the threshold that it misses."""
    threshold = abstention_threshold(retrieval.params)
    probability, bound = format_distinct(retrieval.ranking.answer_probability, threshold)
    count = len(retrieval.candidates)
    return f"The best of {count} candidates answers this with a probability of {probability}, below {bound}."


def format_distinct(low: float, high: float) -> tuple[str, str]:
    """Format two numbers with as few decimals as tell them apart, at least two.

    >>> format_distinct(0.5, 0.69), format_distinct(0.6899, 0.69)
    (('0.50', '0.69'), ('0.6899', '0.6900'))
    """
    pairs = ((f"{low:.{digits}f}", f"{high:.{digits}f}") for digits in range(2, 18))
    return next((pair for pair in pairs if pair[0] != pair[1]), (f"{low}", f"{high}"))


def nearest_misses(retrieval: Retrieval) -> list[NearestMiss]:
    """The best candidates that were not returned, and the gates that filtered them."""
    ranking, signals = retrieval.ranking, retrieval.signals
    best = np.lexsort((signals.id_ranks, -ranking.score.value))[:NEAREST_MISSES].tolist()
    return [
        NearestMiss(
            **memory_fields(retrieval.candidates.rows[row]),
            age_days=float(signals.age_days[row]),
            score=float(ranking.score.value[row]),
            filtered_by=failed_gates(retrieval, row) or ["abstention"],
        )
        for row in best
    ]


def memory_fields(memory: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored memory that an answer shows."""
    return {name: memory[name] for name in MEMORY_FIELDS}
