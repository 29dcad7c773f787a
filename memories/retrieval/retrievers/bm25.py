"""BM25: the postings of the query's terms are read, scored here, and the best are looked up by number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memories.db.pipeline import Rows, Staged, Statement
from memories.retrieval.postings import postings_from_rows, postings_statement
from memories.retrieval.retrievers.context import JOIN_MEMORY, RetrieverContext, top_sql
from scoring.bm25 import TS_RANK_NORMALIZATION, TS_WEIGHTS, score_postings
from scoring.systems.candidates import RetrieverParams
from scoring.term import Array

# Exact up to this many postings. Beyond, only the rarest terms within the budget count, at least two.
READ_BUDGET = 50_000
MIN_TERMS = 2
# Memories whose text ts_rank_cd parses. Of those found by their predicates the ones with most terms, then the newest.
TS_RANK_BUDGET = 2_000
DEFAULTS = RetrieverParams()  # the constants of systems that declare none

# The best come first, so that a list is full after few lookups.
FOUND = """
    SELECT d.memory_id AS id, best.score
    FROM (
        SELECT * FROM unnest(%(numbers)s::int[], %(scores)s::float8[]) AS scored(number, score) ORDER BY score DESC
    ) AS best
    CROSS JOIN LATERAL (
        SELECT d.memory_id FROM memories_document d
        WHERE d.namespace_id = %(namespace)s AND d.number = best.number {hidden}
    ) AS d
"""
# A hidden memory has no document; its number is its place in the list of the hidden, negated.
HIDDEN = "UNION ALL SELECT (%(hidden_since)s::uuid[])[-best.number] WHERE best.number < 0"
HIDDEN_PREDICATES = """
    UNION ALL
    SELECT h.id FROM memories_memory h, unnest(to_tsvector(%(config)s::regconfig, h.predicate)) w
    WHERE h.namespace_id = %(namespace)s AND h.id = ANY(%(hidden_since)s::uuid[]) AND w.lexeme = ANY(%(query_terms)s)
"""


def sql(context: RetrieverContext) -> Staged | None:
    """Okapi BM25 with the namespace's statistics, or Postgres' ts_rank_cd where the system says so."""
    if getattr(context.params, "lexical", "bm25") == "ts_rank_cd":
        return ts_rank_sql(context) if context.parsed.terms.document_frequencies else None
    terms = query_terms(context, READ_BUDGET)
    if not terms:
        return None

    def rank(rows: Rows) -> Statement:
        numbers, scores = best_scores(context, *bm25_scores(context, terms, rows))
        return context.statement(top_sql(found_sql(context)), numbers=numbers.tolist(), scores=scores.tolist())

    return Staged(postings_statement(context.scope, terms, context.namespace.text_config), rank)


def query_terms(context: RetrieverContext, budget: int) -> list[str]:
    """The lexemes to look for, rarest first, while their postings fit the budget, but at least two."""
    statistics = context.parsed.terms
    terms = statistics.by_rarity
    if context.scope.hidden_since:  # terms that only hidden memories hold are in no statistics
        terms = sorted(statistics.document_frequencies, key=statistics.document_frequencies.__getitem__)
    totals = np.cumsum([statistics.document_frequencies[term] for term in terms])
    return terms[: max(MIN_TERMS, int(np.searchsorted(totals, budget, side="right")))]


def bm25_scores(context: RetrieverContext, terms: list[str], rows: Rows) -> tuple[NDArray[np.int64], Array]:
    """The documents of the postings, by number, and their scores."""
    postings, statistics = postings_from_rows(rows), context.parsed.terms
    k1, b = (getattr(context.params, name, getattr(DEFAULTS, name)) for name in ("bm25_k1", "bm25_b"))
    return score_postings(
        postings.number,
        postings.frequency,
        postings.length,
        statistics.idfs(terms)[postings.term],
        average_length=statistics.average_length,
        k1=k1,
        b=b,
    )


def best_scores(
    context: RetrieverContext, numbers: NDArray[np.int64], scores: Array
) -> tuple[NDArray[np.int64], Array]:
    """The documents that fill the list, ties included; all of them if filters may take some away."""
    if not context.scope.plain or len(scores) <= context.depth:
        return numbers, scores
    best = scores >= np.partition(scores, -context.depth)[-context.depth]
    return numbers[best], scores[best]


def found_sql(context: RetrieverContext) -> str:
    """The memories in scope among the scored documents, with their scores."""
    found = FOUND.format(hidden=HIDDEN if context.scope.hidden_since else "")
    if context.scope.plain:
        return found
    return f"SELECT found.id, found.score FROM ({found}) AS found {JOIN_MEMORY} WHERE {context.scope.condition}"


def ts_rank_sql(context: RetrieverContext) -> Staged:
    """Cover density ranking of what rare terms and predicates find, as the paper's implementation does it."""
    lexemes = "setweight(to_tsvector(%(config)s::regconfig, m.{}), '{}')"
    vectors = " || ".join(lexemes.format(column, weight) for column, weight in TS_WEIGHTS.items())
    ranks = f"""
        SELECT m.id, ts_rank_cd({vectors}, %(tsquery)s::tsquery, {TS_RANK_NORMALIZATION})::float8 AS score
        FROM (SELECT id FROM ({found_sql(context)}) AS by_content UNION SELECT id FROM by_predicate) AS found
        {JOIN_MEMORY} WHERE {context.scope.condition}
    """
    every_term = sorted(context.parsed.terms.document_frequencies)
    values: dict[str, Any] = {
        "config": context.namespace.text_config,
        "query_terms": every_term,
        "tsquery": " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in every_term),
    }

    def rank(rows: Rows) -> Statement:
        numbers = np.unique(postings_from_rows(rows).number).tolist()
        statement = f"WITH {predicate_cte(context)} {top_sql(ranks)}"
        return context.statement(statement, **values, numbers=numbers, scores=[0.0] * len(numbers))

    terms = query_terms(context, TS_RANK_BUDGET)
    return Staged(postings_statement(context.scope, terms, context.namespace.text_config), rank)


def predicate_cte(context: RetrieverContext) -> str:
    """CTE `by_predicate (id)`: the memories in scope whose predicate holds a term, also one that no content holds."""
    join, condition = ("", "true") if context.scope.plain else (JOIN_MEMORY, context.scope.condition)
    return f"""
        by_predicate AS MATERIALIZED (
            SELECT id FROM (
                SELECT found.id FROM unnest(%(query_terms)s::text[]) AS query(term) CROSS JOIN LATERAL (
                    SELECT found.id FROM (
                        SELECT p.memory_id AS id FROM memories_predicateposting p
                        WHERE p.namespace_id = %(namespace)s AND p.term = query.term AND p.level = ANY(%(levels)s)
                    ) AS found {join} WHERE {condition} ORDER BY found.id DESC LIMIT {TS_RANK_BUDGET}
                ) AS found {HIDDEN_PREDICATES if context.scope.hidden_since else ""}
            ) AS holding GROUP BY id ORDER BY count(*) DESC, id DESC LIMIT {TS_RANK_BUDGET}
        )
    """
