"""How much of a query's words each candidate holds."""

import numpy as np

from memories.retrieval.facts import Facts
from memories.retrieval.reading import Reading
from memories.retrieval.retrievers.bm25 import HIDDEN
from memories.retrieval.scope import Scope
from scoring.term import Array

HELD = """
    SELECT p.memory_id, p.term FROM memories_posting p
    WHERE p.namespace_id = %(namespace)s AND p.memory_id = ANY(%(ids)s::uuid[]) AND p.term = ANY(%(terms)s)
"""


def coverages(facts: Facts, reading: Reading, scope: Scope) -> Array:
    """The share of the query's words that a candidate holds, each word by how much it tells; unknown words count."""
    terms = list(reading.words.holding)
    covered = np.zeros(len(facts.ids))
    if not terms:
        return covered
    hidden = f"UNION ALL SELECT id, lexeme FROM ({HIDDEN}) AS hidden(id, lexeme, frequency)" if scope.gone else ""
    values = {"terms": terms, "gone": list(scope.gone), "config": facts.query.namespace.text_config}
    idfs = dict(zip(terms, reading.words.idfs(terms).tolist(), strict=True))
    places = {id: place for place, id in enumerate(facts.ids)}
    for memory, term in facts.ask(f"{HELD} {hidden}", **values):
        if memory in places and term in idfs:
            covered[places[memory]] += idfs[term]
    return np.asarray(covered / sum(idfs.values()))
