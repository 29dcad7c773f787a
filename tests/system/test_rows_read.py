"""How many rows of names a retrieval and a write read: hardly more among 50,000 entities than among 1,000."""

import random
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Entity, Namespace
from memories.retrieval.retrieve import retrieve
from memories.text.name_index import store_entities
from memories.writing.remember import remember
from scoring.dedup import normalize
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import make_query
from tests.support.rows import empty_namespace

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SYLLABLES = [consonant + vowel for consonant in "bdklmnrst" for vowel in "aeio"]
SIMILAR = 500  # rows of names that share a piece with a surface form: of 50,000 a hundredth at most
# Rows of tables and entries of indexes that this transaction has read.
READ = """
    SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid)), 0)
    FROM pg_class c WHERE c.relname LIKE ANY(ARRAY['memories_entity%%', 'memories_namekey%%', 'memories_mention%%',
        'entity%%', 'namekey%%', 'mention%%'])
"""


def random_name(rng: random.Random) -> str:
    """A name of two invented words."""
    return " ".join("".join(rng.choices(SYLLABLES, k=3)).capitalize() for _ in range(2))


def namespace_with_entities(count: int) -> Namespace:
    namespace, rng = empty_namespace(f"with-{count}"), random.Random(5)
    names = {random_name(rng) for _ in range(count)}
    kinds = ["person", "organisation", ""]
    store_entities(
        namespace,
        [
            Entity(namespace=namespace, name=name, normalised=normalize(name), kind=kinds[place % 3])
            for place, name in enumerate(sorted(names))
        ],
    )
    remember(namespace, [fact("Maya Lindqvist sails"), fact("Otto Lund plays chess")], by="tests")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_entity, memories_entityalias, memories_namekey, memories_mention")
    return namespace


def fact(content: str) -> NewMemory:
    return NewMemory(
        content=content, type="Fact", utterances=(Utterance("direct"),), entities=(" ".join(content.split()[:2]),)
    )


def rows_read(work: Callable[[], object]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(READ)
        (before,) = cursor.fetchone()
        work()
        cursor.execute(READ)
        return int(cursor.fetchone()[0] - before)


def test_neither_a_query_nor_a_write_reads_more_where_there_are_more_entities() -> None:
    few, many = namespace_with_entities(1_000), namespace_with_entities(50_000)
    for system in SYSTEMS:
        for text in ("What does Maya Lindqvist do?", "Who plays chess with Oto Lundt at noon?"):
            counts = [rows_read(partial(retrieve, make_query(namespace, text, system))) for namespace in (few, many)]
            assert counts[1] <= counts[0] + SIMILAR, (system, text, counts)
    for content in ("Maya Lindqvist moved to Visby", "Nadira Onwudiwe rows at dawn"):
        counts = [rows_read(partial(remember, namespace, [fact(content)], by="tests")) for namespace in (few, many)]
        assert counts[1] <= counts[0] + SIMILAR, (content, counts)
