"""Retriever ablation: the metric without each retriever, its unique finds, and how far the ranked lists overlap."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays, Stack
from memories.tuning.measurement import SIGNIFICANCE_LEVEL, Measurement, adjust_p_values, measure_config
from memories.tuning.objective import Gain, Objective, paired_gain
from scoring.signals import Signals
from scoring.stacking import select_candidates
from scoring.systems.recall import RERANK
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

OVERLAP_DEPTH = 10  # ranks compared between two lists


@dataclass(frozen=True)
class RetrieverAblation:
    """A system without one of its retrievers."""

    retriever: str
    queries: int  # in which it returned anything
    unique: int  # relevant candidates no other retriever found
    returned: int  # of those, in a result list
    mean: float  # of the metric without it
    gain: Gain  # of dropping it
    corrected: float = 1.0  # the gain's p-value, Holm-adjusted over the retrievers

    @property
    def significant(self) -> bool:
        """Whether dropping it changes the metric significantly."""
        return self.corrected < SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class AblationReport:
    """A system on a judgement set, and what each retriever contributes."""

    metric: str
    mean: float
    queries: int
    relevant: int  # found by any retriever
    retrievers: Sequence[RetrieverAblation]
    overlap: Sequence[Sequence[float | None]]  # of the top ten of two lists; None if never both non-empty


def ablate_retrievers(arrays: Arrays, config: Config, objective: Objective) -> AblationReport:
    """Drop one retriever after another."""
    baseline, retrievers = measure_config(arrays, config), arrays.system.retrievers
    return AblationReport(
        metric=objective.metric,
        mean=baseline.mean(objective.metric),
        queries=int(arrays.answerable.sum()),
        relevant=sum(int((stack.grades > 0).sum()) for stack in arrays.stacks),
        retrievers=adjust_ablation_p_values([ablate_retriever(baseline, name, objective) for name in retrievers]),
        overlap=list_overlaps(arrays),
    )


def adjust_ablation_p_values(ablations: Sequence[RetrieverAblation]) -> list[RetrieverAblation]:
    """Holm-adjust the p-values over the retrievers."""
    gains = [one.gain for one in ablations]
    p_values = adjust_p_values([one.p_value for one in gains], [one.won + one.lost for one in gains])
    return [replace(one, corrected=p_value) for one, p_value in zip(ablations, p_values, strict=True)]


def ablate_retriever(baseline: Measurement, retriever: str, objective: Objective) -> RetrieverAblation:
    """Compare the system without one retriever with the full system."""
    arrays = baseline.arrays
    reduced = measure_config(drop_retriever(arrays, retriever), baseline.config)
    unique = returned = queries = 0
    for stack in arrays.stacks:
        listed = np.isfinite(stack.signals.rank(retriever))
        queries += int(stack.signals.batches.any(listed).sum())
        unique_relevant = listed & ~found_by_others(arrays.system, stack.signals, retriever) & (stack.grades > 0)
        places = baseline.places[stack.queries]
        unique, returned = (
            unique + int(unique_relevant.sum()),
            returned + int(unique_relevant[places[places >= 0]].sum()),
        )
    return RetrieverAblation(
        retriever,
        queries,
        unique,
        returned,
        reduced.mean(objective.metric),
        paired_gain(objective, baseline, with_baseline_arrays(baseline, reduced)),
    )


def with_baseline_arrays(baseline: Measurement, reduced: Measurement) -> Measurement:
    """A measurement indexed by the baseline's queries, which are the same ones."""
    return Measurement(baseline.arrays, reduced.config, reduced.grades, reduced.places, reduced.answered)


def drop_retriever(arrays: Arrays, retriever: str) -> Arrays:
    """The arrays as if the retriever had never been queried."""
    stacks = []
    for stack in arrays.stacks:
        rows = np.flatnonzero(surviving_candidates(arrays.system, stack.signals, retriever))
        if not len(rows):
            continue
        has_candidates = np.zeros(len(stack.queries), bool)
        has_candidates[stack.signals.batches.batch_index[rows]] = True
        signals = without_retriever_signals(select_candidates(stack.signals, rows), retriever)
        stacks += regroup_stack(
            arrays.system, Stack(stack.plan, stack.queries[has_candidates], signals, stack.grades[rows])
        )
    return replace(arrays, stacks=stacks, candidates=sum(len(stack.signals) for stack in stacks))


