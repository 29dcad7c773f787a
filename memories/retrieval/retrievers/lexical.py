"""memsense's lexical retriever: BM25 of the text, and the tags that the query names."""

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.bm25 import bm25_ctes, bm25_values, query_terms
from memories.retrieval.retrievers.context import JOIN_MEMORY, RetrieverContext, top_sql

MAX_TAG_WORDS = 3
TAG_SEPARATORS = (" ", "-", "_")
TEXT_AND_TAGS = """
    SELECT id, sum(score)::float8 AS score
    FROM (SELECT * FROM scored UNION ALL SELECT * FROM by_tag) AS parts GROUP BY id
"""
NO_TERMS = "scored AS (SELECT NULL::uuid AS id, 0.0::float8 AS score WHERE false)"


def sql(context: RetrieverContext) -> Statement | None:
    """BM25, plus the idf of every tag that the query names."""
    terms, tags = query_terms(context), candidate_tags(context.parsed.text)
    if not terms and not tags:
        return None
    statement = f"""
        WITH {bm25_ctes(context, terms) if terms else NO_TERMS},
        tagged AS (
            SELECT found.id, found.tag, count(*) OVER (PARTITION BY lower(found.tag)) AS document_frequency
            FROM (
                SELECT t.memory_id AS id, t.tag FROM memories_memorytag t
                WHERE t.namespace_id = %(namespace)s AND lower(t.tag) = ANY(%(named_tags)s)
            ) AS found {JOIN_MEMORY}
            WHERE {context.scope.active}
        ),
        by_tag AS (
            SELECT m.id, sum(
                ln((%(documents)s - found.document_frequency + 0.5) / (found.document_frequency + 0.5) + 1)::float8
                ORDER BY found.tag
            ) AS score
            FROM tagged AS found {JOIN_MEMORY}
            WHERE {context.scope.condition} GROUP BY m.id
        )
        {top_sql(TEXT_AND_TAGS)}
    """
    values = bm25_values(context, terms) if terms else {}
    return context.statement(statement, named_tags=tags, documents=context.parsed.terms.documents, **values)


def candidate_tags(text: str) -> list[str]:
    """The tags that up to MAX_TAG_WORDS consecutive words of a query may spell."""
    words = [word.strip(".,;:!?()\"'“”’") for word in text.casefold().split()]
    runs = (words[start : start + length] for length in range(1, MAX_TAG_WORDS + 1) for start in range(len(words)))
    return sorted({separator.join(run) for run in runs if all(run) for separator in TAG_SEPARATORS})
