"""By whom a memory is about: those whose subject the query names, those that it said, and those that mention it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from memories.id_arrays import united
from memories.retrieval.listed import NOTHING, Listed
from memories.retrieval.retrievers.name_lists import EACH_WAY, WRITES, NameList, lists_for
from memories.retrieval.retrievers.question import AWAY, BY_MEANING, EACH_AWAY, EACH_SETTLED, Asked, Question, Unready
from scoring.term import Array, Codes

ROUNDING = 1e-4  # by which two cosines of single precision may differ
# Whether the namespace is as it was when its lists were read, and how far the nearest of them are away.
AS_READ = f"SELECT ({WRITES}) AS writes, ({EACH_AWAY}) AS away"


def entity(asked: Asked) -> Question | Unready | None:
    """The match of the name, whole for a subject or speaker, less for a mention; a memory's best one counts."""
    if not asked.reading.named:
        return None
    if (lists := lists_for(asked)) is not None:
        return Unready(partial(listed_here, asked, lists))
    return by_database(asked)


def by_database(asked: Asked) -> Question:
    """The question whose list the database makes."""
    # Hundreds may be equally good, and few are wanted: rows are looked up the nearest first, until there are enough.
    sql = f"""
        WITH {EACH_WAY},
        found AS (
            SELECT id, max(match * CASE WHEN mentioned THEN %(mention_weight)s ELSE 1 END) AS score
            FROM each_way GROUP BY id
        ),
        nearest AS (
            SELECT m.id, m.score, {AWAY} AS away FROM found m {BY_MEANING} WHERE m.score > 0
            ORDER BY m.score DESC, away, m.id
        )
        SELECT m.id, found.score, coalesce(1 - found.away, 0)
        FROM nearest found {EACH_SETTLED} WHERE {asked.scope.condition}
        ORDER BY found.score DESC, found.away, found.id LIMIT %(pool)s
    """
    named = matches(asked)
    question = asked.question(
        sql, entities=list(named), matches=list(named.values()), mention_weight=asked.params.mention_weight
    )
    return replace(question, gives=("id", "score", "cosine"))


def matches(asked: Asked) -> dict[UUID, float]:
    """How well each entity matches what the query names."""
    return {one.entity_id: one.confidence for one in asked.reading.named}


def listed_here(asked: Asked, lists: Mapping[UUID, NameList]) -> Question:
    """The best of what the names find; the database tells whether that is what it was, and how far they are away.

    Whoever may be among the best, but for rounding, is asked about: so the list is the database's.
    """
    each = [(lists[entity], match) for entity, match in matches(asked).items()]
    weight = asked.params.mention_weight
    several = [found.ids for found, _ in each]
    ids, places = united(several) if len(each) > 1 else (several[0], [np.arange(len(several[0]))])
    scores, near = np.zeros(len(ids)), np.full(len(ids), -np.inf)
    for (found, match), where in zip(each, places, strict=True):
        scores[where] = np.maximum(scores[where], np.where(found.mentioned, match * weight, match))
        near[where] = np.nan_to_num(found.vectors @ asked.reading.vector.astype(np.float32), nan=-np.inf)
    some = best(scores, near, asked.pool)
    ids, scores = ids[some], scores[some]

    def made(told: Sequence[Any]) -> Listed | None:
        writes, away = told
        if writes != asked.reading.writes:
            return None
        if away is None:
            return NOTHING
        order = np.lexsort((ids["tail"], ids["head"], away, -scores))[: asked.pool]
        return Listed(ids[order], scores[order], np.where(np.isinf(away), 0.0, 1 - away)[order])

    return replace(asked.question(AS_READ, some=ids), made=made, otherwise=partial(by_database, asked))


def best(scores: Array, near: Array, pool: int) -> Codes:
    """The places of the best, and of whoever is as good as the last of them but for rounding."""
    counts = scores > 0
    if counts.sum() > pool:
        last = np.lexsort((-near, -scores))[pool - 1]
        counts &= (scores > scores[last]) | ((scores == scores[last]) & (near >= near[last] - ROUNDING))
    return np.flatnonzero(counts)
