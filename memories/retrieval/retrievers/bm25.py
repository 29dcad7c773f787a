"""By words: rare words find memories, common words only score them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from memories.retrieval.postings import (
    OF_NAMESPACE,
    OF_WORD,
    OF_WORDS,
    PartialScores,
    Postings,
    add_postings,
    cached_postings,
    load_postings,
    sum_postings,
)
from memories.retrieval.query_terms import VERSION, QueryTerms
from memories.retrieval.ranked_list import RankedList
from memories.retrieval.retrievers.retriever_context import (
    DISTANCES,
    JOIN_MEMORY,
    PendingQuery,
    RetrieverContext,
    RetrieverQuery,
    best_sql,
)
from scoring.bm25 import TS_RANK_NORMALIZATION, TS_WEIGHTS, saturation
from scoring.systems.candidates import RetrieverParams

# Postings that are read to find candidates, though the two rarest words find in any case: exact up to here.
FINDING_BUDGET = 4_000
# Beyond, the other words score only so many of what was found, the best so far, or as many as the list is to have.
MIN_LEADERS = 300
MIN_FINDING_TERMS = 2  # words: a memory that holds both is better than one that holds the rarer
DEFAULTS = RetrieverParams()  # the constants of systems that declare none
RANKED_BY_TEXT = 2_000  # memories whose text ts_rank_cd reads again

# Shares are added in whole units of this: so the sum does not depend on their order, and rounding never decides.
UNIT = 2**30
# What does not change from one posting to the next comes with the question.
SHARE = """round(asked.units * (p.frequency * %(k1_and_1)s
    / (p.frequency + %(k1)s * (%(b_to_1)s + %(b)s * p.length / %(average_length)s))))"""
QUERY_TERMS = """asked AS MATERIALIZED (
    SELECT * FROM unnest(%(terms)s::text[], %(units)s::float8[], %(finds)s::bool[]) AS t(term, units, finds)
)"""
SCORED_BY_FOUND = f"scored AS (SELECT id, units / {UNIT} AS score FROM found)"
GIVEN_FOUND = "found AS (SELECT * FROM unnest(%(found)s::uuid[], %(found_units)s::float8[]) AS t(id, units))"
OF_LEADERS = "p.memory_id = ANY(ARRAY(SELECT id FROM leaders)) AND p.term = ANY(%(common)s)"
# Whether words are as they were when they were counted, and how far some memories are away.
AS_COUNTED = f"""
    SELECT (SELECT array_agg(known.term || ' ' || {VERSION}) {OF_WORDS}) AS words, ({DISTANCES}) AS away
"""
# What was hidden since the moment asked about has lost its postings; its text has not.
HIDDEN_POSTINGS = """hidden AS MATERIALIZED (
    SELECT h.id AS memory_id, w.lexeme AS term, coalesce(cardinality(w.positions), 1) AS frequency, h.length
    FROM memories_memory h, unnest(to_tsvector(%(config)s::regconfig, h.content)) w
    WHERE h.namespace_id = %(namespace)s AND h.id = ANY(%(gone)s::uuid[]) AND w.lexeme = ANY(%(terms)s)
)"""


def bm25_query(asked: RetrieverContext) -> RetrieverQuery | PendingQuery | None:
    """The paper's formula over postings; the idf of each word comes with the question."""
    if not (terms := query_terms(asked)):
        return None
    if getattr(asked.params, "lexical", "bm25") == "ts_rank_cd":
        return ts_rank_query(asked, terms)
    values = bm25_values(asked, terms)
    if known := cached_for(asked, values):
        return PendingQuery(partial(bm25_by_cache, asked, values, known))
    return bm25_by_sql(asked, values)


def bm25_by_sql(asked: RetrieverContext, values: Mapping[str, Any]) -> RetrieverQuery:
    """The question whose list the database makes, of what was counted here as far as that is possible."""
    values = {**values, **cached_partial_scores(asked, values)}
    return asked.query(f"WITH {bm25_scores_sql(asked, values)} {best_sql('SELECT id, score FROM scored')}", **values)


