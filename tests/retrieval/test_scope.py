"""Every retriever keeps to the filters and to active memories."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from memories.models import Memory, MemoryVector, Namespace, Posting
from memories.models.choices import Route
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from tests.support.retrieval_world import (
    ALL_LEVELS,
    EVERYTHING,
    NOW,
    SYSTEM_OF_RETRIEVER,
    assert_same_list,
    entity_id,
    make_query,
    memory,
    run_retriever,
)
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.mark.parametrize("route", SYSTEM_OF_RETRIEVER)
def test_an_unsure_type_and_an_unresolved_subject_are_reached_only_where_they_may(world: Namespace, route: str) -> None:
    maya = entity_id(world, "Maya Lindqvist")
    here = Memory.objects.within(world).filter(content__startswith="Priya reports")
    joined = here.get()
    query = make_query(world, "Priya Arrive summer recently", SYSTEM_OF_RETRIEVER[route])
    Memory.objects.within(world).filter(id=joined.id).update(event_at=NOW - timedelta(days=3))
    vector = MemoryVector.objects.within(world).get(memory=joined, route=Route.FULL).vector
    for other in Route:
        if other != Route.FULL:
            row(MemoryVector, world, memory=joined, route=other, embedder=world.embedder, vector=list(vector))
    assert maya
    assert joined.id in dict(run_retriever(query, route))
    meaning_and_words = route not in ("entity", "temporal", "traversal")
    here.update(type_uncertain=True)
    assert (joined.id in dict(run_retriever(query, route))) == (meaning_and_words or route == "traversal")
    here.update(type_uncertain=False, subject_id=None, subject_fallback=UUID(int=7))
    assert (joined.id in dict(run_retriever(query, route))) == meaning_and_words


FILTERS: dict[str, tuple[Filters, Callable[[Memory], bool]]] = {
    "types": (Filters(types=("Preference", "Event")), lambda m: m.type in ("Preference", "Event")),
    "tags": (Filters(tags=("database", "food")), lambda m: bool({"database", "food"} & set(m.tag_names))),
    "users": (Filters(users=("maya", "jonas")), lambda m: m.user in ("maya", "jonas")),
    "nobody": (Filters(users=("",)), lambda m: m.user == ""),
    "levels": (Filters(levels=("turn", "session")), lambda m: m.level in ("turn", "session")),
    "several": (
        Filters(types=("Fact",), tags=("database",), users=("",), levels=("fact",)),
        lambda m: m.type == "Fact" and "database" in m.tag_names and m.user == "" and m.level == "fact",
    ),
}


@pytest.mark.parametrize("wanted", FILTERS)
@pytest.mark.parametrize(
    ("route", "large"), [*((route, False) for route in SYSTEM_OF_RETRIEVER), ("semantic", True), ("vec_user", True)]
)
def test_a_filter_lets_through_what_it_names_and_keeps_the_order_and_scores(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, route: str, wanted: str, large: bool
) -> None:
    if large:
        index_vectors(world)
    filters, passes = FILTERS[wanted]
    whole = run_retriever(
        make_query(world, EVERYTHING, SYSTEM_OF_RETRIEVER[route], filters=Filters(levels=ALL_LEVELS)), route
    )
    levels = {} if filters.levels else {"levels": ALL_LEVELS}
    given = run_retriever(
        make_query(world, EVERYTHING, SYSTEM_OF_RETRIEVER[route], filters=replace(filters, **levels)), route
    )
    kept = {one.id for one in Memory.objects.within(world) if passes(one)}
    if filters.types:
        kept -= {one.id for one in Memory.objects.within(world) if one.type_uncertain}
    assert_same_list(given, [(id, score) for id, score in whole if id in kept])


def test_the_filters_were_tried_on_lists_that_hold_something(world: Namespace) -> None:
    query = {
        name: make_query(world, EVERYTHING, name, filters=Filters(levels=ALL_LEVELS))
        for name in SYSTEM_OF_RETRIEVER.values()
    }
    empty = {route for route, name in SYSTEM_OF_RETRIEVER.items() if not run_retriever(query[name], route)}
    assert empty == {"facet_personal_info", "facet_preferences", "facet_events"}


@pytest.mark.parametrize("status", ["merged", "superseded", "archived", "rejected", "forgotten"])
@pytest.mark.parametrize("system", ["recall", "blend", "memsense"])
def test_only_active_memories_are_found(world: Namespace, system: str, status: str) -> None:
    gone = memory(world, "Maya prefers")
    other = memory(world, "Maya drinks").id
    ends = {"merged": {"merged_into_id": other}, "superseded": {"superseded_by_id": other}}
    Memory.objects.within(world).filter(id=gone.id).update(status=status, **ends.get(status, {}))
    MemoryVector.objects.within(world).filter(memory=gone).update(active=False)
    Posting.objects.within(world).filter(memory=gone).delete()
    batch = retrieve(make_query(world, "What does Maya prefer? PostgreSQL, recently", system)).candidates
    assert gone.id not in [one["id"] for one in batch.rows]
    assert other in [one["id"] for one in batch.rows]
