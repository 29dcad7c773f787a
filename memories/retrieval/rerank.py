"""Reranking by MaxSim or a cross-encoder, as one more ranked list."""

import logging
import time
from dataclasses import replace

import numpy as np
from django.conf import settings

from memories.providers.reranker import MAXSIM, Reranker, RerankerError, reranker
from memories.retrieval.candidates import Candidates, list_ranks
from memories.retrieval.fetch import Fetched
from memories.retrieval.plan import QueryPlan
from memories.retrieval.query import Query
from scoring.fusion import retriever_ranks
from scoring.params import Params
from scoring.systems.candidates import PlanParams
from scoring.systems.recall import RERANK
from scoring.term import Array

logger = logging.getLogger(__name__)


def rerank(
    query: Query, candidates: Candidates, fetched: Fetched, params: Params, query_plan: QueryPlan
) -> tuple[Candidates, QueryPlan]:
    """The candidates with the reranker's list, and the plan with its name; a failing reranker is left out and named."""
    if not isinstance(params, PlanParams) or not wants_reranker(params, query_plan):
        return candidates, query_plan
    by_maxsim = maxsim_ranks(candidates)
    if settings.RECALL_RERANKER == MAXSIM:
        return candidates.with_list(RERANK, by_maxsim), replace(query_plan, reranker=MAXSIM)
    began = time.perf_counter()
    try:
        model = load_reranker()
        scores = cross_encoder_scores(
            model, query.text, candidates, rows_to_rerank(candidates, by_maxsim, params.rerank_top)
        )
    except RerankerError as error:
        logger.error("the reranker failed", exc_info=error)
        fetched.timed_out[RERANK] = str(error)
        return candidates, query_plan
    finally:
        fetched.took_ms[RERANK] = 1000 * (time.perf_counter() - began)
    reranked = candidates.with_list(RERANK, list_ranks(scores, candidates.signals.cosine), scores)
    return reranked, replace(query_plan, reranker=model.name)


def wants_reranker(params: PlanParams, query_plan: QueryPlan) -> bool:
    """Whether the caller, or else the plan, turns the reranker on."""
    return params.reranker == "on" or (params.reranker == "plan" and query_plan.plan.rerank)


def load_reranker() -> Reranker:
    """The configured cross-encoder; its error, which an answer shows, omits the path."""
    try:
        return reranker(settings.RECALL_RERANKER)
    except RerankerError as error:
        raise RerankerError("could not be loaded") from error


def maxsim_ranks(candidates: Candidates) -> Array:
    """Ranks by MaxSim; infinity without token states."""
    signals = candidates.signals
    scores = np.where(np.isfinite(signals.maxsim), 1.0 + signals.maxsim, 0.0)
    return retriever_ranks(scores, signals.cosine, signals.id_ranks)


def rows_to_rerank(candidates: Candidates, by_maxsim: Array, top: int) -> list[int]:
    """The candidates for the cross-encoder: by MaxSim, then by cosine.

    Independent of score parameters, so that a replay has the same list.
    """
    signals = candidates.signals
    rows: list[int] = np.lexsort((signals.id_ranks, -signals.cosine, by_maxsim))[:top].tolist()
    return rows


def cross_encoder_scores(model: Reranker, text: str, candidates: Candidates, rows: list[int]) -> Array:
    """The model's scores of some candidates; infinity for the rest."""
    scores = np.full(len(candidates), np.inf)
    if rows:
        texts = [candidates.rows[row]["content"] for row in rows]
        scores[rows] = model.scores(text, texts, within=settings.RECALL_RERANKER_MS / 1000)
    return scores
