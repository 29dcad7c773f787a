"""By words: rare words find memories, common words only score them."""

from typing import Any

from memories.retrieval.retrievers.question import BY_MEANING, EACH_MEMORY, NEAREST, Asked, Question
from memories.retrieval.words import Words
from scoring.bm25 import TS_RANK_NORMALIZATION, TS_WEIGHTS
from scoring.systems.candidates import FiveRetrievers

# Postings that are read to find candidates; a query with fewer is answered exactly.
FINDING = 20_000
USUAL = FiveRetrievers()  # the constants of systems that declare none
RANKED_BY_TEXT = 2_000  # memories whose text ts_rank_cd reads again

POSTINGS = "SELECT p.memory_id, p.term, p.frequency FROM memories_posting p WHERE p.namespace_id = %(namespace)s"
# What was hidden since the moment asked about has lost its postings; its text has not.
HIDDEN = """
    SELECT hidden.id, w.lexeme, coalesce(cardinality(w.positions), 1)
    FROM memories_memory hidden, unnest(to_tsvector(%(config)s::regconfig, hidden.content)) w
    WHERE hidden.namespace_id = %(namespace)s AND hidden.id = ANY(%(gone)s::uuid[])
"""
SATURATED = """asked.idf * p.frequency * (%(k1)s + 1)
    / (p.frequency + %(k1)s * (1 - %(b)s + %(b)s * m.length / %(average_length)s))"""


def bm25(asked: Asked) -> Question | None:
    """The paper's formula over postings; the idf of each word comes with the question."""
    if not (terms := terms_of(asked)):
        return None
    if getattr(asked.params, "lexical", "bm25") == "ts_rank_cd":
        return ts_rank(asked, terms)
    return asked.question(f"WITH {found_by_words(asked)} {best(scored(asked))}", **values_of(asked, terms))


def terms_of(asked: Asked) -> list[str]:
    """The lexemes that may find somebody; what only hidden memories hold is in no statistics."""
    words = asked.reading.words
    return sorted(words.holding, key=lambda term: words.holding[term]) if asked.scope.gone else words.terms


def found_by_words(asked: Asked) -> str:
    """The memories that hold a finding word."""
    return f"""
        asked AS (
            SELECT * FROM unnest(%(terms)s::text[], %(idfs)s::float8[], %(finds)s::bool[]) AS t(term, idf, finds)
        ),
        found AS (
            SELECT DISTINCT p.memory_id AS id FROM ({postings(asked)}) p
            JOIN asked ON asked.term = p.term WHERE asked.finds
        )
    """


def scored(asked: Asked) -> str:
    """Score what the finding words found by all words, always added up in one order: rounding must not decide."""
    return f"""
        SELECT m.id, sum({SATURATED} ORDER BY p.term) AS score
        FROM found {EACH_MEMORY}
        JOIN LATERAL ({postings(asked, "m.id")}) p ON true
        JOIN asked ON asked.term = p.term
        WHERE {asked.scope.condition}
        GROUP BY m.id
    """


def best(scores: str) -> str:
    """The best of some scores; only of those that are equal at the end of the list the meaning must be looked up."""
    return f"""
        SELECT m.id, m.score
        FROM (SELECT * FROM ({scores}) AS each_one ORDER BY score DESC FETCH FIRST %(pool)s ROWS WITH TIES) m
        {BY_MEANING}
        ORDER BY m.score DESC, {NEAREST} LIMIT %(pool)s
    """


def postings(asked: Asked, memory: str = "") -> str:
    """The query's words in memories that can be candidates, or in one of them."""
    stored = f"{POSTINGS} AND p.term = ANY(%(terms)s) {f'AND p.memory_id = {memory}' if memory else ''}"
    hidden = f"{HIDDEN} {f'AND hidden.id = {memory}' if memory else ''}"
    return f"{stored} UNION ALL {hidden}" if asked.scope.gone else stored


def values_of(asked: Asked, terms: list[str]) -> dict[str, Any]:
    """The words with what each tells, and the two constants of the formula."""
    words = asked.reading.words
    return {
        "terms": terms,
        "idfs": words.idfs(terms).tolist(),
        "finds": finding(words, terms, FINDING),
        "config": asked.namespace.text_config,
        "average_length": words.average_length or 1.0,
        "k1": getattr(asked.params, "bm25_k1", USUAL.bm25_k1),
        "b": getattr(asked.params, "bm25_b", USUAL.bm25_b),
    }


def finding(words: Words, terms: list[str], budget: int) -> list[bool]:
    """Which words find candidates: the rarest, as long as their postings fit the budget, and one at least."""
    read, finds = 0, list[bool]()
    for term in terms:
        read += words.holding[term]
        finds.append(not finds or read <= budget)
    return finds


def ts_rank(asked: Asked, terms: list[str]) -> Question:
    """Postgres' own ranking by cover density, as the paper's implementation has it, of what the rare words find."""
    lexemes = "setweight(to_tsvector(%(config)s::regconfig, m.{}), '{}')"
    vectors = " || ".join(lexemes.format(column, weight) for column, weight in TS_WEIGHTS.items())
    ranks = f"""
        SELECT m.id, ts_rank_cd({vectors}, %(wanted)s::tsquery, {TS_RANK_NORMALIZATION})::float8 AS score
        FROM found {EACH_MEMORY} WHERE {asked.scope.condition}
    """
    finds = finding(asked.reading.words, terms, RANKED_BY_TEXT)
    wanted = " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in terms)
    values = values_of(asked, terms) | {"finds": finds, "wanted": wanted}
    return asked.question(f"WITH {found_by_words(asked)} {best(ranks)}", **values)
