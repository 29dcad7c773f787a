"""memsense (source 003): RRF over eight retrievers, sessions first, MMR selection."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.fusion import candidate_limit, rrf
from scoring.params import Params, number
from scoring.signals import LEVELS, MEMSENSE_RETRIEVERS, Signals
from scoring.systems.system import Order, System, finding_retrievers, select_by_mmr, top_by_score, validity_gates
from scoring.term import Array, Codes, Mask, Term, const, feature, minimum, total

SESSION, TURN = LEVELS.index("session"), LEVELS.index("turn")

_fusion = partial(number, group="Fusion", source="003 Step 2")
_final = partial(number, group="Final score", source="003 Step 3")
_select = partial(number, group="Selection", low=0, high=1, step=0.01, source="003 Step 4")
_pool = partial(number, group="Candidates", step=1, scope="candidates", source="003 Step 1")


@dataclass(frozen=True)
class MemsenseParams(Params):
    """Parameters of memsense."""

    rrf_k: float = _fusion(15.0, "RRF k (lower favours top ranks)", low=1, high=200, step=1)
    memory_weight: float = _final(0.1, "memory score weight", low=0, high=1, step=0.01)
    turn_share: float = _final(0.6, "turn support (share of the best turn's score)", low=0, high=1, step=0.05)
    turn_cap: float = _final(0.12, "turn support cap", low=0, high=0.5, step=0.01)
    neighbour_share: float = number(
        0.5,
        "neighbour share of its anchor's score",
        group="Final score",
        low=0,
        high=1,
        step=0.05,
        source="ours: the paper names no share",
    )
    mmr_lambda: float = _select(0.78, "MMR λ (relevance against novelty)")
    duplicate: float = _select(0.94, "duplicate threshold (redundancy at which a hit is skipped)")
    tag_share: float = _select(0.35, "weight of shared tags in redundancy")
    limit_factor: int = _pool(4, "candidate limit, factor of top k", low=1, high=20)
    limit_least: int = _pool(32, "candidate limit, minimum", low=1, high=500)
    route_widening: int = _pool(2, "pool per retriever, factor of the limit", low=1, high=10)
    route_least: int = _pool(40, "pool per retriever, minimum", low=1, high=500)


def memsense_rrf(signals: Signals, params: MemsenseParams) -> Term:
    r"""rrf_score = sum(1 / (15 + rank_in_route))

    $$ \text{rrf_score} = \sum_{\text{route}} \frac{1}{15 + \text{rank}_{\text{route}}} $$
    """
    ranks = {retriever: signals.rank_term(retriever) for retriever in MEMSENSE_RETRIEVERS}
    return rrf(ranks, dict.fromkeys(MEMSENSE_RETRIEVERS, const(1.0)), params["rrf_k"]).with_name("rrf_score")


def best_in_session(values: Array, members: Mask, session: Codes, tiebreak: Codes) -> Codes:
    """For each candidate, the member of its session with the highest value, ties by id; −1 where there is none."""
    rows = np.flatnonzero(members & (session >= 0))
    rows = rows[np.lexsort((-tiebreak[rows], values[rows]))]
    best = np.full(int(session.max(initial=-1)) + 2, -1, np.intp)
    best[session[rows]] = rows  # later rows overwrite earlier ones, so the best remains
    return best[session]


def neighbour_anchors(signals: Signals, values: Array, found: Mask) -> Codes:
    """For each candidate that no retriever found, the better of its two session neighbours; −1 where there is none."""
    anchors = np.full(len(signals), -1, np.intp)
    in_session = (signals.session >= 0) & (signals.position >= 0)
    missing, rows = np.flatnonzero(~found & in_session), np.flatnonzero(found & in_session)
    if not len(missing) or not len(rows):
        return anchors
    # One number per position over all sessions, with gaps between sessions.
    slot = signals.session * (signals.position.max() + 3) + signals.position
    rows = rows[np.isin(slot[rows], np.concatenate([slot[missing] - 1, slot[missing] + 1]))]
    if not len(rows):
        return anchors
    rows = rows[np.lexsort((-signals.id_ranks[rows], values[rows], slot[rows]))]
    highest = np.full(len(missing), -np.inf)
    for step in (-1, 1):
        # Rows are sorted by value within a slot: the last one is the best.
        neighbour = rows[np.searchsorted(slot[rows], slot[missing] + step, side="right") - 1]
        better = (slot[neighbour] == slot[missing] + step) & (values[neighbour] > highest)
        anchors[missing[better]] = neighbour[better]
        highest = np.where(better, values[neighbour], highest)
    return anchors


def has_sessions(signals: Signals) -> Mask:
    """Whether each batch has a session chunk that passes the validity gates."""
    passing = np.logical_and.reduce(list(validity_gates(signals, None).values()))
    return signals.batches.any(passing & (signals.level == SESSION))


def score(signals: Signals, params: MemsenseParams) -> Term:
    r"""RRF plus the weighted memory score; a session also gets capped support from its best turn.

    $$ \text{final_score} = \begin{cases}
       \text{session_rrf} + \min(0.12,\ 0.6 \cdot \text{best turn rrf}) + 0.1 \cdot \text{memory_score}
       & \text{sessions} \\
       \text{rrf_score} + 0.1 \cdot \text{memory_score} & \text{chunks} \end{cases} $$
    """
    base = memsense_rrf(signals, params)
    stored = feature("memory score", np.where(np.isnan(signals.memory_score), signals.confidence, signals.memory_score))
    memory = (params["memory_weight"] * stored).with_name("memory")
    if has_sessions(signals).any():
        turns = best_in_session(base.value, signals.level == TURN, signals.session, signals.id_ranks)
        support = minimum(params["turn_share"] * base.take(turns).with_name("best turn"), params["turn_cap"])
        session_rrf = base.with_name("session_rrf_score")
        return total([session_rrf, support.with_name("turn_support").only(signals.level == SESSION), memory]).with_name(
            "final_score"
        )
    final = total([base, memory])
    anchors = neighbour_anchors(signals, final.value, found_by_any_retriever(signals))
    if (anchors < 0).all():
        return final.with_name("final_score")
    neighbour = params["neighbour_share"] * final.take(anchors).with_name("anchor")
    return total([final.only(anchors < 0).with_name("own"), neighbour.with_name("neighbour")]).with_name("final_score")


def gates(signals: Signals, params: MemsenseParams) -> dict[str, Mask]:
    """If the batch has a session chunk, filter everything else: turns only support their session."""
    returned = (signals.level == SESSION) | (not has_sessions(signals).any())
    return {**validity_gates(signals, params), "supports_its_session": returned}


def order(
    score: Term, signals: Signals, params: MemsenseParams, passed_rows: Codes, top_k: int, diversify: bool
) -> Order:
    r"""Greedy MMR on the raw final score; near-duplicates of a pick are skipped.

    $$ \lambda \cdot \text{final_score} - (1 - \lambda) \cdot \max_{s \in S} \text{redundancy}(m, s) $$
    """
    limited = top_by_score(score, signals, passed_rows, candidate_limit(top_k, params.limit_factor, params.limit_least))
    if signals.vectors is None or len(limited) == 0:
        return Order(signals.batches.first(limited, top_k))
    options = {"balance": params.mmr_lambda, "tag_share": params.tag_share, "skip_at": params.duplicate}
    return select_by_mmr(signals, limited, score.value, top_k, signals.tag_bits, **options)


def details(signals: Signals, params: MemsenseParams, row: int) -> dict[str, Any]:
    """Details of a result: its retrievers and, for a session, the turns that support it."""
    base = memsense_rrf(signals, params)
    result: dict[str, Any] = {
        "rrf_score": float(base.value[row]),
        "found_by": finding_retrievers(signals, MEMSENSE_RETRIEVERS, row),
    }
    if signals.level[row] != SESSION:
        return {**result, "explain": None}
    turns = (signals.level == TURN) & (signals.session >= 0)
    best = int(best_in_session(base.value, turns, signals.session, signals.id_ranks)[row])
    support = min(params.turn_share * float(base.value[best]), params.turn_cap) if best >= 0 else 0.0
    # A turn that no retriever found does not count as support.
    supporting = turns & found_by_any_retriever(signals) & (signals.session == signals.session[row])
    explain = {
        "session_rrf_score": float(base.value[row]),
        "turn_support": support,
        "supporting_turn_count": int(supporting.sum()),
        "best_turn_found_by": finding_retrievers(signals, MEMSENSE_RETRIEVERS, best) if best >= 0 else [],
    }
    return {**result, "explain": explain}


def found_by_any_retriever(signals: Signals) -> Mask:
    """Mask of candidates that a retriever found; the others are session neighbours of one."""
    masks = [signals.rank_term(retriever).present for retriever in MEMSENSE_RETRIEVERS]
    mask: Mask = np.logical_or.reduce(
        [np.ones(len(signals), bool) if present is None else present for present in masks]
    )
    return mask


SYSTEM = System(
    name="memsense",
    source="003",
    summary="Reciprocal rank fusion of eight retrievers; sessions first, near-duplicates skipped (MMR).",
    params=MemsenseParams,
    retrievers=MEMSENSE_RETRIEVERS,
    optional_features=("tags", "vectors"),
    score=score,
    gates=gates,
    order=order,
    outputs={"final_score": "final_score"},
    retriever_terms={retriever: retriever for retriever in MEMSENSE_RETRIEVERS},
    details=details,
    ranks_conversations=True,
    batch_key=has_sessions,
)