def found_by_others(system: System, signals: Signals, retriever: str) -> Mask:
    """Which candidates are in another retriever's list."""
    others = [np.isfinite(signals.rank(other)) for other in system.retrievers if other != retriever]
    return np.asarray(np.logical_or.reduce([np.zeros(len(signals), bool), *others]))


def surviving_candidates(system: System, signals: Signals, retriever: str) -> Mask:
    """Which candidates remain: in another retriever's list, or adjacent in a session to one that is."""
    listed = found_by_others(system, signals, retriever)
    unlisted = ~listed & ~np.isfinite(signals.rank(retriever))
    if not unlisted.any():
        return listed
    # Session codes are per query, so neighbours never cross queries.
    session_position = signals.session * (signals.position.max() + 3) + signals.position
    listed_positions = session_position[listed & (signals.session >= 0)]
    return listed | (
        unlisted & (np.isin(session_position, listed_positions + 1) | np.isin(session_position, listed_positions - 1))
    )


def without_retriever_signals(signals: Signals, retriever: str) -> Signals:
    """The same candidates without the retriever's ranks and scores."""
    ranks = {name: ranks for name, ranks in signals.ranks.items() if name != retriever}
    if RERANK in ranks:  # the reranker ranks whatever is left
        ranks[RERANK] = compact_ranks(signals, ranks[RERANK])
    entity_match, answer_match = signals.entity_match, signals.answer_entity_match
    if retriever == "entity":
        answer_match = np.where(signals.batches.broadcast(signals.batches.any(entity_match > 0)), 1.0, answer_match)
        entity_match = np.zeros(len(signals))
    scores = {name: scores for name, scores in signals.scores.items() if name != retriever}
    return replace(signals, ranks=ranks, scores=scores, entity_match=entity_match, answer_entity_match=answer_match)


def compact_ranks(signals: Signals, ranks: Array) -> Array:
    """Renumber the ranks of each batch from 1, keeping their order."""
    rows = np.flatnonzero(np.isfinite(ranks))
    rows = signals.batches.top(-ranks, signals.id_ranks, rows)
    counts = np.bincount(signals.batches.batch_index[rows], minlength=len(signals.batches))
    compacted = np.full(len(signals), np.inf)
    compacted[rows] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1.0
    return compacted


def regroup_stack(system: System, stack: Stack) -> list[Stack]:
    """Split a stack by scoring path: queries that lost candidates may be scored differently."""
    alike = system.batch_key(stack.signals)
    if alike.all() or not alike.any():
        return [stack]
    return [stack_subset(stack, np.flatnonzero(mask)) for mask in (alike, ~alike)]


def stack_subset(stack: Stack, batches: Codes) -> Stack:
    """A stack restricted to some queries."""
    rows = np.flatnonzero(np.isin(stack.signals.batches.batch_index, batches))
    return Stack(stack.plan, stack.queries[batches], select_candidates(stack.signals, rows), stack.grades[rows])


def list_overlaps(arrays: Arrays) -> list[list[float | None]]:
    """Overlap coefficient of the top ten of two lists, averaged over the queries where both are non-empty."""
    retrievers = arrays.system.retrievers
    shares: Mapping[tuple[int, int], list[float]] = defaultdict(list)
    for stack in arrays.stacks:
        query_of_row, count = stack.signals.batches.batch_index, len(stack.signals.batches)
        top = [stack.signals.rank(retriever) <= OVERLAP_DEPTH for retriever in retrievers]
        sizes = [np.bincount(query_of_row, weights=first, minlength=count) for first in top]
        for first in range(len(retrievers)):
            for second in range(first, len(retrievers)):
                smaller = np.minimum(sizes[first], sizes[second])
                common = np.bincount(query_of_row, weights=top[first] & top[second], minlength=count)
                shares[first, second] += (common[smaller > 0] / smaller[smaller > 0]).tolist()
    return [
        [float(np.mean(values)) if (values := shares[min(a, b), max(a, b)]) else None for b in range(len(retrievers))]
        for a in range(len(retrievers))
    ]
