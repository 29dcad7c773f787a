"""The candidates as if some retrievers had not been asked."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from scoring.signals import Signals
from scoring.stacking import select_candidates
from scoring.systems.recall import RERANK
from scoring.term import Array, Codes, Mask


def remaining_candidates(signals: Signals, dropped: Collection[str]) -> Codes:
    """The rows that remain: in another retriever's list, or next to such a row in its session."""
    listed = listed_by(signals, signals.ranks.keys() - {*dropped, RERANK})
    unlisted = ~listed & ~listed_by(signals, dropped)
    if unlisted.any():
        # Session codes are per query, so neighbours never cross queries.
        slot = signals.session * (signals.position.max() + 3) + signals.position
        listed_slots = slot[listed & (signals.session >= 0)]
        listed |= unlisted & (np.isin(slot, listed_slots + 1) | np.isin(slot, listed_slots - 1))
    return np.flatnonzero(listed)


def listed_by(signals: Signals, retrievers: Collection[str]) -> Mask:
    """Which candidates are in the list of one of the retrievers."""
    lists = [np.isfinite(signals.rank(retriever)) for retriever in retrievers]
    return np.asarray(np.logical_or.reduce([np.zeros(len(signals), bool), *lists]))


def without_retrievers(signals: Signals, rows: Codes, dropped: Collection[str]) -> Signals:
    """The remaining candidates without the ranks and scores of the dropped retrievers."""
    signals = select_candidates(signals, rows)
    ranks = {name: ranks for name, ranks in signals.ranks.items() if name not in dropped}
    if RERANK in ranks:  # the reranker ranks whatever is left
        ranks[RERANK] = compact_ranks(signals, ranks[RERANK])
    entity_match, answer_match, about_another = (
        signals.entity_match,
        signals.answer_entity_match,
        signals.about_another,
    )
    if "entity" in dropped:
        answer_match = np.where(signals.batches.broadcast(signals.batches.any(entity_match > 0)), 1.0, answer_match)
        entity_match, about_another = np.zeros(len(signals)), np.zeros(len(signals), bool)
    scores = {name: scores for name, scores in signals.scores.items() if name not in dropped}
    return replace(
        signals,
        ranks=ranks,
        scores=scores,
        entity_match=entity_match,
        answer_entity_match=answer_match,
        about_another=about_another,
    )


def compact_ranks(signals: Signals, ranks: Array) -> Array:
    """Renumber the ranks of each batch from 1, keeping their order."""
    rows = np.flatnonzero(np.isfinite(ranks))
    rows = signals.batches.top(-ranks, signals.id_ranks, rows)
    counts = np.bincount(signals.batches.batch_index[rows], minlength=len(signals.batches))
    compacted = np.full(len(signals), np.inf)
    compacted[rows] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1.0
    return compacted
