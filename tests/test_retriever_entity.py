"""By whom a memory is about: a subject counts whole and a mention less."""

from uuid import UUID

import pytest
from retrieval_world import about, asking, cosines, entity_id, found, in_order, same, settled, world

from memories.models import Memory, Namespace
from memories.retrieval.reading import read

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.mark.parametrize("mention", [0.6, 0.0, 1.0])
@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("What does Maya prefer?", {"Maya Lindqvist": 1.0}),
        ("What does Lindqvist think of PostgreSQL?", {"Maya Lindqvist": 0.95, "PostgreSQL": 1.0}),
        ("Maya, Priya, Jonas and Arrive", dict.fromkeys(("Maya Lindqvist", "Priya Raman", "Jonas Ek", "Arrive"), 1.0)),
        ("Who is Zoltan?", {}),
    ],
)
def test_a_subject_counts_whole_and_a_mention_less(
    world: Namespace, text: str, matches: dict[str, float], mention: float
) -> None:
    query = asking(world, text, params={"mention_weight": mention})
    worth = {entity_id(world, name): match for name, match in matches.items()}
    scores = {id: score for id, score in about(world, worth, mention).items() if settled(one_of(world, id))}
    expected = in_order(scores, cosines(world, read(query)))
    same(found(query, "entity"), expected)
    same(found(query, "entity", pool=2), expected[:2])


def one_of(namespace: Namespace, id: UUID) -> Memory:
    """A memory by its id."""
    return Memory.objects.within(namespace).get(id=id)
