"""memsense's lexical retriever: BM25 of the text, and the tags that the query names."""

from memories.db.pipeline import Rows, Staged, Statement
from memories.retrieval.postings import postings_statement
from memories.retrieval.retrievers.bm25 import READ_BUDGET, bm25_scores, found_sql, query_terms
from memories.retrieval.retrievers.context import JOIN_MEMORY, RetrieverContext, top_sql

MAX_TAG_WORDS = 3
TAG_SEPARATORS = (" ", "-", "_")
TEXT_AND_TAGS = """
    SELECT id, sum(score)::float8 AS score
    FROM (SELECT * FROM scored UNION ALL SELECT * FROM by_tag) AS parts GROUP BY id
"""


def sql(context: RetrieverContext) -> Staged | Statement | None:
    """BM25, plus the idf of every tag that the query names."""
    terms, tags = query_terms(context, READ_BUDGET), candidate_tags(context.parsed.text)

    def rank(rows: Rows) -> Statement:
        numbers, scores = bm25_scores(context, terms, rows)
        return tagged_sql(context, tags, numbers.tolist(), scores.tolist())

    if terms:
        return Staged(postings_statement(context.scope, terms, context.namespace.text_config), rank)
    return tagged_sql(context, tags, [], []) if tags else None


def tagged_sql(context: RetrieverContext, tags: list[str], numbers: list[int], scores: list[float]) -> Statement:
    """The scored documents and the tagged memories, each with the sum of its scores."""
    statement = f"""
        WITH scored AS ({found_sql(context)}),
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
    documents = context.parsed.terms.documents
    return context.statement(statement, named_tags=tags, documents=documents, numbers=numbers, scores=scores)


def candidate_tags(text: str) -> list[str]:
    """The tags that up to MAX_TAG_WORDS consecutive words of a query may spell."""
    words = [word.strip(".,;:!?()\"'“”’") for word in text.casefold().split()]
    runs = (words[start : start + length] for length in range(1, MAX_TAG_WORDS + 1) for start in range(len(words)))
    return sorted({separator.join(run) for run in runs if all(run) for separator in TAG_SEPARATORS})