def query_terms(asked: RetrieverContext) -> list[str]:
    """The lexemes that may find somebody; what only hidden memories hold is in no statistics."""
    words = asked.parsed.terms
    return (
        sorted(words.document_frequencies, key=lambda term: words.document_frequencies[term])
        if asked.scope.hidden_since
        else words.by_rarity
    )


def cached_for(asked: RetrieverContext, values: Mapping[str, Any]) -> Mapping[str, Postings] | None:
    """All postings that the list of an answer takes, where they are kept as they were when the query was read.

    Whoever looks further down than an answer wants to see equals in their order, which the database tells.
    """
    if not asked.scope.plain or asked.depth != asked.answer_depth:
        return None
    versions = {term: asked.parsed.terms.versions[term] for term in values["terms"]}
    known = cached_postings(asked.namespace.id, asked.scope.values["levels"], versions)
    return known if known and all(known[term].distinct for term in values["common"]) else None


def bm25_by_cache(asked: RetrieverContext, values: Mapping[str, Any], known: Mapping[str, Postings]) -> RetrieverQuery:
    """The list counted here; the database tells whether the words are what they were, and who of equals is nearest.

    Only where equals stand at the end of the list: elsewhere all come back, and later all that is known of them.
    """
    versions = {f"{term} {asked.parsed.terms.versions[term]}" for term in values["terms"]}
    found, _ = scores_by_postings(known, values)
    found = found.top_with_ties(asked.depth)
    at_end = (found.units == found.units.min(initial=np.inf)) & (len(found) > asked.depth)
    sure, equal = found.select(~at_end).top(asked.depth), found.select(at_end)

    def made(told: Sequence[Any]) -> RankedList | None:
        now, away = told
        if {*(now or ())} != versions:
            return None
        nearest = () if away is None else np.lexsort((equal.tails, equal.heads, away))[: asked.depth - len(sure)]
        some = [sure, equal.select(np.asarray(nearest, np.intp))]
        return RankedList(np.concatenate([one.ids for one in some]), np.concatenate([one.units for one in some]) / UNIT)

    confirmation = asked.query(AS_COUNTED, terms=values["terms"], some=equal.ids)
    return replace(confirmation, build=made, fallback=partial(bm25_by_sql, asked, values))


def cached_partial_scores(asked: RetrieverContext, values: Mapping[str, Any]) -> dict[str, Any]:
    """The best of what the finding words find, counted from kept postings.

    By all words, where the common ones are kept too. Where more than postings must be known of a memory, and where they
    are not to be had, the database counts.
    """
    if not asked.scope.plain:
        return {}
    finding = [term for term in values["terms"] if term not in values["common"]]
    known = load_postings(asked.namespace.id, asked.scope.values["levels"], finding, values["common"])
    if known is None:
        return {}
    found, whole = scores_by_postings(known, values)
    if whole:
        found = found.top_with_ties(asked.depth)
    return {"found": found.ids, "found_units": found.units, "whole": whole}


def scores_by_postings(known: Mapping[str, Postings], values: Mapping[str, Any]) -> tuple[PartialScores, bool]:
    """What the finding words find, and whether all words have told of it already."""
    units, common = dict(zip(values["terms"], values["units"].tolist(), strict=True)), values["common"]
    finding = [term for term in units if term not in common]
    formula = partial(saturation, average_length=values["average_length"], k1=values["k1"], b=values["b"])
    found = sum_postings([known[term] for term in finding], [units[term] for term in finding], formula)
    if common:
        found = found.top(values["scored"])
    whole = all(term in known and known[term].distinct for term in common)
    if whole:
        others = [term for term in common if len(known[term])]
        found = add_postings(found, [known[term] for term in others], [units[term] for term in others], formula)
    return found, whole


