"""The scoring system interface, and ranking of candidates with it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from scoring.diversity import BitSets, Pick, mmr
from scoring.params import Params
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.term import Array, Codes, Mask, Term

MMR_BLOCK_SIZE = 32  # queries per MMR block, so that their vectors fit the CPU cache


class Order(NamedTuple):
    """Result rows in order, the MMR picks, whether the tiebreak applied, and results that others brought along."""

    rows: Codes
    picks: tuple[Pick, ...] = ()
    tiebreak_applied: bool = False
    anchors: Mapping[int, int] = MappingProxyType({})  # row of a neighbour → row of the result that brought it
    score: Term | None = None  # with the neighbours' scores

    @property
    def ranked(self) -> Codes:
        """The rows that earned their place: those that no other brought."""
        return self.rows[~np.isin(self.rows, list(self.anchors))] if self.anchors else self.rows


def select_by_mmr(
    signals: Signals, rows: Codes, relevance: Array, top_k: int, tags: BitSets | None = None, **options: float
) -> Order:
    """Select rows, grouped by batch, by MMR within each batch; picks are reported for a single batch only."""
    selected = np.full((len(signals.batches), min(top_k, int(signals.batches.counts(rows).max(initial=0)))), -1)
    picks: tuple[Pick, ...] = ()
    for batches, lines in signals.batches.by_size(rows):
        for start in range(0, len(batches), MMR_BLOCK_SIZE):
            block = slice(start, start + MMR_BLOCK_SIZE)
            block_rows = lines[block]
            block_tags = None if tags is None else tags[block_rows]
            selection = mmr(
                relevance[block_rows], signals.vectors_of(block_rows), top_k=top_k, tags=block_tags, **options
            )
            picked_rows = np.take_along_axis(block_rows, selection.rows, axis=1)
            selected[batches[block], : picked_rows.shape[1]] = np.where(selection.rows >= 0, picked_rows, -1)
            if len(signals.batches) == 1:
                picks = tuple(pick_by_row(pick, block_rows[0]) for pick in selection.picks(0))
    return Order(selected[selected >= 0], picks)


def pick_by_row(pick: Pick, rows: Codes) -> Pick:
    """Translate a pick from positions in `rows` to row numbers."""
    nearest = None if pick.nearest is None else int(rows[pick.nearest])
    return pick._replace(row=int(rows[pick.row]), nearest=nearest)


def top_by_score(score: Term, signals: Signals, passed_rows: Codes, limit: int | None = None) -> Codes:
    """The top passed candidates of each batch by descending score; ties by id."""
    return signals.batches.top(score.value, signals.id_ranks, passed_rows, limit)


def finding_retrievers(signals: Signals, retrievers: Sequence[str], row: int) -> list[str]:
    """The retrievers that found a candidate, best rank first."""
    ranks = {name: float(signals.rank(name)[row]) for name in retrievers}
    return sorted((name for name in retrievers if np.isfinite(ranks[name])), key=lambda name: ranks[name])


def order_by_score(
    score: Term, signals: Signals, params: Any, passed_rows: Codes, top_k: int, diversify: bool
) -> Order:
    """Default order: by score."""
    return Order(top_by_score(score, signals, passed_rows, top_k))


def validity_gates(signals: Signals, params: Any) -> dict[str, Mask]:
    """Gates of every system: filter facts that have expired or are not yet valid."""
    return {"expired": signals.hours_left > 0, "not_yet_valid": signals.valid_hours >= 0}


def passing(signals: Signals, gates: Mapping[str, Mask]) -> Mask:
    """The candidates that pass all gates: those that can come back."""
    mask: Mask = np.logical_and.reduce([np.ones(len(signals), bool), *gates.values()])
    return mask


class Weighting(NamedTuple):
    """The weights under which a query was ranked, of a system that adapts them to the query."""

    intent: str
    half_life_hours: float
    emphasis: str
    raised: str | None  # the factor that the emphasis raised
    weights: Mapping[str, float]  # normalised, by factor


@dataclass(frozen=True)
class System:
    """A scoring system: parameters, score, gates and order."""

    name: str
    source: str
    summary: str
    params: type[Params]
    retrievers: tuple[str, ...]
    score: Callable[[Signals, Any], Term]
    gates: Callable[[Signals, Any], dict[str, Mask]] = validity_gates
    order: Callable[[Term, Signals, Any, Codes, int, bool], Order] = order_by_score
    presets: Mapping[str, Mapping[str, float | str | bool]] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)  # result field → name of its term
    retriever_terms: Mapping[str, str] = field(default_factory=dict)  # retriever → name of its term in the score
    # Retriever → the parameters that multiply what it finds; it is not asked while all of them are 0.
    weighted_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Optional features it uses: tags, edges, clusters, returned, mentions, vectors, policy.
    optional_features: tuple[str, ...] = ()
    # Whether a system with the feature vectors compares the candidates by them, given the plan's `diversify`.
    diversifies: Callable[[Any, bool], bool] = lambda params, diversify: True
    diversified_by: tuple[str, ...] = ()  # the parameters that decide about it
    ranks_conversations: bool = False  # whether it also ranks sessions and turns
    # Probability that the best hit of each batch is an answer, given the candidates that pass the gates.
    answer_probability: Callable[[Signals, Any, Mask], Array] = lambda signals, params, passed: np.ones(
        len(signals.batches)
    )
    # Features of the query that its score reads: intent, emphasis. Batches that differ in them must not be stacked.
    query_features: tuple[str, ...] = ()
    # What a system that adapts its weights to the query made of them.
    weighting: Callable[[Signals, Any], Weighting] | None = None
    # The parameters with every choice that they leave to the query or its plan as it was made.
    settle: Callable[[Any, Signals, Plan], Params] = lambda params, signals, plan: params
    # Batches with different keys must not be stacked.
    batch_key: Callable[[Signals], Mask] = lambda signals: np.zeros(len(signals.batches), bool)
    details: Callable[[Signals, Any, Order, int], dict[str, Any]] = lambda signals, params, order, row: {}

    def reads_vectors(self, params: Params, plan: Plan) -> bool:
        """Whether the order under these parameters and this plan depends on the candidates' vectors."""
        return "vectors" in self.optional_features and self.diversifies(params, plan.diversify)

    def weighted_retrievers(self, params: Params) -> tuple[str, ...]:
        """The retrievers that can change a score under these parameters."""
        weights = {retriever: self.weights_of([retriever]) for retriever in self.retrievers}
        return tuple(
            retriever
            for retriever, names in weights.items()
            if not names or any(getattr(params, name) for name in names)
        )

    def weights_of(self, retrievers: Collection[str]) -> set[str]:
        """The parameters that multiply what these retrievers find."""
        return {name for retriever in retrievers for name in self.weighted_by.get(retriever, ())}


