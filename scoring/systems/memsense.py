"""memsense (source 003): RRF over eight retrievers, sessions first, MMR selection, then session neighbours."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.fusion import candidate_limit, rrf
from scoring.params import Params, inert_while, number
from scoring.signals import LEVELS, MEMSENSE_RETRIEVERS, Signals
from scoring.systems.system import (
    Order,
    System,
    finding_retrievers,
    passing,
    select_by_mmr,
    top_by_score,
    validity_gates,
)
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
        source="ours: the source names no share",
    )
    mmr_lambda: float = _select(0.78, "MMR λ (relevance against novelty)")
    duplicate: float = _select(0.94, "duplicate threshold (redundancy at which a hit is skipped)")
    tag_share: float = _select(0.35, "weight of shared tags in redundancy")
    limit_factor: int = _pool(4, "candidate limit, factor of top k", low=1, high=20)
    limit_least: int = _pool(32, "candidate limit, minimum", low=1, high=500)
    route_widening: int = _pool(2, "pool per retriever, factor of the limit", low=1, high=10)
    route_least: int = _pool(40, "pool per retriever, minimum", low=1, high=500)

    inert = (
        inert_while("turns do not support their session", "turn_cap", turn_share=0),
        inert_while("turns do not support their session", "turn_share", turn_cap=0),
    )


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


def neighbour_anchors(signals: Signals, values: Array, anchoring: Mask) -> Codes:
    """For each other candidate, the better of the anchoring ones beside it in its session; −1 where there is none."""
    anchors = np.full(len(signals), -1, np.intp)
    in_session = (signals.session >= 0) & (signals.position >= 0)
    missing, rows = np.flatnonzero(~anchoring & in_session), np.flatnonzero(anchoring & in_session)
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
    valid = passing(signals, validity_gates(signals, None))
    return signals.batches.any(valid & (signals.level == SESSION))


def stored_score(signals: Signals) -> Array:
    """The memory score; the confidence where none is stored."""
    return np.where(np.isnan(signals.memory_score), signals.confidence, signals.memory_score)


def score(signals: Signals, params: MemsenseParams) -> Term:
    r"""RRF plus the weighted memory score; a session also gets capped support from its best turn.

    $$ \text{final_score} = \begin{cases}
       \text{session_rrf} + \min(0.12,\ 0.6 \cdot \text{best turn rrf}) + 0.1 \cdot \text{memory_score}
       & \text{sessions} \\
       \text{rrf_score} + 0.1 \cdot \text{memory_score} & \text{chunks} \end{cases} $$
    """
    base = memsense_rrf(signals, params)
    memory = (params["memory_weight"] * feature("memory score", stored_score(signals))).with_name("memory")
    if has_sessions(signals).any():
        turns = best_in_session(base.value, signals.level == TURN, signals.session, signals.id_ranks)
        support = minimum(params["turn_share"] * base.take(turns).with_name("best turn"), params["turn_cap"])
        session_rrf = base.with_name("session_rrf_score")
        return total([session_rrf, support.with_name("turn_support").only(signals.level == SESSION), memory]).with_name(
            "final_score"
        )
    return total([base, memory]).with_name("final_score")


def gates(signals: Signals, params: MemsenseParams) -> dict[str, Mask]:
    """Turns only support their session; without one, a chunk that no retriever found may only come as a neighbour."""
    validity = validity_gates(signals, params)
    if has_sessions(signals).any():
        return {**validity, "supports_its_session": signals.level == SESSION}
    found = found_by_any_retriever(signals)
    beside_found = neighbour_anchors(signals, np.zeros(len(signals)), found) >= 0
    return {**validity, "neighbour_of_no_result": found | ~beside_found}


def fused_score(score: Term) -> Array:
    """The RRF within a final score, for a session with the support of its turns."""
    *fused, _ = score.parts  # the last is the memory score's share
    return total(fused).value


def order(
    score: Term, signals: Signals, params: MemsenseParams, passed_rows: Codes, top_k: int, diversify: bool
) -> Order:
    r"""Greedy MMR on the raw final score of the best fused; near-duplicates of a pick are skipped.

    $$ \lambda \cdot \text{final_score} - (1 - \lambda) \cdot \max_{s \in S} \text{redundancy}(m, s) $$
    """
    limit = candidate_limit(top_k, params.limit_factor, params.limit_least)
    fused = signals.batches.top(fused_score(score), signals.id_ranks, passed_rows, limit)
    limited = top_by_score(score, signals, fused)
    if signals.vectors is None or len(limited) == 0:
        selection = Order(signals.batches.first(limited, top_k))
    else:
        options = {"balance": params.mmr_lambda, "tag_share": params.tag_share, "skip_at": params.duplicate}
        selection = select_by_mmr(signals, limited, score.value, top_k, signals.tag_bits, **options)
    return selection if has_sessions(signals).any() else with_neighbours(score, signals, params, selection)


def with_neighbours(score: Term, signals: Signals, params: MemsenseParams, selection: Order) -> Order:
    r"""The selected chunks, followed by those beside them in their sessions.

    A neighbour that no retriever found gets a share of the score of its anchor, the better of the selected beside it.

    $$ \text{final_score}(m) = 0.5 \cdot \max_{s \in S,\ |\text{position}(s) - \text{position}(m)| = 1}
       \text{final_score}(s) $$
    """
    selected = np.zeros(len(signals), bool)
    selected[selection.rows] = True
    valid = passing(signals, validity_gates(signals, params))
    anchors = np.where(valid, neighbour_anchors(signals, score.value, selected), -1)
    rows = np.flatnonzero(anchors >= 0)
    if not len(rows):
        return selection
    place = np.empty(len(signals), np.intp)
    place[selection.rows] = np.arange(len(selection.rows))
    rows = rows[np.lexsort((signals.id_ranks[rows], signals.position[rows], place[anchors[rows]]))]
    together = np.concatenate([selection.rows, rows])
    by_batch = np.argsort(signals.batches.batch_index[together], kind="stable")
    sharing = np.where(found_by_any_retriever(signals), -1, anchors)
    if (sharing >= 0).any():
        share = (params["neighbour_share"] * score.take(sharing).with_name("anchor")).with_name("neighbour")
        own = [part.only(sharing < 0) for part in score.parts]
        score = total([*own, share]).with_name("final_score")
    return selection._replace(
        rows=together[by_batch],
        score=score,
        anchors=dict(zip(rows.tolist(), anchors[rows].tolist(), strict=True)),
    )


def details(signals: Signals, params: MemsenseParams, order: Order, row: int) -> dict[str, Any]:
    """Details of a result: what its score is made of, its retrievers, its anchor, and the turns behind a session."""
    base = memsense_rrf(signals, params)
    rrf_score, memory_score = float(base.value[row]), float(stored_score(signals)[row])
    found_by = finding_retrievers(signals, MEMSENSE_RETRIEVERS, row)
    anchor = order.anchors.get(row)
    explain: dict[str, Any] = {
        "rrf_score": rrf_score,
        "memory_score": memory_score,
        "memory_share": params.memory_weight * memory_score,
        "found_by": found_by,
        "neighbour_of": None if anchor is None else str(signals.ids[anchor]),
        "anchor_share": None if anchor is None or found_by or order.score is None else float(order.score.value[row]),
    }
    if signals.level[row] == SESSION:
        explain |= session_support(signals, params, base.value, row)
    return {"rrf_score": rrf_score, "found_by": found_by, "explain": explain}


def session_support(signals: Signals, params: MemsenseParams, values: Array, row: int) -> dict[str, Any]:
    """How the turns of a session support it."""
    turns = (signals.level == TURN) & (signals.session >= 0)
    best = int(best_in_session(values, turns, signals.session, signals.id_ranks)[row])
    # A turn that no retriever found does not count as support.
    supporting = turns & found_by_any_retriever(signals) & (signals.session == signals.session[row])
    return {
        "session_rrf_score": float(values[row]),
        "turn_support": min(params.turn_share * float(values[best]), params.turn_cap) if best >= 0 else 0.0,
        "supporting_turn_count": int(supporting.sum()),
        "best_turn_found_by": finding_retrievers(signals, MEMSENSE_RETRIEVERS, best) if best >= 0 else [],
    }


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
    summary="Reciprocal rank fusion of eight retrievers; sessions first, else chunks and the ones beside them; MMR.",
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
