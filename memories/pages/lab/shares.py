"""What a score is made of: what each list brought, and what else was added; the parts add up to it."""

from collections.abc import Mapping

import numpy as np

from memories.pages.lab.routes import REST
from memories.retrieval.retrieve import Retrieval
from scoring.term import Array, Term

Parts = dict[str, Array]


def shares(retrieval: Retrieval) -> Parts:
    """How much of every candidate's score each list brought, then each other part of the sum by its name."""
    system, score, count = retrieval.query.setting.system, retrieval.ranking.score, len(retrieval.signals)
    wanted = {term: route for route, term in system.shares.items()}
    lists: Parts = {route: np.zeros(count) for route in system.shares}
    others: Parts = {}
    descend(score, np.ones(count), wanted, lists, others)
    parts = {name: part for name, part in (lists | others).items() if np.abs(part).any()}
    rest = score.value - sum(parts.values(), start=np.zeros(count))
    # What is left after rounding is not a part.
    left = np.abs(rest).max(initial=0.0) > 1e-9 * np.abs(score.value).max(initial=0.0)
    return {**parts, REST: rest} if left else parts


def descend(term: Term, factor: Array, wanted: Mapping[str, str], lists: Parts, others: Parts) -> None:
    """Follow sums down to the lists; what multiplies a sum multiplies each of its parts."""
    here = factor if term.present is None else np.where(term.present, factor, 0.0)
    name = str(term.name)
    if name in wanted and term.op not in ("param", "input"):
        lists[wanted[name]] = lists[wanted[name]] + here * term.value
    elif term.op == "+":
        for part in term.parts:
            descend(part, here, wanted, lists, others)
    elif summed := sum_within(term, wanted):
        descend(summed, here * beside(term, summed), wanted, lists, others)
    else:
        others[name] = others.get(name, 0.0) + here * term.value


def sum_within(term: Term, wanted: Mapping[str, str]) -> Term | None:
    """The factor of a product that lists were summed into."""
    if term.op != "×":
        return None
    return next((part for part in term.parts if any(str(one.name) in wanted for one in part.walk())), None)


def beside(term: Term, part: Term) -> Array:
    """The product of all factors but one; an absent one counts nothing."""
    value: Array = np.asarray(1.0)
    for one in term.parts:
        if one is not part:
            value = value * (one.value if one.present is None else np.where(one.present, one.value, 1.0))
    return value
