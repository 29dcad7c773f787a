"""Retriever ablation: the metric without each retriever, its unique finds, and how far the ranked lists overlap."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays, Stack, stack_without
from memories.tuning.measurement import SIGNIFICANCE_LEVEL, Measurement, adjust_p_values, measure_config
from memories.tuning.objective import Gain, Objective, paired_gain
from scoring.without_retrievers import listed_by

OVERLAP_DEPTH = 10  # ranks compared between two lists


@dataclass(frozen=True)
class RetrieverAblation:
    """A system without one of its retrievers."""

    retriever: str
    queries: int  # in which it returned anything
    unique: int  # relevant candidates that no other asked retriever found
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
    gains = [ablation.gain for ablation in ablations]
    p_values = adjust_p_values([gain.p_value for gain in gains], [gain.won + gain.lost for gain in gains])
    return [replace(ablation, corrected=p_value) for ablation, p_value in zip(ablations, p_values, strict=True)]


def ablate_retriever(baseline: Measurement, retriever: str, objective: Objective) -> RetrieverAblation:
    """Compare the system without one retriever with the full system."""
    arrays = baseline.arrays
    reduced = measure_config(drop_retriever(arrays, retriever), baseline.config)
    unique = returned = queries = 0
    for stack in arrays.stacks:
        listed = np.isfinite(stack.signals.rank(retriever))
        queries += int(stack.signals.batches.any(listed).sum())
        weighted = arrays.system.weighted_retrievers(baseline.config.params_under(stack.plan))
        unique_relevant = listed & ~listed_by(stack.signals, set(weighted) - {retriever}) & (stack.grades > 0)
        rows = baseline.places[stack.queries]
        unique += int(unique_relevant.sum())
        returned += int(unique_relevant[rows[rows >= 0]].sum())
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
    """The arrays as if the retriever had never been asked."""
    stacks = [
        Stack(stack.plan, stack.queries[part.batches], part.signals, stack.grades[part.rows])
        for stack in arrays.stacks
        for part in stack_without(stack, arrays.system, frozenset({retriever}))
    ]
    return replace(arrays, stacks=stacks, candidates=sum(len(stack.signals) for stack in stacks))


def list_overlaps(arrays: Arrays) -> list[list[float | None]]:
    """Overlap coefficient of the top ten of two lists, averaged over the queries where both are non-empty."""
    retrievers = arrays.system.retrievers
    shares: Mapping[tuple[int, int], list[float]] = defaultdict(list)
    for stack in arrays.stacks:
        query_of_row, count = stack.signals.batches.batch_index, len(stack.signals.batches)
        top = [stack.signals.rank(retriever) <= OVERLAP_DEPTH for retriever in retrievers]
        sizes = [np.bincount(query_of_row, weights=in_top, minlength=count) for in_top in top]
        for first in range(len(retrievers)):
            for second in range(first, len(retrievers)):
                smaller = np.minimum(sizes[first], sizes[second])
                common = np.bincount(query_of_row, weights=top[first] & top[second], minlength=count)
                shares[first, second] += (common[smaller > 0] / smaller[smaller > 0]).tolist()
    return [
        [float(np.mean(values)) if (values := shares[min(a, b), max(a, b)]) else None for b in range(len(retrievers))]
        for a in range(len(retrievers))
    ]
