"""BM25 over postings: rare terms find candidates, common terms only score them."""

from typing import Any

from memories.db.pipeline import Statement
from memories.retrieval.query_terms import QueryTerms
from memories.retrieval.retrievers.context import JOIN_MEMORY, RetrieverContext, top_sql
from scoring.bm25 import TS_RANK_NORMALIZATION, TS_WEIGHTS
from scoring.systems.candidates import RetrieverParams

# Exact up to this many postings. Beyond, only the rarest terms within the budget find candidates, at least two, and
# the common terms score only the best of those.
FINDING_BUDGET = 5_000
MIN_FINDING_TERMS = 2
MIN_LEADERS = 150
# Memories whose text ts_rank_cd parses. Of those found by their predicates the ones with most terms, then the newest.
TS_RANK_BUDGET = 2_000
DEFAULTS = RetrieverParams()  # the constants of systems that declare none

# Term scores are summed in integers of this unit, so that the sum depends neither on order nor on rounding.
UNIT = 2**30
TERM_SCORE = "round(terms.units * p.frequency / (p.frequency + %(per_memory)s + %(per_word)s * p.length))"
TERMS = """terms AS MATERIALIZED (
    SELECT * FROM unnest(%(terms)s::text[], %(units)s::float8[], %(finds)s::bool[]) AS t(term, units, finds)
)"""
POSTINGS = """
    SELECT p.memory_id, p.term, p.frequency, p.length FROM memories_posting p
    WHERE p.namespace_id = %(namespace)s AND
"""
OF_TERM = "p.term = terms.term AND p.level = ANY(%(levels)s)"
OF_LEADERS = "p.memory_id = ANY(ARRAY(SELECT id FROM leaders)) AND p.term = ANY(%(common)s)"
# Memories hidden since `as_of` have lost their postings, but not their text.
HIDDEN_POSTINGS = """hidden AS MATERIALIZED (
    SELECT h.id AS memory_id, w.lexeme AS term, coalesce(cardinality(w.positions), 1) AS frequency, h.length
    FROM memories_memory h, unnest(to_tsvector(%(config)s::regconfig, h.content)) w
    WHERE h.namespace_id = %(namespace)s AND h.id = ANY(%(hidden_since)s::uuid[]) AND w.lexeme = ANY(%(terms)s)
)"""

HIDDEN_PREDICATES = """
    UNION ALL
    SELECT h.id FROM memories_memory h, unnest(to_tsvector(%(config)s::regconfig, h.predicate)) w
    WHERE h.namespace_id = %(namespace)s AND h.id = ANY(%(hidden_since)s::uuid[]) AND w.lexeme = ANY(%(query_terms)s)
"""


def sql(context: RetrieverContext) -> Statement | None:
    """Okapi BM25 with the namespace's statistics, or Postgres' ts_rank_cd where the system says so."""
    if getattr(context.params, "lexical", "bm25") == "ts_rank_cd":
        return ts_rank_sql(context) if context.parsed.terms.document_frequencies else None
    terms = query_terms(context)
    if not terms:
        return None
    statement = f"WITH {bm25_ctes(context, terms)} {top_sql('SELECT id, score FROM scored')}"
    return context.statement(statement, **bm25_values(context, terms))


def query_terms(context: RetrieverContext) -> list[str]:
    """The lexemes to look for, rarest first; terms that only hidden memories hold are in no statistics."""
    terms = context.parsed.terms
    if not context.scope.hidden_since:
        return terms.by_rarity
    return sorted(terms.document_frequencies, key=terms.document_frequencies.__getitem__)


