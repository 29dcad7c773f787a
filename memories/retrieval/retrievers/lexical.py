"""memsense's words: those of the text as BM25 counts them, and the tags that the query names."""

from memories.retrieval.retrievers.bm25 import bm25_scores_sql, bm25_values, query_terms
from memories.retrieval.retrievers.retriever_context import JOIN_MEMORY, RetrieverContext, RetrieverQuery, best_sql

LONGEST_TAG = 3  # words of the query that may make up one tag
JOINTS = (" ", "-", "_")
NO_TERMS = "scored AS (SELECT NULL::uuid AS id, 0.0::float8 AS score WHERE false)"


def lexical_query(asked: RetrieverContext) -> RetrieverQuery | None:
    """BM25 of the text, and for each tag that the query names what a word as rare as the tag would tell."""
    terms, tags = query_terms(asked), candidate_tags(asked.parsed.text)
    if not terms and not tags:
        return None
    values = bm25_values(asked, terms) if terms else {}
    by_text = bm25_scores_sql(asked, values) if terms else NO_TERMS
    sql = f"""
        WITH {by_text},
        tagged AS (
            SELECT found.id, found.tag, count(*) OVER (PARTITION BY lower(found.tag)) AS holding
            FROM (
                SELECT t.memory_id AS id, t.tag FROM memories_memorytag t
                WHERE t.namespace_id = %(namespace)s AND lower(t.tag) = ANY(%(named_tags)s)
            ) AS found {JOIN_MEMORY}
            WHERE {asked.scope.active}
        ),
        by_tag AS (
            SELECT m.id, sum(
                ln((%(documents)s - found.holding + 0.5) / (found.holding + 0.5) + 1)::float8 ORDER BY found.tag
            ) AS score
            FROM tagged AS found {JOIN_MEMORY}
            WHERE {asked.scope.condition} GROUP BY m.id
        ),
        together AS (
            SELECT id, sum(score)::float8 AS score
            FROM (SELECT * FROM scored UNION ALL SELECT * FROM by_tag) AS each_way GROUP BY id
        )
        {best_sql("SELECT * FROM together")}
    """
    return asked.query(sql, named_tags=tags, documents=asked.parsed.terms.documents, **values)


def candidate_tags(text: str) -> list[str]:
    """The tags that words of the query, alone or up to three together, would spell."""
    words = [word.strip(".,;:!?()\"'“”’") for word in text.casefold().split()]
    runs = (words[start : start + length] for length in range(1, LONGEST_TAG + 1) for start in range(len(words)))
    return sorted({joint.join(run) for run in runs if all(run) for joint in JOINTS})
