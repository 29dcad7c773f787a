"""Memory edges: memories that paths of edges between memories reach from the best of the semantic list."""

from dataclasses import replace
from functools import lru_cache

from memories.db.pipeline import Statement
from memories.retrieval.as_of import edge_table
from memories.retrieval.retrievers import semantic
from memories.retrieval.retrievers.context import RetrieverContext, top_sql

# An edge leads both ways. One index lookup per memory and direction.
EDGES_OF = """
    SELECT e.target_id AS id FROM {edges} e
    WHERE e.namespace_id = %(namespace)s AND e.source_id = before.id AND e.created_at <= %(known_by)s
    UNION ALL
    SELECT e.source_id FROM {edges} e
    WHERE e.namespace_id = %(namespace)s AND e.target_id = before.id AND e.created_at <= %(known_by)s
"""
# A date as of then: the one before its first change since. As an array, because the date may have been none.
DATE_AS_OF = """(coalesce((
    SELECT ARRAY[(e.before->>'{name}')::timestamptz] FROM memories_scoreevent e
    WHERE e.namespace_id = %(namespace)s AND e.memory_id = m.id AND e.at > %(as_of)s AND e.before ? '{name}'
    ORDER BY e.at, e.id LIMIT 1
), ARRAY[m.{name}]))[1]"""


def sql(context: RetrieverContext) -> Statement:
    """Scored by 1 ÷ edges on the shortest path; hop 0, the anchors, belongs to the semantic list.

    A path starts at and leads through memories that can come back, as in the score; so every memory that is found has
    its boost.
    """
    as_of = "as_of" in context.scope.values
    nearest = semantic.sql(replace(context, depth=context.answer_depth or context.depth))
    return context.statement(
        edges_sql(nearest.sql, context.params.traversal_depth, context.scope.condition, as_of),
        anchors=context.params.anchors,
        anchor_depth=nearest.values["depth"],
        known_by=context.scope.values.get("as_of") or context.namespace.now,
    )


@lru_cache(maxsize=256)
def edges_sql(nearest: str, hops: int, condition: str, as_of: bool) -> str:
    """The anchors, then each hop, as long as the hops before it do not fill the list."""
    found = " UNION ALL ".join(f"SELECT id, 1.0::float8 / {hop} AS score FROM hop_{hop}" for hop in range(1, hops + 1))
    return f"""
        WITH nearest AS MATERIALIZED ({nearest.replace("%(depth)s", "%(anchor_depth)s")}),
        hop_0 AS MATERIALIZED (
            SELECT found.id, true AS leads FROM (SELECT memory_id AS id, score FROM nearest) AS found
            {lookup_sql("true", as_of)} WHERE m.leads
            ORDER BY least(found.score, 1) DESC, found.id LIMIT %(anchors)s
        ),
        {", ".join(hop_sql(hop, condition, as_of) for hop in range(1, hops + 1))}
        {top_sql(found)}
    """


def hop_sql(hop: int, condition: str, as_of: bool) -> str:
    """The CTE of a hop: the memories that no shorter path reaches."""
    shorter = " UNION ALL ".join(f"SELECT id FROM hop_{number}" for number in range(hop))
    edges_of = EDGES_OF.format(edges=edge_table(as_of=as_of))
    fuller = " + ".join(f"(SELECT count(*) FROM hop_{number})" for number in range(1, hop)) or "0"
    return f"""
        hop_{hop} AS MATERIALIZED (
            SELECT m.id, m.leads FROM (
                SELECT DISTINCT edge.id FROM hop_{hop - 1} before CROSS JOIN LATERAL ({edges_of} OFFSET 0) AS edge
                WHERE before.leads AND {fuller} < %(depth)s
            ) AS found {lookup_sql(condition, as_of)}
            WHERE found.id NOT IN ({shorter})
        )
    """


def lookup_sql(condition: str, as_of: bool) -> str:
    """Join of a memory in scope, and whether paths lead on from it: it has not expired, and is valid already."""
    since, until = (DATE_AS_OF.format(name=name) if as_of else f"m.{name}" for name in ("valid_from", "valid_until"))
    leads = f"coalesce({until} > %(known_by)s, true) AND coalesce({since}, m.created_at) <= %(known_by)s"
    return f"""
        JOIN LATERAL (
            SELECT m.id, {leads} AS leads FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND m.id = found.id AND {condition} LIMIT 1
        ) m ON true
    """
