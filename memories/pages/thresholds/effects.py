"""What moving a threshold changes here: of each population it decides on, how many decisions differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.pages.thresholds.background_populations import drifting_entities, index_measurement, summarised_subjects
from memories.pages.thresholds.forms import POLICY, BoardSlider, ThresholdState
from memories.pages.thresholds.memory_populations import (
    aged_memories,
    believed_memories,
    confirmed_memories,
    filtered_memories,
    grounded_memories,
)
from memories.pages.thresholds.pair_populations import contradiction_pairs, corroborating_pairs, dedup_pairs
from memories.pages.thresholds.populations import Loader, NothingToCount, Population, Values
from memories.pages.thresholds.query_populations import diversified_queries, planned_queries, ranked_queries
from scoring.params import Number

# The populations of thresholds of the write path.
WRITE_POPULATIONS: Mapping[str, tuple[Loader, ...]] = {
    **dict.fromkeys(("dedup_duplicate", "dedup_escalate"), (dedup_pairs,)),
    "consolidation": (summarised_subjects,),
    **dict.fromkeys(("drift_distance", "drift_overlap"), (drifting_entities,)),
    "grounding_floor": (grounded_memories,),
    "confirmed_cap": (confirmed_memories,),
    "index_recall": (index_measurement,),
    **dict.fromkeys(
        ("belief_protected", "belief_needed", "belief_archive", "belief_boost", "belief_penalty"),
        (believed_memories,),
    ),
    "corroboration_cosine": (corroborating_pairs,),
    **dict.fromkeys(("contradiction_low", "contradiction_high"), (contradiction_pairs,)),
}
# Those of retrieval that decide on something else than the ten best memories, or on more.
READ_POPULATIONS: Mapping[str, tuple[Loader, ...]] = {
    **dict.fromkeys(("precise_from", "exploratory_below", "entity_above"), (planned_queries,)),
    "min_confidence": (filtered_memories, ranked_queries),
    "freshness_floor": (aged_memories, ranked_queries),
    "mmr_lambda": (diversified_queries,),
}
DEFAULT_POPULATIONS: tuple[Loader, ...] = (ranked_queries,)


@dataclass(frozen=True)
class Effect:
    """What one threshold changes in one population."""

    population: Population
    changed: int
    coarsely: int  # of them
    labels: Sequence[tuple[str, int, int]]  # label, in force, moved
    reach: Sequence[tuple[float, int]]  # the ends of its range, and how many decisions change there

    @property
    def noun(self) -> str:
        """What is counted, as many as change."""
        return self.population.unit if self.changed == 1 else self.population.plural


def count_effects(state: ThresholdState, slider: BoardSlider) -> list[Effect | NothingToCount]:
    """What the threshold changes in each of its populations, on its own."""
    counted = (load(state.namespace, start_of(state, slider.scope)) for load in loaders(slider))
    return [
        count_effect(state, slider, population) if isinstance(population, Population) else population
        for population in counted
    ]


def loaders(slider: BoardSlider) -> tuple[Loader, ...]:
    """What loads the populations of a threshold."""
    if slider.scope == POLICY:
        return WRITE_POPULATIONS[slider.name]
    return READ_POPULATIONS.get(slider.name, DEFAULT_POPULATIONS)


def start_of(state: ThresholdState, scope: str) -> Any:
    """The write policy or the configuration that the thresholds of a scope start from."""
    return state.serving if scope == POLICY else state.starts[scope]


def count_effect(state: ThresholdState, slider: BoardSlider, population: Population) -> Effect:
    """Compare the decisions with the threshold moved to those in force."""
    scope, declaration = slider.scope, slider.declaration
    assert isinstance(declaration, Number)
    start = state.start_values(scope)
    # Alone it may break a rule that it meets together with the others that were moved.
    moved = state.values_with(scope, slider.name, slider.value) or state.values(scope)
    return Effect(
        population,
        population.count_changed(start, moved),
        population.count_coarsely_changed(start, moved) if population.coarser else 0,
        label_changes(population, start, moved),
        [
            (end, population.count_changed(start, values))
            for end in (declaration.low, declaration.high)
            if end != slider.default and (values := state.values_with(scope, slider.name, end)) is not None
        ],
    )


def label_changes(population: Population, before: Values, after: Values) -> list[tuple[str, int, int]]:
    """Each label's counts: those always told, in their order, then the most frequent."""
    counts = population.count_labels(before), population.count_labels(after)
    others = sorted(
        (counts[0] | counts[1]).keys() - set(population.labels.names), key=lambda name: (-counts[0][name], name)
    )
    return [(label, counts[0][label], counts[1][label]) for label in (*population.labels.names, *others)]


def count_together(state: ThresholdState, system: str) -> Effect | None:
    """What several moved thresholds of a system change together; None for fewer than two that replay."""
    declarations = state.params_type(system).declarations()
    replayed = {
        name: value for name, value in state.changed.get(system, {}).items() if declarations[name].scope == "score"
    }
    population = ranked_queries(state.namespace, state.starts[system])
    if len(replayed) < 2 or isinstance(population, NothingToCount):
        return None
    start = state.start_values(system)
    return Effect(population, population.count_changed(start, {**start, **replayed}), 0, (), ())