def finding_terms_sql(asked: RetrieverContext) -> str:
    """The memories that hold a finding word, with what those words tell of them."""
    found = f"""
        SELECT p.memory_id AS id, sum({SHARE}) AS units
        FROM asked CROSS JOIN LATERAL ({postings_sql(asked, OF_WORD, "p.term = asked.term")}) p
        WHERE asked.finds GROUP BY p.memory_id
    """
    if not asked.scope.plain:
        found = f"SELECT found.id, found.units FROM ({found}) AS found {JOIN_MEMORY} WHERE {asked.scope.condition}"
    return f"{f'{HIDDEN_POSTINGS}, ' if asked.scope.hidden_since else ''} found AS MATERIALIZED ({found})"


def postings_sql(asked: RetrieverContext, stored: str, hidden: str) -> str:
    """The postings that a condition chooses, and those of what was hidden since."""
    return f"{OF_NAMESPACE} {stored}" + (
        f" UNION ALL SELECT * FROM hidden p WHERE {hidden}" if asked.scope.hidden_since else ""
    )


def bm25_scores_sql(asked: RetrieverContext, values: Mapping[str, Any]) -> str:
    """Score what the finding words found best by all words."""
    if values.get("whole"):
        return f"{GIVEN_FOUND}, {SCORED_BY_FOUND}"
    found = GIVEN_FOUND if "found" in values else finding_terms_sql(asked)
    if all(values["finds"]):
        return f"{QUERY_TERMS}, {found}, {SCORED_BY_FOUND}"
    return f"""
        {QUERY_TERMS}, {found},
        leaders AS MATERIALIZED (SELECT * FROM found ORDER BY units DESC, id LIMIT %(scored)s),
        scored AS (
            SELECT id, sum(units) / {UNIT} AS score FROM (
                SELECT id, units FROM leaders
                UNION ALL
                SELECT p.memory_id, {SHARE}
                FROM ({postings_sql(asked, OF_LEADERS, OF_LEADERS)}) p JOIN asked ON asked.term = p.term
            ) AS each_word GROUP BY id
        )
    """


def bm25_values(asked: RetrieverContext, terms: list[str]) -> dict[str, Any]:
    """The words with what each tells, and the two constants of the formula."""
    words = asked.parsed.terms
    k1, b = (getattr(asked.params, name, getattr(DEFAULTS, name)) for name in ("bm25_k1", "bm25_b"))
    finds = finding_flags(words, terms, FINDING_BUDGET)
    return {
        "terms": terms,
        "units": UNIT * words.idfs(terms),
        "finds": finds,
        "common": [term for term, finding in zip(terms, finds, strict=True) if not finding],
        "scored": max(MIN_LEADERS, asked.answer_depth or asked.depth),
        "config": asked.namespace.text_config,
        "average_length": words.average_length or 1.0,
        "k1": k1,
        "k1_and_1": k1 + 1,
        "b": b,
        "b_to_1": 1 - b,
    }


def finding_flags(words: QueryTerms, terms: list[str], budget: int) -> list[bool]:
    """Which words find candidates: the two rarest, and more as long as their postings fit the budget."""
    read, finds = 0, list[bool]()
    for term in terms:
        read += words.document_frequencies[term]
        finds.append(len(finds) < MIN_FINDING_TERMS or read <= budget)
    return finds


def ts_rank_query(asked: RetrieverContext, terms: list[str]) -> RetrieverQuery:
    """Postgres' own ranking by cover density, as the paper's implementation has it, of what the rare words find."""
    lexemes = "setweight(to_tsvector(%(config)s::regconfig, m.{}), '{}')"
    vectors = " || ".join(lexemes.format(column, weight) for column, weight in TS_WEIGHTS.items())
    ranks = f"""
        SELECT m.id, ts_rank_cd({vectors}, %(wanted)s::tsquery, {TS_RANK_NORMALIZATION})::float8 AS score
        FROM found {JOIN_MEMORY} WHERE {asked.scope.condition}
    """
    finds = finding_flags(asked.parsed.terms, terms, RANKED_BY_TEXT)
    wanted = " | ".join("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in terms)
    values = bm25_values(asked, terms) | {"finds": finds, "wanted": wanted}
    return asked.query(f"WITH {QUERY_TERMS}, {finding_terms_sql(asked)} {best_sql(ranks)}", **values)
