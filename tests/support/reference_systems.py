"""The six systems a second time, as plain loops written from the papers and the rulings alone: slow and literal.

A function named after a system gives its scores (NaN where the text gives none), `order_…` the ids that come back, best
first. `claimed` is the order of the code under test; it is asked only between candidates whose values lie closer than
`TIE`, where rounding decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from math import fsum
from typing import Any

from scoring.signals import EDGE_KINDS, KINDS, LEVELS, MEMSENSE_RETRIEVERS, RETRIEVERS, TYPES, Signals
from scoring.systems.adaptive import AdaptiveParams
from scoring.systems.blend import BlendParams
from scoring.systems.contextdb import ContextdbParams
from scoring.systems.memorysync import MemorysyncParams
from scoring.systems.memsense import MemsenseParams
from scoring.systems.recall import ConfidenceGateParams, FreshnessParams, RecallParams

TIE = 1e-12
FACTORS = ("semantic", "cluster", "recency", "importance", "usage", "quality", "decay", "graph")

Similarity = Callable[[int, int], float]


def min_max_scaled(values: Mapping[int, float], passing: Iterable[int], equal: float = 0.0) -> dict[int, float]:
    """Min–max by row over those that pass; what is filtered is clamped; where all are equal, each is `equal`."""
    among = [values[row] for row in passing if row in values]
    low, high = min(among, default=0.0), max(among, default=0.0)
    return {
        row: (min(max(value, low), high) - low) / (high - low) if high > low else equal for row, value in values.items()
    }


def best_first(values: Mapping[int, float], s: Signals, claimed: list[Any]) -> list[int]:
    """Rows by value, largest first, ties by id."""
    if not claimed:
        return sorted(values, key=lambda row: (-values[row], s.ids[row]))
    return greedy(values, lambda row, chosen: values[row], s, claimed, len(values))


def greedy(
    rows: Iterable[int], gain: Callable[[int, list[int]], float], s: Signals, claimed: list[Any], k: int
) -> list[int]:
    """Take what gains most at each step until nothing is left that may be taken (a gain of −inf) or k are chosen."""
    chosen: list[int] = []
    left = set(rows)
    while left and len(chosen) < k:
        gains = {row: gain(row, chosen) for row in left}
        best = min(left, key=lambda row: (-gains[row], s.ids[row]))
        if gains[best] == -math.inf:
            break
        said = claimed[len(chosen)] if len(chosen) < len(claimed) else None
        take = next((row for row in left if s.ids[row] == said and gains[row] > gains[best] - TIE), best)
        chosen.append(take)
        left.remove(take)
    return chosen


def mmr(
    relevance: Mapping[int, float], similarity: Similarity, lam: float, s: Signals, claimed: list[Any], k: int
) -> list[int]:
    """λ·relevance − (1−λ)·maximum similarity to a chosen one."""

    def gain(row: int, chosen: list[int]) -> float:
        return lam * relevance[row] - (1 - lam) * max((similarity(row, other) for other in chosen), default=0.0)

    return greedy(relevance, gain, s, claimed, k)


def cosines(s: Signals) -> Similarity:
    """The cosine between two candidates' vectors; 0 where there are none."""
    vectors: list[list[float]] = [] if s.vectors is None else s.vectors.tolist()

    def cosine(i: int, j: int) -> float:
        if not vectors:
            return 0.0
        a, b = vectors[i], vectors[j]
        return fsum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)

    cache: dict[tuple[int, int], float] = {}

    def cached_score(i: int, j: int) -> float:
        pair = (min(i, j), max(i, j))
        if pair not in cache:
            cache[pair] = cosine(*pair)
        return cache[pair]

    return cached_score


def freshness(i: int, s: Signals, p: FreshnessParams) -> float:
    """max(2^(−age/τ), floor); a negative age counts as zero."""
    half_life = getattr(p, f"half_life_{TYPES[s.type[i]].lower()}")
    return max(math.exp2(-max(float(s.age_days[i]), 0.0) / half_life), p.freshness_floor)


def valid(i: int, s: Signals) -> bool:
    """Neither expired nor not yet valid; a gate of every system."""
    return bool(s.hours_left[i] > 0 and s.valid_hours[i] >= 0)


