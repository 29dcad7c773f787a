r"""Calibration on annotated data (appendix A of the paper)."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.fusion import rrf
from scoring.metrics import ndcg
from scoring.term import Array

# The domains of the paper's 500 conversations.
DOMAINS = (
    "software development",
    "legal research",
    "personal productivity",
    "healthcare coordination",
    "education",
)


def cohens_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    r"""Agreement of two raters beyond chance.

    $$ \kappa = \frac{p_o - p_e}{1 - p_e} $$

    NaN if both raters use a single label: expected agreement is 1.

    >>> round(cohens_kappa("yynnyynn", "yynnyyny"), 4), cohens_kappa("nnn", "nnn")
    (0.75, nan)
    """
    observed, chance = _agreement(one, other)
    return (observed - chance) / (1.0 - chance) if chance < 1.0 else math.nan


def kappa_standard_error(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    r"""Standard error of kappa for a sample of this size.

    $$ \text{SE} = \frac{\sqrt{p_o (1 - p_o) / n}}{1 - p_e} $$

    >>> round(kappa_standard_error("yynnyynn", "yynnyyny"), 4)
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


class WeightFit(NamedTuple):
    """Fitted weights, and the squared error before and after."""

    weights: Array
    before: float
    after: float


def fit_weights(signals: Array, ratings: Array, start: Array, *, steps: int, rate: float) -> WeightFit:
    r"""Fit positive weights that sum to 1 to the ratings, by gradient descent.

    $$ \min_\theta \sum_m \left(\text{signals}_m \cdot \mathrm{softmax}(\theta) - \text{rated}_m\right)^2 $$

    >>> signals = np.eye(4)
    >>> fit_weights(signals, np.array([0.4, 0.3, 0.2, 0.1]), np.full(4, 0.25), steps=2000, rate=0.5).weights.round(3)
    array([0.4, 0.3, 0.2, 0.1])
    """
    theta = np.log(start)
    # Precomputed normal equations: the cost of a step does not depend on the number of ratings.
    gram, moment = signals.T @ signals / len(ratings), signals.T @ ratings / len(ratings)
    for _ in range(steps):
        weights = _softmax(theta)
        gradient = 2.0 * (gram @ weights - moment)
        theta = theta - rate * len(start) * weights * (gradient - weights @ gradient)
    fitted = _softmax(theta)
    return WeightFit(fitted, _squared_error(signals, start, ratings), _squared_error(signals, fitted, ratings))


def _softmax(theta: Array) -> Array:
    exponentials = np.exp(theta - theta.max())
    return np.asarray(exponentials / exponentials.sum())


def _squared_error(signals: Array, weights: Array, ratings: Array) -> float:
    return float(np.mean((signals @ weights - ratings) ** 2))


class DedupErrors(NamedTuple):
    """Error rates of a threshold on judged pairs."""

    threshold: float
    false_positives: float
    false_negatives: float
    total: float
    cost: float


def total_error(false_positives: float, false_negatives: float) -> float:
    r"""Sum of the false positive and the false negative rate.

    $$ \text{FPR} + \text{FNR} $$

    >>> total_error(2, 5)
    7
    """
    return false_positives + false_negatives


def dedup_sweep(
    similarity: Array, duplicate: Array, thresholds: Sequence[float], *, merge_cost: float
) -> list[DedupErrors]:
    r"""Error rates of merging above each threshold; a false merge loses data, so it can be weighted higher.

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


def kappa_suffices(kappa: float, gate: float) -> bool:
    r"""Whether the raters agree well enough to calibrate.

    $$ \kappa > 0.75 $$

    >>> kappa_suffices(0.79, 0.75), kappa_suffices(0.71, 0.75)
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
    r"""Mean nDCG of the same ranked lists, fused with different RRF k.

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
    r"""Logistic mapping of annotator agreement to a type prior.

    $$ t = 0.70 + 0.20 \cdot \frac{1}{1 + e^{-a(\text{agreement} - b)}} $$

    >>> [round(type_prior(a, low=0.7, span=0.2, steepness=20, midpoint=0.835), 2) for a in (0.95, 0.72)]
    [0.88, 0.72]
    """
    return low + span / (1.0 + math.exp(-steepness * (agreement - midpoint)))


def expected_calibration_error(confidence: Array, correct: Array, bins: int) -> float:
    r"""Expected calibration error: mean gap between confidence and accuracy over bins.

    $$ \text{ECE} = \sum_b \frac{|b|}{N}\,\left|\text{acc}(b) - \text{conf}(b)\right| $$

    >>> round(expected_calibration_error(np.array([0.9, 0.9]), np.array([1.0, 0.0]), 10), 2)
    0.4
    """
    index = np.minimum((confidence * bins).astype(int), bins - 1)
    size = np.bincount(index, minlength=bins)
    gap = np.abs(np.bincount(index, correct, bins) - np.bincount(index, confidence, bins))
    return float(gap.sum() / size.sum()) if size.sum() else 0.0


class ReliabilityBin(NamedTuple):
    """One bin of the reliability curve."""

    low: float
    high: float
    memories: int
    confidence: float  # mean
    right: float  # share of correct memories


def reliability_curve(confidence: Array, correct: Array, bins: int) -> list[ReliabilityBin]:
    r"""Accuracy against confidence in equal-width bins; empty bins are left out.

    $$ \text{acc}(b) \ \text{against}\ \text{conf}(b) $$

    >>> [bin.memories for bin in reliability_curve(np.array([0.55, 0.5, 0.9]), np.array([1.0, 0.0, 1.0]), 10)]
    [2, 1]
    """
    index = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        ReliabilityBin(
            number / bins,
            (number + 1) / bins,
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(correct[inside].mean()),
        )
        for number in np.unique(index)
        for inside in [index == number]
    ]


class Finding(NamedTuple):
    """A recommended change, its reason and the parameter values."""

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
    r"""The paper's two recalibration triggers; the Preference prior comes first.

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


def index_alert(recalls: Sequence[float], *, threshold: float) -> bool:
    r"""Whether the mean recall of the vector index over some queries is below the threshold.

    $$ \mathrm{mean}\,\text{recall@}10 < 0.95 $$

    >>> index_alert([1.0, 0.8], threshold=0.95), index_alert([1.0, 0.8], threshold=0.9)
    (True, False)
    """
    return bool(recalls) and float(np.mean(recalls)) < threshold
