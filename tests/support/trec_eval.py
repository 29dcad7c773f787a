"""trec_eval, the reference implementation of the metrics."""

from collections.abc import Mapping

import pytrec_eval

Grades = Mapping[str, Mapping[str, int]]
MEASURES = {
    "ndcg@10": "ndcg_cut_10",
    "ndcg@30": "ndcg_cut_30",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "mrr": "recip_rank",
    "map": "map",
}


def trec_eval(grades: Grades, ranked: Mapping[str, list[str]], metric: str) -> dict[str, float]:
    """The metric of each query; trec_eval's gain is the grade itself, so nDCG is given 2^grade - 1."""
    gains = {query: {id: 2**grade - 1 for id, grade in judged.items()} for query, judged in grades.items()}
    scores = {query: {id: 1.0 / rank for rank, id in enumerate(ids, 1)} for query, ids in ranked.items()}
    measured = pytrec_eval.RelevanceEvaluator(gains, {MEASURES[metric]}).evaluate(scores)
    return {query: measured.get(query, {}).get(MEASURES[metric], 0.0) for query in grades}
