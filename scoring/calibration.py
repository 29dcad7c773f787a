r"""Appendix A of the paper: fit the constants to one's own annotated data."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.fusion import rrf
from scoring.metrics import ndcg
from scoring.term import Array


def cohens_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    r"""Agreement of two raters beyond chance.

    $$ \kappa = \frac{p_o - p_e}{1 - p_e} $$

    Not a number where both give one label throughout: chance alone agrees as much.

    >>> round(cohens_kappa("yynnyynn", "yynnyyny"), 4), cohens_kappa("nnn", "nnn")
    (0.75, nan)
    """
    observed, chance = _agreement(one, other)
    return (observed - chance) / (1.0 - chance) if chance < 1.0 else math.nan


def kappa_error(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    r"""How far kappa would scatter over other samples of as many items.

    $$ \text{SE} = \frac{\sqrt{p_o (1 - p_o) / n}}{1 - p_e} $$

    >>> round(kappa_error("yynnyynn", "yynnyyny"), 4)
    0.2339
    """
    observed, chance = _agreement(one, other)
    return math.sqrt(observed * (1.0 - observed) / len(one)) / (1.0 - chance) if chance < 1.0 else math.nan


def _agreement(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[float, float]:
    if not len(one):
        raise ValueError("agreement needs at least one rated item; got none")
    labels = set(one) | set(other)
    observed = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
    chance = sum((list(one).count(label) / len(one)) * (list(other).count(label) / len(other)) for label in labels)
    return observed, chance


class Fit(NamedTuple):
    """Weights that gradient descent found, and the error before and after."""

    weights: Array
    before: float
    after: float


def fit_weights(signals: Array, rated: Array, start: Array, *, steps: int, rate: float) -> Fit:
    r"""Positive weights of sum 1 that bring the formula nearest to the raters.

    $$ \min_\theta \sum_m \left(\text{signals}_m \cdot \mathrm{softmax}(\theta) - \text{rated}_m\right)^2 $$

    >>> signals = np.eye(4)
    >>> fit_weights(signals, np.array([0.4, 0.3, 0.2, 0.1]), np.full(4, 0.25), steps=2000, rate=0.5).weights.round(3)
    array([0.4, 0.3, 0.2, 0.1])
    """
    theta = np.log(start)
    # Both sides of the slope that no step changes, so that a step costs the same however much is rated.
    square, pull = signals.T @ signals / len(rated), signals.T @ rated / len(rated)
    for _ in range(steps):
        weights = _softmax(theta)
        slope = 2.0 * (square @ weights - pull)
        theta = theta - rate * len(start) * weights * (slope - weights @ slope)
    fitted = _softmax(theta)
    return Fit(fitted, _squared_error(signals, start, rated), _squared_error(signals, fitted, rated))


def _softmax(theta: Array) -> Array:
    raised = np.exp(theta - theta.max())
    return np.asarray(raised / raised.sum())


def _squared_error(signals: Array, weights: Array, rated: Array) -> float:
    return float(np.mean((signals @ weights - rated) ** 2))


class DedupErrors(NamedTuple):
    """What a threshold does wrong on judged pairs."""

    threshold: float
    false_positives: float
    false_negatives: float
    total: float
    cost: float


def total_error(wrong: float, missed: float) -> float:
    r"""Both kinds of error together, a false merge counted like a missed one.

    $$ \text{FPR} + \text{FNR} $$

    >>> total_error(2, 5)
    7
    """
    return wrong + missed


def dedup_sweep(
    similarity: Array, duplicate: Array, thresholds: Sequence[float], *, merge_cost: float
) -> list[DedupErrors]:
    r"""Error rates of merging above each threshold; a false merge destroys, so it may cost more.

    $$ \text{cost} = c \cdot \text{FPR} + \text{FNR} $$

    >>> dedup_sweep(np.array([0.95, 0.90]), np.array([True, True]), [0.92], merge_cost=2)[0].false_negatives
    0.5
    """
    same = duplicate.astype(bool)
    rows = []
    for threshold in thresholds:
        merged = similarity > threshold
        wrong = float(merged[~same].mean()) if (~same).any() else 0.0
        missed = float((~merged[same]).mean()) if same.any() else 0.0
        rows.append(DedupErrors(threshold, wrong, missed, total_error(wrong, missed), merge_cost * wrong + missed))
    return rows


def valid(kappa: float, gate: float) -> bool:
    r"""Whether raters agree well enough for a calibration to mean anything.

    $$ \kappa > 0.75 $$

    >>> valid(0.79, 0.75), valid(0.71, 0.75)
    (True, False)
    """
    return kappa > gate


def k_sweep(
    ranks: Sequence[Mapping[str, Array]],
    grades: Sequence[Array],
    weights: Mapping[str, float],
    ks: Sequence[float],
    at: int,
) -> dict[float, float]:
    r"""Mean nDCG of fusing the same ranked lists with different smoothing constants.

    $$ k \mapsto \mathrm{mean}\,\text{nDCG@}10\,(\text{RRF}_k) $$

    >>> lists = [{"semantic": np.array([1.0, 2.0]), "bm25": np.array([np.inf, 1.0])}]
    >>> k_sweep(lists, [np.array([0.0, 3.0])], {"semantic": 1.0, "bm25": 1.0}, [20, 60], 10)
    {20: 1.0, 60: 1.0}
    """
    return {
        k: float(np.mean([_fused_ndcg(*query, weights, k, at) for query in zip(ranks, grades, strict=True)]))
        for k in ks
    }


def _fused_ndcg(ranks: Mapping[str, Array], grades: Array, weights: Mapping[str, float], k: float, at: int) -> float:
    order = np.argsort(-rrf(ranks, weights, k), kind="stable")
    return float(ndcg(grades[order][None], -np.sort(-grades)[None], at)[0])


def type_prior(agreement: float, *, low: float, span: float, steepness: float, midpoint: float) -> float:
    r"""Annotators' agreement on a type, mapped into the range of priors.

    $$ t = 0.70 + 0.20 \cdot \frac{1}{1 + e^{-a(\text{agreement} - b)}} $$

    >>> [round(type_prior(a, low=0.7, span=0.2, steepness=20, midpoint=0.835), 2) for a in (0.95, 0.72)]
    [0.88, 0.72]
    """
    return low + span / (1.0 + math.exp(-steepness * (agreement - midpoint)))


def expected_calibration_error(confidence: Array, right: Array, bins: int) -> float:
    r"""How far confidence and truth lie apart, weighted over bins of confidence.

    $$ \text{ECE} = \sum_b \frac{|b|}{N}\,\left|\text{acc}(b) - \text{conf}(b)\right| $$

    >>> round(expected_calibration_error(np.array([0.9, 0.9]), np.array([1.0, 0.0]), 10), 2)
    0.4
    """
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    size = np.bincount(place, minlength=bins)
    gap = np.abs(np.bincount(place, right, bins) - np.bincount(place, confidence, bins))
    return float(gap.sum() / size.sum()) if size.sum() else 0.0


class Bin(NamedTuple):
    """Memories of about one confidence, and how many of them are right."""

    low: float
    high: float
    memories: int
    confidence: float  # means
    right: float


def reliability(confidence: Array, right: Array, bins: int) -> list[Bin]:
    r"""Confidence against truth in equal bins; bins without a memory are left out.

    $$ \text{acc}(b) \ \text{against}\ \text{conf}(b) $$

    >>> [one.memories for one in reliability(np.array([0.55, 0.5, 0.9]), np.array([1.0, 0.0, 1.0]), 10)]
    [2, 1]
    """
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        Bin(at / bins, (at + 1) / bins, int(mine.sum()), float(confidence[mine].mean()), float(right[mine].mean()))
        for at in np.unique(place)
        for mine in [place == at]
    ]


class Finding(NamedTuple):
    """Something the annotations say should be done, with the values to do it with."""

    what: str
    because: str
    change: dict[str, float]


def recalibration(
    direct_share: float,
    preference_kappa: float,
    *,
    direct_limit: float,
    kappa_limit: float,
    source_weight: float,
    extractor_weight: float,
) -> list[Finding]:
    r"""The paper's two triggers; the Preference prior comes first.

    $$ \kappa_{\text{Preference}} < 0.70, \qquad \text{share}(\text{direct}) > 0.9 $$
    """
    findings = []
    if preference_kappa < kappa_limit:
        findings.append(
            Finding("recalibrate the Preference prior first", f"κ {preference_kappa:.2f} < {kappa_limit:g}", {})
        )
    if direct_share > direct_limit:
        change = {"weight_source": source_weight, "weight_extractor": extractor_weight}
        findings.append(Finding("weigh the source less", f"{direct_share:.0%} are direct statements", change))
    return findings


def index_alert(found: Sequence[Sequence[Hashable]], exact: Sequence[Sequence[Hashable]], *, threshold: float) -> bool:
    r"""Whether the vector index misses too many of the true nearest neighbours.

    $$ \mathrm{mean}\,\text{recall@}10 < 0.95 $$

    >>> index_alert([["a", "b"]], [["a", "c"]], threshold=0.95)
    True
    """
    shares = [len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True) if b]
    return bool(shares) and float(np.mean(shares)) < threshold
