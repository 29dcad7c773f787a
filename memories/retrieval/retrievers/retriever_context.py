"""What a retriever asks the database, and what it may know when it puts its question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memories.db.pipeline import Statement
from memories.models import Namespace
from memories.models.choices import ChunkLevel, Route
from memories.retrieval.parse import ParsedQuery
from memories.retrieval.ranked_list import EMPTY_LIST, RankedList
from memories.retrieval.scope import CandidateScope
from memories.retrieval.time_limits import NOW


@dataclass(frozen=True)
class RetrieverQuery:
    """One SQL statement that gives memories and their scores, best first; or confirms a list made here, in one row."""

    sql: str
    values: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)  # of the database, for this question
    columns: tuple[str, ...] = ("id", "score")  # and the cosine, of who looks it up anyway
    build: Callable[[Sequence[Any]], RankedList | None] | None = (
        None  # the list made here, where the answer confirms it
    )
    fallback: Callable[[], "RetrieverQuery"] | None = None  # what is asked where it does not
    generic_plan: bool = False  # by the same indexes whatever its values, and to plan it takes long

    @property
    def statement(self) -> Statement:
        """With its list as arrays, as rows would take longer to read than to find; and when it was answered."""
        return Statement(with_clock(self.sql) if self.build else as_arrays(self.sql, self.columns), self.values)

    def ranked_list(self, row: Sequence[Any]) -> RankedList | None:
        """The list; none where it is to be asked for otherwise."""
        if self.build:
            return self.build(row)
        return EMPTY_LIST if row[0] is None else RankedList(*row)


@lru_cache(maxsize=256)
def as_arrays(sql: str, gives: tuple[str, ...]) -> str:
    """A list as arrays, and when it was told."""
    arrays = ", ".join(f"array_agg({column})" for column in gives)
    return f"SELECT {arrays}, {NOW} FROM ({sql}) AS listed({', '.join(gives)})"


@lru_cache(maxsize=256)
def with_clock(sql: str) -> str:
    """One row, and when it was told."""
    return f"SELECT listed.*, {NOW} FROM ({sql}) AS listed"


@dataclass(frozen=True)
class PendingQuery:
    """A question that takes a while to work out: it is put last, when the database has begun with the others.

    What the database is set to was said before it, so it can have no settings of its own.
    """

    query: Callable[[], RetrieverQuery]


@dataclass(frozen=True, eq=False)
class RetrieverContext:
    """What every retriever goes by: the query as it was read, whom it may find, and the declared parameters."""

    namespace: Namespace
    parsed: ParsedQuery
    scope: CandidateScope
    params: Any
    depth: int
    large: bool  # whether an index holds most vectors
    answer_depth: int = 0  # how long the list of an answer is, where more of it is asked for

    def query(
        self, sql: str, *, settings: Mapping[str, str] | None = None, generic_plan: bool = False, **values: Any
    ) -> RetrieverQuery:
        """A statement with the values that all share."""
        shared = {
            **self.scope.values,
            "vector": self.parsed.vector_param,
            "embedder": self.parsed.embedder,
            "pool": self.depth,
        }
        return RetrieverQuery(sql, shared | values, settings or {}, generic_plan=generic_plan)


# The row of each memory that was found, one by one: a join would be planned by statistics that a young or growing
# namespace has outrun, and read all of its rows for each.
JOIN_MEMORY = """
    JOIN LATERAL (
        SELECT * FROM memories_memory m WHERE m.namespace_id = %(namespace)s AND m.id = found.id LIMIT 1
    ) m ON true
"""
# Equally good ones are ordered by their meaning; who has no vector comes last.
JOIN_VECTOR = f"""
    LEFT JOIN LATERAL (
        SELECT v.vector FROM memories_memoryvector v
        WHERE v.namespace_id = %(namespace)s AND v.memory_id = m.id
            AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}' LIMIT 1
    ) v ON true
"""
DISTANCE = "v.vector <=> %(vector)s::vector"
# Of some memories, in their order; who has no vector is farther away than anybody.
DISTANCES = f"""
    SELECT array_agg(coalesce({DISTANCE}, 'infinity') ORDER BY m.place)
    FROM unnest(%(some)s::uuid[]) WITH ORDINALITY AS m(id, place) {JOIN_VECTOR}
"""
NEAREST = f"{DISTANCE} NULLS LAST, m.id"
# Whose subject or type nobody could tell is found by words, by meaning and over the graph; a piece of a conversation
# has neither, and can be told by who speaks and when.
CERTAIN = f"""
    (NOT m.type_uncertain OR m.level NOT IN ('{ChunkLevel.FACT}', '{ChunkLevel.SUMMARY}'))
    AND m.subject_fallback IS NULL
"""
# The row of each that is settled: they have an index of their own, so that nobody reads the rows of the others.
JOIN_CERTAIN_MEMORY = JOIN_MEMORY.replace("LIMIT 1", f"AND {CERTAIN} LIMIT 1")


def top_with_ties_sql(scores: str) -> str:
    """As many of some scores as a list is long, and whoever is as good as the last of them."""
    return f"SELECT * FROM ({scores}) AS each_one ORDER BY score DESC FETCH FIRST %(pool)s ROWS WITH TIES"


def best_sql(scores: str) -> str:
    """The best of some scores; only of those that are equal the meaning must be looked up."""
    return f"""
        SELECT m.id, m.score
        FROM (
            SELECT best.*, count(*) OVER (PARTITION BY score) > 1 AS tied FROM ({top_with_ties_sql(scores)}) AS best
        ) m
        {JOIN_VECTOR.replace("WHERE", "WHERE m.tied AND")}
        ORDER BY m.score DESC, {NEAREST} LIMIT %(pool)s
    """
