"""memsense (seed 003): eight routes fused by rank, sessions first, repetition avoided."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.fusion import candidate_limit, rrf
from scoring.params import Params, number
from scoring.signals import LEVELS, ROUTES, Signals
from scoring.systems.system import Order, System, by_score, found_by, selected, valid
from scoring.term import Array, Codes, Mask, Term, const, given, least, total

SESSION, TURN = LEVELS.index("session"), LEVELS.index("turn")

_fusion = partial(number, group="Fusion", seed="003 Step 2")
_final = partial(number, group="Final score", seed="003 Step 3")
_select = partial(number, group="Selection", low=0, high=1, step=0.01, seed="003 Step 4")
_pool = partial(number, group="Candidates", step=1, scope="candidates", seed="003 Step 1")


@dataclass(frozen=True)
class MemsenseParams(Params):
    """What memsense lets a caller turn."""

    rrf_k: float = _fusion(15.0, "how flat ranks count", low=1, high=200, step=1)
    memory_weight: float = _final(0.1, "pull of the stored score", low=0, high=1, step=0.01)
    turn_share: float = _final(0.6, "how much of its best turn a session gets", low=0, high=1, step=0.05)
    turn_cap: float = _final(0.12, "the most that a turn adds", low=0, high=0.5, step=0.01)
    neighbour_share: float = number(
        0.5,
        "what a neighbour gets of its anchor's score",
        group="Final score",
        low=0,
        high=1,
        step=0.05,
        seed="ours: the paper names no share",
    )
    mmr_lambda: float = _select(0.78, "relevance against novelty")
    duplicate: float = _select(0.94, "as alike as this is skipped")
    tag_share: float = _select(0.35, "how much common tags count as repetition")
    limit_factor: int = _pool(4, "candidates kept for each result", low=1, high=20)
    limit_least: int = _pool(32, "candidates kept at least", low=1, high=500)
    route_widening: int = _pool(2, "how much wider each route asks", low=1, high=10)
    route_least: int = _pool(40, "candidates a route is asked for at least", low=1, high=500)


def fused(signals: Signals, params: MemsenseParams) -> Term:
    r"""rrf_score = sum(1 / (15 + rank_in_route))

    $$ \text{rrf_score} = \sum_{\text{route}} \frac{1}{15 + \text{rank}_{\text{route}}} $$
    """
    ranks = {route: signals.placed(route) for route in ROUTES}
    return rrf(ranks, dict.fromkeys(ROUTES, const(1.0)), params["rrf_k"]).named("rrf_score")


def best_of_session(values: Array, members: Mask, session: Codes, place: Codes) -> Codes:
    """For each candidate, the member of its session with the highest value, ties by id; −1 where there is none."""
    rows = np.flatnonzero(members & (session >= 0))
    rows = rows[np.lexsort((-place[rows], values[rows]))]
    winner = np.full(int(session.max(initial=-1)) + 2, -1, np.intp)
    winner[session[rows]] = rows  # later rows overwrite, so the best one stays
    return winner[session]


def anchor_of(signals: Signals, values: Array, found: Mask) -> Codes:
    """For each candidate no route found, the better of its two neighbours in the session; −1 where there is none."""
    anchors = np.full(len(signals), -1, np.intp)
    placed = (signals.session >= 0) & (signals.position >= 0)
    lost, rows = np.flatnonzero(~found & placed), np.flatnonzero(found & placed)
    if not len(lost) or not len(rows):
        return anchors
    place = signals.session * (signals.position.max() + 3) + signals.position
    rows = rows[np.isin(place[rows], np.concatenate([place[lost] - 1, place[lost] + 1]))]
    if not len(rows):
        return anchors
    rows = rows[np.lexsort((-signals.by_id[rows], values[rows], place[rows]))]
    highest = np.full(len(lost), -np.inf)
    for step in (-1, 1):
        # The last row of a place is its best one.
        beside = rows[np.searchsorted(place[rows], place[lost] + step, side="right") - 1]
        better = (place[beside] == place[lost] + step) & (values[beside] > highest)
        anchors[lost[better]] = beside[better]
        highest = np.where(better, values[beside], highest)
    return anchors


def sessions_there(signals: Signals) -> Mask:
    """Of each batch, whether a session chunk can come back; one that has expired does not push the others aside."""
    holds = np.logical_and.reduce(list(valid(signals, None).values()))
    return signals.batches.any(holds & (signals.level == SESSION))


def score(signals: Signals, params: MemsenseParams) -> Term:
    r"""Sessions first where there are any: rrf, bounded support of the best turn, and the stored quality.

    $$ \text{final_score} = \begin{cases}
       \text{session_rrf} + \min(0.12,\ 0.6 \cdot \text{best turn rrf}) + 0.1 \cdot \text{memory_score}
       & \text{sessions} \\
       \text{rrf_score} + 0.1 \cdot \text{memory_score} & \text{chunks} \end{cases} $$
    """
    base = fused(signals, params)
    stored = given("memory score", np.where(np.isnan(signals.memory_score), signals.confidence, signals.memory_score))
    memory = (params["memory_weight"] * stored).named("memory")
    if sessions_there(signals).any():
        turns = best_of_session(base.value, signals.level == TURN, signals.session, signals.by_id)
        support = least(params["turn_share"] * base.taken(turns).named("best turn"), params["turn_cap"])
        session_rrf = base.named("session_rrf_score")
        return total([session_rrf, support.named("turn_support").only(signals.level == SESSION), memory]).named(
            "final_score"
        )
    final = total([base, memory])
    anchors = anchor_of(signals, final.value, found(signals))
    if (anchors < 0).all():
        return final.named("final_score")
    beside = params["neighbour_share"] * final.taken(anchors).named("anchor")
    return total([final.only(anchors < 0).named("own"), beside.named("neighbour")]).named("final_score")


def gates(signals: Signals, params: MemsenseParams) -> dict[str, Mask]:
    """Turns support their session and do not come back themselves while a session chunk is there."""
    carried = (signals.level == SESSION) | (not sessions_there(signals).any())
    return {**valid(signals, params), "supports_its_session": carried}


def order(score: Term, signals: Signals, params: MemsenseParams, kept: Codes, top_k: int, diversify: bool) -> Order:
    r"""Greedy selection on the raw final score; what repeats a chosen one is skipped.

    $$ \lambda \cdot \text{final_score} - (1 - \lambda) \cdot \max_{s \in S} \text{redundancy}(m, s) $$
    """
    limited = by_score(score, signals, kept, candidate_limit(top_k, params.limit_factor, params.limit_least))
    if signals.vectors is None or len(limited) == 0:
        return Order(signals.batches.first(limited, top_k))
    how = {"balance": params.mmr_lambda, "tag_share": params.tag_share, "skip_at": params.duplicate}
    return selected(signals, limited, score.value, top_k, signals.tag_words, **how)


def details(signals: Signals, params: MemsenseParams, row: int) -> dict[str, Any]:
    """What a result says of itself besides its score: its routes, and of a session the turns that carry it."""
    base = fused(signals, params)
    told: dict[str, Any] = {"rrf_score": float(base.value[row]), "routes": found_by(signals, ROUTES, row)}
    if signals.level[row] != SESSION:
        return {**told, "explain": None}
    turns = (signals.level == TURN) & (signals.session >= 0)
    best = int(best_of_session(base.value, turns, signals.session, signals.by_id)[row])
    support = min(params.turn_share * float(base.value[best]), params.turn_cap) if best >= 0 else 0.0
    # A turn that only stands beside one that was found supports nothing.
    supporting = turns & found(signals) & (signals.session == signals.session[row])
    explain = {
        "session_rrf_score": float(base.value[row]),
        "turn_support": support,
        "supporting_turn_count": int(supporting.sum()),
        "best_turn_routes": found_by(signals, ROUTES, best) if best >= 0 else [],
    }
    return {**told, "explain": explain}


def found(signals: Signals) -> Mask:
    """Whom some route found; the others stand beside one in its session."""
    masks = [signals.placed(route).present for route in ROUTES]
    there: Mask = np.logical_or.reduce([np.ones(len(signals), bool) if mask is None else mask for mask in masks])
    return there


SYSTEM = System(
    name="memsense",
    seed="003",
    summary="Asks eight routes, fuses them by rank, puts sessions first and avoids saying things twice.",
    params=MemsenseParams,
    routes=ROUTES,
    reads=("tags", "vectors"),
    score=score,
    gates=gates,
    order=order,
    outputs={"final_score": "final_score"},
    shares={route: route for route in ROUTES},
    details=details,
    conversations=True,
    alike=sessions_there,
)