def passing(s: Signals, p: Any) -> list[int]:
    """The rows that can come back."""
    gated = isinstance(p, ConfidenceGateParams)
    return [i for i in range(len(s)) if valid(i, s) and (not gated or passes_confidence(i, s, p))]


def passes_confidence(i: int, s: Signals, p: ConfidenceGateParams) -> bool:
    """Passes the confidence gate, or the gate is off."""
    return not p.confidence_gate or bool(s.confidence[i] >= p.min_confidence)


def rrf(i: int, s: Signals, k: float, weights: Mapping[str, float]) -> float:
    """Σ wᵢ/(k + rankᵢ), absent 0."""
    return fsum(weight / (k + float(s.rank(retriever)[i])) for retriever, weight in weights.items())


def recall_rrf(i: int, s: Signals, p: RecallParams) -> float:
    """Recall's five retrievers and the reranker, each with its own weight."""
    return rrf(i, s, p.rrf_k, {retriever: getattr(p, f"weight_{retriever}") for retriever in (*RETRIEVERS, "rerank")})


def access_boost(i: int, s: Signals) -> float:
    """1 + ln(1 + count)."""
    return 1 + math.log(1 + float(s.access_count[i]))


def recall(s: Signals, p: RecallParams) -> list[float]:
    """RRF × freshness × access_boost."""
    return [recall_rrf(i, s, p) * freshness(i, s, p) * access_boost(i, s) for i in range(len(s))]


