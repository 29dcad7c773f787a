"""memsense's lexical retriever: words of the text, and tags the query names."""

import math
from collections.abc import Sequence
from uuid import UUID

import pytest

from memories.models import Memory, MemoryTag, Namespace
from tests.support.retrieval_world import (
    ALL_LEVELS,
    bm25_scores,
    make_query,
    memory,
    run_retriever,
    searchable_memories,
)
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def by_words_and_tags(namespace: Namespace, text: str, tags: Sequence[str]) -> dict[UUID, float]:
    """BM25, and for each tag that is named the idf of a word that as many memories hold."""
    scores = bm25_scores(namespace, text)
    everybody = searchable_memories(namespace, ALL_LEVELS)
    for tag in tags:
        holding = [one.id for one in everybody if tag in {held.tag for held in one.tags.all()}]
        for id in holding:
            idf = math.log((len(everybody) - len(holding) + 0.5) / (len(holding) + 0.5) + 1)
            scores[id] = scores.get(id, 0.0) + idf
    return scores


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("What about the backup, and the Database?", ["backup", "database"]),
        ("travel", ["travel"]),
        ("Is there a health routine?", ["health", "routine"]),
        ("schema", []),
        ("the", []),
    ],
)
def test_memsense_adds_the_tags_that_are_named_to_the_words(world: Namespace, text: str, tags: list[str]) -> None:
    given = dict(run_retriever(make_query(world, text, "memsense"), "lexical"))
    assert given == pytest.approx(by_words_and_tags(world, text, tags))
    assert list(given.values()) == sorted(given.values(), reverse=True)


@pytest.mark.parametrize("tag", ["new york", "new-york", "new_york"])
def test_a_tag_of_several_words_is_named_by_them(world: Namespace, tag: str) -> None:
    tagged = memory(world, "Standup begins")
    row(MemoryTag, world, memory=tagged, tag=tag)
    assert dict(run_retriever(make_query(world, "What about New York?", "memsense"), "lexical"))[tagged.id] > 0


def test_a_tag_is_named_whatever_its_case(world: Namespace) -> None:
    tagged = memory(world, "Standup begins")
    row(MemoryTag, world, memory=tagged, tag="GDPR")
    assert tagged.id in dict(run_retriever(make_query(world, "What about GDPR?", "memsense"), "lexical"))


def test_what_a_tag_lifts_keeps_what_its_words_tell(world: Namespace) -> None:
    text = "Lisbon travel"
    whole = by_words_and_tags(world, text, ["travel"])
    best = memory(world, "Lisbon was warm").id
    assert max(whole, key=lambda id: whole[id]) == best
    assert dict(run_retriever(make_query(world, text, "memsense"), "lexical", pool=1)) == pytest.approx(
        {best: whole[best]}
    )


def test_the_rarity_of_a_tag_is_computed_over_active_memories(world: Namespace) -> None:
    for number in range(5):
        row(MemoryTag, world, memory=row(Memory, world, status="archived", content=f"old {number}"), tag="travel")
    given = dict(run_retriever(make_query(world, "travel", "memsense"), "lexical"))
    assert given == pytest.approx(by_words_and_tags(world, "travel", ["travel"]))
