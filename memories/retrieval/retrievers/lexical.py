"""memsense's words: those of the text as BM25 counts them, and the tags that the query names."""

from memories.retrieval.retrievers.bm25 import scored, terms_of, values_of
from memories.retrieval.retrievers.question import EACH_MEMORY, Asked, Question, best

LONGEST_TAG = 3  # words of the query that may make up one tag
JOINTS = (" ", "-", "_")
NO_WORDS = "scored AS (SELECT NULL::uuid AS id, 0.0::float8 AS score WHERE false)"


def lexical(asked: Asked) -> Question | None:
    """BM25 of the text, and for each tag that the query names what a word as rare as the tag would tell."""
    terms, tags = terms_of(asked), named_tags(asked.reading.text)
    if not terms and not tags:
        return None
    values = values_of(asked, terms) if terms else {}
    by_text = scored(asked, values) if terms else NO_WORDS
    sql = f"""
        WITH {by_text},
        tagged AS (
            SELECT found.id, found.tag, count(*) OVER (PARTITION BY lower(found.tag)) AS holding
            FROM (
                SELECT t.memory_id AS id, t.tag FROM memories_memorytag t
                WHERE t.namespace_id = %(namespace)s AND lower(t.tag) = ANY(%(named_tags)s)
            ) AS found {EACH_MEMORY}
            WHERE {asked.scope.standing}
        ),
        by_tag AS (
            SELECT m.id, sum(
                ln((%(documents)s - found.holding + 0.5) / (found.holding + 0.5) + 1)::float8 ORDER BY found.tag
            ) AS score
            FROM tagged AS found {EACH_MEMORY}
            WHERE {asked.scope.condition} GROUP BY m.id
        ),
        together AS (
            SELECT id, sum(score)::float8 AS score
            FROM (SELECT * FROM scored UNION ALL SELECT * FROM by_tag) AS each_way GROUP BY id
        )
        {best("SELECT * FROM together")}
    """
    return asked.question(sql, named_tags=tags, documents=asked.reading.words.documents, **values)


def named_tags(text: str) -> list[str]:
    """The tags that words of the query, alone or up to three together, would spell."""
    words = [word.strip(".,;:!?()\"'“”’") for word in text.casefold().split()]
    runs = (words[start : start + length] for length in range(1, LONGEST_TAG + 1) for start in range(len(words)))
    return sorted({joint.join(run) for run in runs if all(run) for joint in JOINTS})