def order_recall(s: Signals, p: RecallParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """The best `cut` that pass the gates, diversified if the plan or the caller says so."""
    return _order_recall(recall(s, p), s, p, top_k, diversify, claimed)


def _order_recall(
    weight: list[float], s: Signals, p: RecallParams, top_k: int, diversify: bool, claimed: list[Any]
) -> list[Any]:
    passed = {i: weight[i] for i in passing(s, p)}
    if p.mmr == "on" or (p.mmr == "plan" and diversify):
        pool = best_first(passed, s, [])[: p.cut]
        raw = {i: recall_rrf(i, s, p) for i in passed}
        relevance = raw if p.mmr_relevance == "raw" else min_max_scaled(passed, passed)
        rows = mmr({i: relevance[i] for i in pool}, cosines(s), p.mmr_lambda, s, claimed, top_k)
    else:
        rows = best_first(passed, s, claimed)[: min(p.cut, top_k)]
    return [s.ids[i] for i in rows]


def adaptive(s: Signals, p: AdaptiveParams) -> list[float]:
    """Recall's weight × (.5 + .05 × belief); a protected memory's freshness is 1."""
    scores = []
    for i in range(len(s)):
        belief = float(s.belief[i])
        fresh = 1.0 if s.protected[i] else freshness(i, s, p)
        scores.append(recall_rrf(i, s, p) * fresh * access_boost(i, s) * (p.belief_floor + p.belief_slope * belief))
    return scores


def order_adaptive(s: Signals, p: AdaptiveParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """As recall, by adaptive's score."""
    return _order_recall(adaptive(s, p), s, p, top_k, diversify, claimed)


def _raw_factors(s: Signals, p: MemorysyncParams) -> dict[str, list[float]]:
    rows = range(len(s))
    half_life = getattr(p, f"half_life_{(s.intent if p.intent == 'query' else p.intent).lower()}")
    hours = [max(float(s.age_days[i]), 0.0) * 24 for i in rows]
    centroid = [float(s.cosine[i] if math.isnan(s.cluster_cosine[i]) else s.cluster_cosine[i]) for i in rows]
    return {
        "semantic": [1 - min(max(1 - float(s.cosine[i]), 0.0), 1.0) for i in rows],
        "cluster": [(cosine + 1) / 2 for cosine in centroid],
        "recency": [math.exp(-hour * math.log(2) / half_life) for hour in hours],
        "importance": s.importance.tolist(),
        "usage": [min(1.0, math.log(1 + float(s.access_count[i])) / p.usage_ceiling) for i in rows],
        "quality": s.quality.tolist(),
        "decay": [freshness(i, s, p) for i in rows],
    }


def _weighted_sum(factors: Mapping[str, list[float]], s: Signals, p: MemorysyncParams) -> list[float]:
    emphasis = s.emphasis if p.emphasis == "query" else p.emphasis
    emphasised = {"factual": "semantic", "recent": "recency", "analytical": "graph"}.get(emphasis)
    weight = {name: getattr(p, f"weight_{name}") + (name == emphasised) * p.emphasis_bump for name in FACTORS}
    denominator = fsum(weight.values())
    norms = {name: min_max_scaled(dict(enumerate(values)), passing(s, p)) for name, values in factors.items()}
    return [fsum(weight[name] / denominator * norm[i] for name, norm in norms.items()) for i in range(len(s))]


def _edges(s: Signals) -> list[tuple[int, int, str, float]]:
    e = s.edges
    one_way = list(zip(e.source.tolist(), e.target.tolist(), e.kind.tolist(), e.weight.tolist(), strict=True))
    both = one_way + [(target, source, kind, weight) for source, target, kind, weight in one_way]
    return [(source, target, EDGE_KINDS[kind], weight) for source, target, kind, weight in both]


def _top(values: list[float], s: Signals, p: Any, count: int) -> list[int]:
    return best_first({i: values[i] for i in passing(s, p)}, s, [])[:count]


def anchor_rows(s: Signals, p: MemorysyncParams) -> list[int]:
    """The anchors: the best of the semantic list that pass."""
    ranks = {i: float(s.rank("semantic")[i]) for i in passing(s, p) if math.isfinite(s.rank("semantic")[i])}
    return sorted(ranks, key=lambda i: (ranks[i], s.ids[i]))[: p.anchors]


def hybrid(s: Signals, p: MemorysyncParams) -> list[float]:
    """The weighted sum of eight factors."""
    anchors = anchor_rows(s, p)
    graph = [0.0] * len(s)
    for source, target, _, weight in _edges(s):
        if source in anchors:
            graph[target] = max(graph[target], weight)
    return _weighted_sum({**_raw_factors(s, p), "graph": graph}, s, p)


def edge_boosts(s: Signals, p: MemorysyncParams) -> list[float]:
    """The largest edge boost by which a path from an anchor, through those that pass, reaches a memory."""
    boosts, passed = [0.0] * len(s), passing(s, p)
    leaving: dict[int, list[tuple[int, str]]] = {}
    for source, target, kind, _ in _edges(s):
        leaving.setdefault(source, []).append((target, kind))

    def walk(path: list[int]) -> None:
        for target, kind in leaving.get(path[-1], []) if len(path) <= p.traversal_depth else []:
            if target not in path:
                boosts[target] = max(boosts[target], getattr(p, f"boost_{kind}"))
                if target in passed:
                    walk([*path, target])

    for anchor in anchor_rows(s, p):
        walk([anchor])
    return boosts


def memorysync(s: Signals, p: MemorysyncParams) -> list[float]:
    """The hybrid score plus edge, personalisation and session boosts."""
    personal = [min(p.personalisation_cap, p.personalisation_rate * float(affinity)) for affinity in s.affinity]
    session = [p.session_boost if returned else 0.0 for returned in s.returned]
    return [fsum(parts) for parts in zip(hybrid(s, p), edge_boosts(s, p), personal, session, strict=True)]


def is_flat(s: Signals, p: MemorysyncParams) -> bool:
    """Whether the population σ of the hybrid score of those that pass, before boosts, is below the floor."""
    every = hybrid(s, p)
    base = [every[i] for i in passing(s, p)]
    mean = fsum(base) / len(base)
    return math.sqrt(fsum((value - mean) ** 2 for value in base) / len(base)) < p.tiebreak_sigma


def order_memorysync(s: Signals, p: MemorysyncParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """By score; if the batch is flat, by raw semantic, importance, recency and id, descending."""
    rows = passing(s, p)
    if rows and is_flat(s, p):
        semantic = _raw_factors(s, p)["semantic"]
        # A negative age counts as zero.
        chain = [(semantic[i], float(s.importance[i]), -max(float(s.age_days[i]), 0.0), s.ids[i]) for i in rows]
        return [link[-1] for link in sorted(chain, reverse=True)][:top_k]
    score = memorysync(s, p)
    return [s.ids[i] for i in best_first({i: score[i] for i in rows}, s, claimed)[:top_k]]


def _memsense_rrf(s: Signals, p: MemsenseParams) -> list[float]:
    return [rrf(i, s, p.rrf_k, dict.fromkeys(MEMSENSE_RETRIEVERS, 1.0)) for i in range(len(s))]


def available_sessions(s: Signals) -> list[int]:
    """The session chunks that pass the validity gates."""
    return [i for i in range(len(s)) if LEVELS[s.level[i]] == "session" and valid(i, s)]


def _same_session(i: int, j: int, s: Signals) -> bool:
    return bool(s.session[i] >= 0 and s.session[i] == s.session[j])


def _adjacent(i: int, j: int, s: Signals) -> bool:
    here, there = s.position[i], s.position[j]
    return _same_session(i, j, s) and bool(min(here, there) >= 0 and abs(here - there) == 1)


def memsense(s: Signals, p: MemsenseParams) -> list[float]:
    """RRF and memory score; a session gets support from its best turn."""
    rows = range(len(s))
    found = _memsense_rrf(s, p)
    final = [found[i] + _memory_share(i, s, p) for i in rows]
    if sessions := available_sessions(s):
        fused = _hybrid_rrf(s, p, sessions)
        return [fused[i] + _memory_share(i, s, p) if i in fused else math.nan for i in rows]
    return final


def _memory_share(i: int, s: Signals, p: MemsenseParams) -> float:
    return p.memory_weight * float(s.confidence[i] if math.isnan(s.memory_score[i]) else s.memory_score[i])


def _hybrid_rrf(s: Signals, p: MemsenseParams, sessions: list[int]) -> dict[int, float]:
    """RRF of the session and a capped share of its best turn's."""
    found = _memsense_rrf(s, p)
    turns = [j for j in range(len(s)) if LEVELS[s.level[j]] == "turn"]
    best = {i: max((found[j] for j in turns if _same_session(i, j, s)), default=0.0) for i in sessions}
    return {i: found[i] + min(p.turn_cap, p.turn_share * best[i]) for i in sessions}


def order_memsense(s: Signals, p: MemsenseParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """Sessions only if there are any, else chunks; of the best fused, the best, by MMR if there are vectors."""
    final, cosine, found = memsense(s, p), cosines(s), _memsense_rrf(s, p)
    sessions = available_sessions(s)
    chunks = [
        i
        for i in range(len(s))
        if valid(i, s) and (found[i] > 0 or not any(found[j] > 0 and _adjacent(i, j, s) for j in range(len(s))))
    ]
    fused = _hybrid_rrf(s, p, sessions) if sessions else {i: found[i] for i in chunks}
    pool = best_first(fused, s, [])[: max(p.limit_factor * top_k, p.limit_least)]
    pool = best_first({i: final[i] for i in pool}, s, [])
    if s.vectors is None:
        selected = [s.ids[i] for i in best_first({i: final[i] for i in pool}, s, claimed)[:top_k]]
        return selected if sessions else selected + neighbours_of(selected, s, p)
    tags = [set[int]() if s.tags is None else {t for t, has in enumerate(s.tags[i]) if has} for i in range(len(s))]

    def redundancy(i: int, j: int) -> float:
        either = tags[i] | tags[j]
        return max(cosine(i, j), p.tag_share * (len(tags[i] & tags[j]) / len(either) if either else 0.0))

    def gain(row: int, chosen: list[int]) -> float:
        nearest = max((redundancy(row, other) for other in chosen), default=0.0)
        novel = not chosen or nearest < p.duplicate
        return p.mmr_lambda * final[row] - (1 - p.mmr_lambda) * nearest if novel else -math.inf

    selected = [s.ids[i] for i in greedy(pool, gain, s, claimed, top_k)]
    return selected if sessions else selected + neighbours_of(selected, s, p)


def neighbours_of(selected: list[Any], s: Signals, p: MemsenseParams) -> list[Any]:
    """Who stands beside a selected chunk, by the place of the better one beside it, then by position and id."""
    anchors = anchors_of(selected, s, p)
    return [
        s.ids[i] for i in sorted(anchors, key=lambda i: (selected.index(s.ids[anchors[i]]), s.position[i], s.ids[i]))
    ]


def anchors_of(selected: list[Any], s: Signals, p: MemsenseParams) -> dict[int, int]:
    """The better selected chunk beside each valid one that is not selected."""
    final = memsense(s, p)
    anchors: dict[int, int] = {}
    for i in range(len(s)):
        beside = [j for j in range(len(s)) if s.ids[j] in selected and _adjacent(i, j, s)]
        if beside and s.ids[i] not in selected and valid(i, s):
            anchors[i] = min(beside, key=lambda j: (-final[j], s.position[j], s.ids[j]))
    return anchors


def contextdb(s: Signals, p: ContextdbParams) -> list[float]:
    """Weighted sum of similarity, trust, recency and utility."""
    denominator = p.similarity + p.confidence + p.recency + p.utility
    scores = []
    for i in range(len(s)):
        kind = KINDS[s.kind[i]]
        alpha = p.alpha if p.alpha_by == "query" or kind == "general" else getattr(p, f"alpha_{kind}")
        expiry = 1 - math.exp(-p.expiry_rate * max(float(s.hours_left[i]), 0.0))
        trust = float(s.confidence[i]) * p.attenuation ** float(s.provenance_depth[i]) * expiry
        recency = math.exp(-alpha * max(float(s.valid_hours[i]), 0.0))
        utility = (float(s.useful[i]) + 1) / (float(s.useful[i]) + float(s.not_useful[i]) + 2)
        parts = (
            p.similarity * max(float(s.cosine[i]), 0.0),
            p.confidence * trust,
            p.recency * recency,
            p.utility * utility,
        )
        scores.append(fsum(parts) / denominator)
    return scores


def order_contextdb(s: Signals, p: ContextdbParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """Valid candidates by score."""
    score = contextdb(s, p)
    return [s.ids[i] for i in best_first({i: score[i] for i in range(len(s)) if valid(i, s)}, s, claimed)[:top_k]]


def blend_fusion(s: Signals, p: BlendParams) -> list[float]:
    """Weighted sum of min–max scaled raw scores, where equal ones count fully, plus entity and temporal boosts."""
    weight = {retriever: getattr(p, f"weight_{retriever}") for retriever in (*RETRIEVERS, "context")}
    denominator = fsum(weight.values())
    parts = [[p.entity_boost * float(match)] for match in s.entity_match]
    for part, near in zip(parts, s.raw_scores("temporal"), strict=True):
        part.append(p.temporal_boost * float(near) if math.isfinite(near) else 0.0)
    for retriever in weight:
        raw = {i: float(score) for i, score in enumerate(s.raw_scores(retriever)) if math.isfinite(score)}
        for i, value in min_max_scaled(raw, passing(s, p), equal=1.0).items():
            parts[i].append(weight[retriever] / denominator * value)
    return [fsum(part) for part in parts]


def blend(s: Signals, p: BlendParams) -> list[float]:
    """Fused score, MaxSim for the top and for what is filtered, times the factors of what is known of a memory."""
    base, passed = blend_fusion(s, p), passing(s, p)
    known = [float(s.maxsim[i]) for i in passed if math.isfinite(s.maxsim[i])]
    position = min_max_scaled(dict(enumerate(base)), passed)
    imputed = [min(known) + (max(known) - min(known)) * position[i] if known else base[i] for i in range(len(s))]
    reranked = [*_top(base, s, p, p.rerank_top), *(i for i in range(len(s)) if i not in passed)]
    maxsim = {i: float(s.maxsim[i]) if math.isfinite(s.maxsim[i]) else imputed[i] for i in reranked}
    relevance = [p.rerank * maxsim.get(i, 0.0) + (1 - p.rerank) * base[i] for i in range(len(s))]
    return [relevance[i] * math.prod(blend_factors(i, s, p)) for i in range(len(s))]


def blend_factors(i: int, s: Signals, p: BlendParams) -> tuple[float, ...]:
    """Trust, age, belief, utility and use of a memory."""
    useful = (float(s.useful[i]) + 1) / (float(s.useful[i]) + float(s.not_useful[i]) + 2)
    return (
        1 + p.trust * (float(s.confidence[i]) - 0.5),
        1 + p.age * (freshness(i, s, p) - 0.5),
        1 + p.belief * (float(s.belief[i]) / 10 - 0.5),
        1 + p.utility * (useful - 0.5),
        1 + p.use * min(1.0, math.log(1 + float(s.access_count[i])) / p.usage_ceiling),
    )


def order_blend(s: Signals, p: BlendParams, top_k: int, diversify: bool, claimed: list[Any]) -> list[Any]:
    """By score, after the gates."""
    score = blend(s, p)
    return [s.ids[i] for i in best_first({i: score[i] for i in passing(s, p)}, s, claimed)[:top_k]]
