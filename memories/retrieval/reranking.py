"""The reranker's list, where the plan or the caller turns it on: one more beside those of the retrievers."""

import logging
import time
from dataclasses import replace

import numpy as np
from django.conf import settings

from memories.providers.reranker import MAXSIM, Reranker, RerankerError, reranker
from memories.retrieval.asking import Found
from memories.retrieval.candidates import Candidates, places_of
from memories.retrieval.planning import Planning
from memories.retrieval.query import Query
from scoring.fusion import ranked
from scoring.params import Params
from scoring.systems.candidates import Planned
from scoring.systems.recall import RERANK
from scoring.term import Array

logger = logging.getLogger(__name__)


def reranked(
    query: Query, batch: Candidates, found: Found, params: Params, planning: Planning
) -> tuple[Candidates, Planning]:
    """The candidates with the reranker's list, and the plan with its name; one that fails is left out and named."""
    if not isinstance(params, Planned) or not wanted(params, planning):
        return batch, planning
    words = by_words(batch)
    if settings.RECALL_RERANKER == MAXSIM:
        return batch.with_list(RERANK, words), replace(planning, reranker=MAXSIM)
    began = time.perf_counter()
    try:
        model = configured()
        scores = read_by(model, query.text, batch, first(batch, words, params.rerank_top))
    except RerankerError as error:
        logger.error("the reranker failed", exc_info=error)
        found.late[RERANK] = str(error)
        return batch, planning
    finally:
        found.took_ms[RERANK] = 1000 * (time.perf_counter() - began)
    listed = batch.with_list(RERANK, places_of(scores, batch.signals.cosine), scores)
    return listed, replace(planning, reranker=model.name)


def wanted(params: Planned, planning: Planning) -> bool:
    """Whether the caller wants a reranker, or leaves it to a plan that does."""
    return params.reranker == "on" or (params.reranker == "plan" and planning.plan.rerank)


def configured() -> Reranker:
    """The configured cross-encoder; where it lies is nothing that an answer should tell."""
    try:
        return reranker(settings.RECALL_RERANKER)
    except RerankerError as error:
        raise RerankerError("could not be loaded") from error


def by_words(batch: Candidates) -> Array:
    """The candidates by MaxSim; whose words are not stored has no place."""
    signals = batch.signals
    matched = np.where(np.isfinite(signals.maxsim), 1.0 + signals.maxsim, 0.0)
    return ranked(matched, signals.cosine, signals.by_id)


def first(batch: Candidates, words: Array, most: int) -> list[int]:
    """Whom a model reads: the best by MaxSim, and by cosine those whose words are not stored.

    By nothing that a score parameter moves, so that a replay under another has the same list.
    """
    signals = batch.signals
    chosen: list[int] = np.lexsort((signals.by_id, -signals.cosine, words))[:most].tolist()
    return chosen


def read_by(model: Reranker, text: str, batch: Candidates, rows: list[int]) -> Array:
    """The model's scores; infinity for what it was not given."""
    scores = np.full(len(batch), np.inf)
    if rows:
        texts = [batch.rows[row]["content"] for row in rows]
        scores[rows] = model.scores(text, texts, within=settings.RECALL_RERANKER_MS / 1000)
    return scores