def bm25_values(context: RetrieverContext, terms: list[str]) -> dict[str, Any]:
    """The terms with their idf, and the constants of the formula."""
    statistics = context.parsed.terms
    k1, b = (getattr(context.params, name, getattr(DEFAULTS, name)) for name in ("bm25_k1", "bm25_b"))
    finds = finding_flags(statistics, terms, FINDING_BUDGET)
    return {
        "terms": terms,
        "units": (UNIT * (k1 + 1) * statistics.idfs(terms)).tolist(),
        "finds": finds,
        "common": [term for term, finding in zip(terms, finds, strict=True) if not finding],
        "leaders": max(MIN_LEADERS, context.answer_depth or context.depth),
        "config": context.namespace.text_config,
        # k1 · (1 − b + b · length / average length), per row only what depends on it
        "per_memory": k1 * (1 - b),
        "per_word": k1 * b / (statistics.average_length or 1.0),
    }


def finding_flags(statistics: QueryTerms, terms: list[str], budget: int) -> list[bool]:
    """Which terms find candidates: the two rarest, and more while their postings fit the budget."""
    postings, flags = 0, list[bool]()
    for term in terms:
        postings += statistics.document_frequencies[term]
        flags.append(len(flags) < MIN_FINDING_TERMS or postings <= budget)
    return flags


def bm25_ctes(context: RetrieverContext, terms: list[str]) -> str:
    """CTEs up to `scored (id, score)`."""
    if all(finding_flags(context.parsed.terms, terms, FINDING_BUDGET)):
        return f"{TERMS}, {found_ctes(context)}, scored AS (SELECT id, units / {UNIT} AS score FROM found)"
    return f"""
        {TERMS}, {found_ctes(context)},
        leaders AS MATERIALIZED (SELECT * FROM found ORDER BY units DESC, id LIMIT %(leaders)s),
        scored AS (
            SELECT id, sum(units) / {UNIT} AS score FROM (
                SELECT id, units FROM leaders
                UNION ALL
                SELECT p.memory_id, {TERM_SCORE}
                FROM ({postings_sql(context, OF_LEADERS, OF_LEADERS)}) p JOIN terms ON terms.term = p.term
            ) AS parts GROUP BY id
        )
    """


def found_ctes(context: RetrieverContext) -> str:
    """CTEs up to `found (id, units)`: the memories in scope that hold a finding term, with the sum of its scores."""
    found = f"""
        SELECT p.memory_id AS id, sum({TERM_SCORE}) AS units
        FROM terms CROSS JOIN LATERAL ({postings_sql(context, OF_TERM, "p.term = terms.term")}) p
        WHERE terms.finds GROUP BY p.memory_id
    """
    if not context.scope.plain:
        found = f"SELECT found.id, found.units FROM ({found}) AS found {JOIN_MEMORY} WHERE {context.scope.condition}"
    return f"{f'{HIDDEN_POSTINGS}, ' if context.scope.hidden_since else ''} found AS ({found})"


def postings_sql(context: RetrieverContext, stored: str, hidden: str) -> str:
    """Stored postings under one condition, and those of hidden memories under another."""
    statement = f"{POSTINGS} {stored}"
    return f"{statement} UNION ALL SELECT * FROM hidden p WHERE {hidden}" if context.scope.hidden_since else statement


def ts_rank_sql(context: RetrieverContext) -> Statement:
    """Cover density ranking of what rare terms and predicates find, as the paper's implementation does it."""
    lexemes = "setweight(to_tsvector(%(config)s::regconfig, m.{}), '{}')"
    vectors = " || ".join(lexemes.format(column, weight) for column, weight in TS_WEIGHTS.items())
    ranks = f"""
        SELECT m.id, ts_rank_cd({vectors}, %(tsquery)s::tsquery, {TS_RANK_NORMALIZATION})::float8 AS score
        FROM (SELECT id FROM found UNION SELECT id FROM by_predicate) AS found {JOIN_MEMORY}
        WHERE {context.scope.condition}
    """
    terms, every_term = query_terms(context), sorted(context.parsed.terms.document_frequencies)
    values = bm25_values(context, terms) | {
        "finds": finding_flags(context.parsed.terms, terms, TS_RANK_BUDGET),
        "query_terms": every_term,
        "tsquery": " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in every_term),
    }
    return context.statement(
        f"WITH {TERMS}, {found_ctes(context)}, {predicate_cte(context)} {top_sql(ranks)}", **values
    )


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
