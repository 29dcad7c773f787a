"""Decomposes scores into contributions per retriever and other addends; they sum to the score."""

from collections.abc import Mapping

import numpy as np

from memories.pages.retriever_styles import REMAINDER
from memories.retrieval.retrieve import Retrieval
from scoring.term import Array, Term

Contributions = dict[str, Array]


def score_contributions(retrieval: Retrieval) -> Contributions:
    """Contribution of each retriever to every candidate's score, then each other addend by name."""
    system, score, count = retrieval.query.config.system, retrieval.ranking.score, len(retrieval.signals)
    retriever_of = {term: retriever for retriever, term in system.retriever_terms.items()}
    by_retriever: Contributions = {retriever: np.zeros(count) for retriever in system.retriever_terms}
    others: Contributions = {}
    collect_contributions(score, np.ones(count), retriever_of, by_retriever, others)
    parts = {name: part for name, part in (by_retriever | others).items() if np.abs(part).any()}
    rest = score.value - sum(parts.values(), start=np.zeros(count))
    # Ignore a remainder that is only rounding.
    has_remainder = np.abs(rest).max(initial=0.0) > 1e-9 * np.abs(score.value).max(initial=0.0)
    return {**parts, REMAINDER: rest} if has_remainder else parts


def collect_contributions(
    term: Term, factor: Array, retriever_of: Mapping[str, str], by_retriever: Contributions, others: Contributions
) -> None:
    """Walk sums down to the retrievers' terms; a factor of a sum multiplies each addend."""
    weight = factor if term.present is None else np.where(term.present, factor, 0.0)
    name = str(term.name)
    if name in retriever_of and term.op not in ("param", "input"):
        by_retriever[retriever_of[name]] = by_retriever[retriever_of[name]] + weight * term.value
    elif term.op == "+":
        for part in term.parts:
            collect_contributions(part, weight, retriever_of, by_retriever, others)
    elif summed := summed_factor(term, retriever_of):
        collect_contributions(summed, weight * product_of_others(term, summed), retriever_of, by_retriever, others)
    else:
        others[name] = others.get(name, 0.0) + weight * term.value


def summed_factor(term: Term, retriever_of: Mapping[str, str]) -> Term | None:
    """The factor of a product that contains retrievers' terms."""
    if term.op != "×":
        return None
    return next((part for part in term.parts if any(str(node.name) in retriever_of for node in part.walk())), None)


def product_of_others(term: Term, part: Term) -> Array:
    """The product of all factors but one; absent values count as 1."""
    value: Array = np.asarray(1.0)
    for other in term.parts:
        if other is not part:
            value = value * (other.value if other.present is None else np.where(other.present, other.value, 1.0))
    return value