def inert_parameters(
    system: System, params: Params, signals: Signals | None = None, plan: Plan | None = None
) -> dict[str, str]:
    """The parameters that cannot move a result under a configuration, or for one query, each with the reason."""
    inert = params.inert_parameters()
    if signals is not None and plan is not None:
        inert = {**system.settle(params, signals, plan).inert_parameters(settled=True), **inert}
    return {name: inert[name] for name in params.declarations() if name in inert}


class Ranking(NamedTuple):
    """A scored batch: scores, gates, order, answer probability and abstention."""

    score: Term
    gates: dict[str, Mask]
    order: Order
    answer_probability: float
    low_confidence: bool  # whether the probability is below the system's threshold
    abstained: bool


def rank(
    system: System, signals: Signals, params: Params, *, top_k: int, diversify: bool = False, abstain: bool = True
) -> Ranking:
    """Score the candidates, apply the gates, order the rest; an answer of low confidence may `abstain`."""
    score, gates, passed, order = score_and_order(system, signals, params, top_k, diversify)
    probability = float(system.answer_probability(signals, params, passed)[0]) if len(order.rows) else 0.0
    low_confidence = probability < abstention_threshold(params)
    return Ranking(score, gates, order, probability, low_confidence, abstained=low_confidence and abstain)


def rank_batches(
    system: System, signals: Signals, params: Params, *, top_k: int, diversify: bool = False
) -> tuple[Codes, Mask]:
    """Rank stacked batches, each as `rank` would: result rows grouped by batch, and which batches abstain."""
    _, _, passed, order = score_and_order(system, signals, params, top_k, diversify)
    has_results = np.bincount(signals.batches.batch_index[order.rows], minlength=len(signals.batches)) > 0
    probabilities = np.where(has_results, system.answer_probability(signals, params, passed), 0.0)
    return order.rows, probabilities < abstention_threshold(params)


def score_and_order(
    system: System, signals: Signals, params: Params, top_k: int, diversify: bool
) -> tuple[Term, dict[str, Mask], Mask, Order]:
    """The score, the gates, the mask of passed candidates, and their order."""
    score = system.score(signals, params)
    gates = system.gates(signals, params)
    passed = passing(signals, gates)
    order = system.order(score, signals, params, np.flatnonzero(passed), top_k, diversify)
    if order.anchors:
        brought = np.zeros(len(signals), bool)
        brought[list(order.anchors)] = True
        gates = {gate: mask | brought for gate, mask in gates.items()}
    return score if order.score is None else order.score, gates, passed, order


def abstention_threshold(params: Params) -> float:
    """The answer probability below which the system abstains."""
    return float(getattr(params, "abstain_below", 0.0))
