"""An answer as of a past time is the answer that would have been given then."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memories.models import DailyAccess, Entity, EntityEdge, Memory, Namespace, SessionReturn
from memories.models.choices import EdgeKind
from memories.retrieval import access_counts
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.writing import search_index
from memories.writing.correct import correct_memory
from memories.writing.edit import edit_memory
from memories.writing.feedback import confirm_memory, contradict_memories, forget_memory, record_feedback
from memories.writing.link import link_memories, relate_entities
from memories.writing.lock import lock_memories
from memories.writing.merge import merge_memories, split_memory
from memories.writing.remember import remember
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import NOW, answer_to_dict, make_query, memory, new_memory
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

# It asks for a person by a name, for a day, and in no word that any memory holds: statistics of words are today's.
WORDLESS = "Lindqvist 2026-01-01"
LATER = NOW + timedelta(days=10)
TODAY = NOW + timedelta(days=20)


def on(namespace: Namespace, moment: datetime) -> Namespace:
    """The namespace at another moment."""
    Namespace.objects.filter(id=namespace.id).update(clock=moment)
    return Namespace.objects.get(id=namespace.id)


def run_query(namespace: Namespace, text: str = WORDLESS, system: str = "recall", **more: Any) -> Retrieval:
    """Ask for everything that can be had."""
    return retrieve(make_query(namespace, text, system, top_k=50, user="maya", session="s", **more))


def outcome(retrieval: Retrieval) -> dict[str, Any]:
    """What an answer says, and what it knew of each candidate."""
    signals, ranking = retrieval.signals, retrieval.ranking
    columns = ("confidence", "belief", "access_count", "useful", "not_useful", "importance", "age_days", "valid_hours")
    return {
        "order": [retrieval.candidates.rows[place]["content"] for place in ranking.order.rows.tolist()],
        "score": [round(float(one), 9) for one in ranking.score.value],
        "columns": {name: getattr(signals, name).tolist() for name in columns},
        "left": signals.hours_left.tolist(),
        "ranks": {route: ranks.tolist() for route, ranks in signals.ranks.items()},
        "edges": list(zip(signals.edges.source, signals.edges.target, signals.edges.kind, strict=True)),
        "gates": {gate: kept.tolist() for gate, kept in ranking.gates.items()},
        "rows": [(row["id"], row["status"]) for row in retrieval.candidates.rows],
    }


def accesses(retrieval: Retrieval, memory: UUID) -> list[float]:
    """How often a candidate was used, by what an answer knew of it."""
    signals = retrieval.signals
    counts: list[float] = signals.access_count[signals.ids == str(memory)].tolist()
    return counts


def archive(namespace: Namespace) -> None:
    gone = memory(namespace, "Maya prefers").id
    with lock_memories(namespace, gone, by="tests") as hold:
        search_index.hide_memories(namespace, [gone])
        hold.get(gone).record(hold.now, "archived", "tests", status="archived", reason="doubted")


def merge(namespace: Namespace) -> None:
    kept, gone = memory(namespace, "Maya prefers").id, memory(namespace, "Maya drinks").id
    with lock_memories(namespace, kept, gone, by="tests") as hold:
        merge_memories(hold, hold.get(kept), hold.get(gone), "the same")


def more_told(namespace: Namespace) -> None:
    remember(namespace, [new_memory("Maya sold her boat", "Fact", "Maya", {"days": -10})], by="tests")


def relate(namespace: Namespace) -> None:
    ends = {one.name: one for one in Entity.objects.within(namespace)}
    relate_entities(namespace, ends["Maya Lindqvist"], "visited", ends["Lisbon"], 0.9)


def link(namespace: Namespace) -> None:
    ends = memory(namespace, "Maya prefers").id, memory(namespace, "Invoicing stores").id
    link_memories(namespace, *ends, EdgeKind.SUPPORTS, weight=1.0, by="tests")


def record_access(namespace: Namespace) -> None:
    access_counts.record_access(make_query(namespace, "x", user="maya"), [memory(namespace, "Maya drinks").id])


def record_return(namespace: Namespace) -> None:
    access_counts.record_access(
        make_query(namespace, "x", user="maya", session="s"), [memory(namespace, "Jonas left").id]
    )


ACTS: dict[str, Callable[[Namespace], Any]] = {
    "confirmed": lambda ns: confirm_memory(ns, memory(ns, "The kitchen").id, by="tests"),
    "found useful": lambda ns: record_feedback(ns, memory(ns, "Maya drinks").id, useful=True, by="tests"),
    "found useless": lambda ns: record_feedback(ns, memory(ns, "Maya drinks").id, useful=False, by="tests"),
    "contradicted": lambda ns: contradict_memories(
        ns, memory(ns, "Maya drinks").id, memory(ns, "Maya prefers").id, reason="", by="tests"
    ),
    "edited": lambda ns: edit_memory(ns, memory(ns, "Maya drinks").id, {"importance": 0.9}, by="tests"),
    "ended": lambda ns: edit_memory(
        ns, memory(ns, "Maya drinks").id, {"valid_until": NOW - timedelta(days=1)}, by="tests"
    ),
    "begun": lambda ns: edit_memory(
        ns, memory(ns, "Jonas left").id, {"valid_from": NOW + timedelta(days=5)}, by="tests"
    ),
    "dated": lambda ns: edit_memory(
        ns, memory(ns, "Maya drinks").id, {"event_at": NOW - timedelta(days=60)}, by="tests"
    ),
    "moved": lambda ns: edit_memory(
        ns, memory(ns, "Jonas left").id, {"event_at": NOW - timedelta(days=300)}, by="tests"
    ),
    "lasting": lambda ns: edit_memory(
        ns,
        memory(ns, "The offsite").id,
        {"event_until": NOW - timedelta(days=50)},
        by="tests",
    ),
    "superseded": lambda ns: correct_memory(
        ns, memory(ns, "Maya drinks").id, {"content": "Maya drinks tea by now"}, by="tests"
    ),
    "archived": archive,
    "merged": merge,
    "told": more_told,
    "related": relate,
    "linked": link,
    "accessed": record_access,
    "returned": record_return,
}


# Word statistics are today's, and blend goes by the scores that are made of them, not by ranks.
MOVE_WORDS = ("archived", "merged", "superseded", "told")
CASES = [(act, system) for act in ACTS for system in SYSTEMS if not (system == "blend" and act in MOVE_WORDS)]


@pytest.mark.parametrize(("act", "system"), CASES)
def test_what_was_done_since_changes_nothing_about_the_past(world: Namespace, act: str, system: str) -> None:
    store_daily_accesses(world)
    then = outcome(run_query(world, system=system))
    ACTS[act](on(world, LATER))
    today = on(world, TODAY)
    assert outcome(run_query(today, system=system, as_of=NOW)) == then


def store_daily_accesses(namespace: Namespace) -> None:
    """Tell the day of the accesses that the world begins with."""
    for one in Memory.objects.within(namespace).filter(access_count__gt=0):
        row(DailyAccess, namespace, memory=one, day=NOW.date(), count=one.access_count)


@pytest.mark.parametrize("act", ACTS)
def test_what_was_done_since_is_seen_today(world: Namespace, act: str) -> None:
    store_daily_accesses(world)
    systems = ("adaptive", "memorysync", "contextdb")
    then = {system: outcome(run_query(on(world, TODAY), system=system)) for system in systems}
    ACTS[act](on(world, LATER))
    today = on(world, TODAY)
    assert {system: outcome(run_query(today, system=system)) for system in systems} != then


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("text", ["What does Maya prefer?", "Who left Arrive two months ago?", "backup"])
def test_as_of_now_is_today(world: Namespace, system: str, text: str) -> None:
    store_daily_accesses(world)
    for act in ("confirmed", "contradicted", "superseded", "accessed"):
        ACTS[act](on(world, LATER))
    today = on(world, TODAY)
    plain, of_now = (
        answer_to_dict(run_query(today, text, system, as_of=as_of), explain="full") for as_of in (None, TODAY)
    )
    assert of_now["as_of"] == TODAY
    assert "today's" in of_now["note"]
    aside: dict[str, Any] = {"as_of": None, "note": "", "took_ms": {}}
    assert {**plain, **aside} == {**of_now, **aside}


def test_what_was_forgotten_since_stays_forgotten(world: Namespace) -> None:
    gone = memory(world, "Maya drinks").id
    forget_memory(on(world, LATER), gone, by="tests")
    today = on(world, TODAY)
    for system in SYSTEMS:
        for text in (WORDLESS, "Maya drinks her coffee black and early"):
            assert gone not in [one["id"] for one in run_query(today, text, system, as_of=NOW).candidates.rows]


def test_what_was_archived_before_it_was_forgotten_stays_forgotten_too(world: Namespace) -> None:
    gone = memory(world, "Maya prefers").id
    archive(on(world, LATER))
    forget_memory(on(world, TODAY), gone, by="tests")
    assert gone not in [one["id"] for one in run_query(world, as_of=NOW).candidates.rows]


def test_a_merge_undone_since_is_a_merge_then(world: Namespace) -> None:
    gone = memory(world, "Maya drinks").id
    merge(on(world, NOW))
    then = {one["id"] for one in run_query(world).candidates.rows}
    assert gone not in then
    split_memory(on(world, LATER), gone, by="tests")
    today = on(world, TODAY)
    assert gone in {one["id"] for one in run_query(today).candidates.rows}
    assert {one["id"] for one in run_query(today, as_of=NOW).candidates.rows} == then


def test_the_time_that_was_known_then_finds_a_memory(world: Namespace) -> None:
    left, day = memory(world, "Jonas left").id, timedelta(days=1)
    for moment, ago in ((3, 300), (6, None), (9, 500)):
        event = None if ago is None else NOW - ago * day
        edit_memory(on(world, NOW + moment * day), left, {"event_at": event}, by="tests")
    today = on(world, TODAY)

    def is_found(as_of: datetime | None) -> bool:
        retrieval = run_query(today, as_of=as_of)
        ranks = retrieval.signals.rank("temporal").tolist()
        return left in {
            row["id"] for row, rank in zip(retrieval.candidates.rows, ranks, strict=True) if rank < math.inf
        }

    # Without an event it is said to be of the day when it was told, sixty days ago too.
    expected = {0: True, 2: True, 3: False, 5: False, 6: True, 8: True, 9: False}
    assert {moment: is_found(NOW + moment * day) for moment in expected} == expected
    assert not is_found(None)


def test_a_past_between_two_changes_knows_the_first_alone(world: Namespace) -> None:
    doubted = memory(world, "The kitchen").id
    days = [NOW + timedelta(days=day) for day in (3, 6, 9)]
    values = [Memory.objects.within(world).get(id=doubted).confidence]
    values += [confirm_memory(on(world, day), doubted, by="tests").memory.confidence for day in days]
    today = on(world, TODAY)
    assert len(set(values)) == 4
    moments = [NOW, *days]
    for place, moment in enumerate(moments):
        for as_of in (moment, moment + timedelta(days=2, hours=23)):
            seen = {one["id"]: one["confidence"] for one in run_query(today, as_of=as_of).candidates.rows}
            assert seen[doubted] == pytest.approx(values[place])


def test_a_memory_exists_from_its_creation_also_where_it_is_stored_later(world: Namespace) -> None:
    today = on(world, TODAY)
    remember(today, [new_memory("Maya sold her boat", "Fact", "Maya", {"days": 15})], by="tests")
    made = memory(world, "Maya sold").id
    before, after = (NOW - timedelta(days=days) for days in (16, 14))
    assert made not in [one["id"] for one in run_query(today, as_of=before).candidates.rows]
    retrieval = run_query(today, as_of=after)
    (place,) = (place for place, one in enumerate(retrieval.candidates.rows) if one["id"] == made)
    assert retrieval.signals.confidence[place] == memory(world, "Maya sold").confidence
    assert retrieval.signals.age_days[place] == pytest.approx(1.0)


def test_ages_and_validity_are_measured_from_then(world: Namespace) -> None:
    permit = memory(world, "The parking permit").id
    today = on(world, TODAY)
    assert permit in held_by(run_query(today), "expired")
    assert permit not in held_by(run_query(today, as_of=NOW), "expired")
    opening = memory(world, "The new office").id
    assert opening in held_by(run_query(today, as_of=NOW), "not_yet_valid")
    assert opening not in held_by(run_query(on(world, NOW + timedelta(days=201))), "not_yet_valid")


def held_by(retrieval: Retrieval, gate: str) -> set[Any]:
    """Whom a gate holds back."""
    return {
        row["id"]
        for row, kept in zip(retrieval.candidates.rows, retrieval.ranking.gates[gate], strict=True)
        if not kept
    }


def test_accesses_count_by_the_day_they_were_made(world: Namespace) -> None:
    store_daily_accesses(world)
    often = memory(world, "Maya prefers").id
    for day in (1, 1, 4, 9):
        access_counts.record_access(make_query(on(world, NOW + timedelta(days=day)), "x"), [often])
    today = on(world, TODAY)
    seen = []
    for day in (0, 1, 3, 4, 20):
        seen += accesses(run_query(today, as_of=NOW + timedelta(days=day)), often)
    assert seen == [4, 6, 6, 7, 8]


def test_what_a_session_was_given_later_was_not_given_then(world: Namespace) -> None:
    given = memory(world, "Maya prefers")
    row(SessionReturn, world, memory=given, user="maya", session="s", returned_at=LATER)
    today = on(world, TODAY)
    assert run_query(today, system="memorysync").signals.returned.sum() == 1
    assert run_query(today, system="memorysync", as_of=NOW).signals.returned.sum() == 0


def test_the_words_of_what_was_hidden_since_are_found(world: Namespace) -> None:
    archive(on(world, LATER))
    text = "Which service prefers PostgreSQL?"
    retrieval = run_query(on(world, TODAY), text, as_of=NOW)
    gone = memory_of(world, "Maya prefers")
    ranks = dict(zip([one["id"] for one in retrieval.candidates.rows], retrieval.signals.ranks["bm25"], strict=True))
    assert ranks[gone.id] < float("inf")


def memory_of(namespace: Namespace, beginning: str) -> Memory:
    """A memory, wherever it stands."""
    return Memory.objects.within(namespace).get(content__startswith=beginning, level="fact")


@pytest.mark.parametrize("system", ["recall", "memsense"])
def test_a_word_that_only_hidden_memories_hold_finds_them(world: Namespace, system: str) -> None:
    route = "bm25" if system == "recall" else "lexical"
    archive(on(world, LATER))
    retrieval = run_query(on(world, TODAY), "prefers", system, as_of=NOW)
    assert set(retrieval.fetched.lists[route]) == {memory_of(world, "Maya prefers").id}


def test_an_edge_of_a_memory_that_was_hidden_since_led_on_then(world: Namespace) -> None:
    told_by = memory(world, "Maya prefers")
    ends = {one.name: one for one in Entity.objects.within(world)}
    row(EntityEdge, world, source=ends["Maya Lindqvist"], target=ends["Lisbon"], memory=told_by, created_at=NOW)
    then = run_query(world).fetched.lists["traversal"]
    archive(on(world, LATER))
    today = on(world, TODAY)
    assert run_query(today).fetched.lists["traversal"] != then
    assert run_query(today, as_of=NOW).fetched.lists["traversal"] == then


def test_an_edge_of_a_memory_that_was_hidden_then_led_nowhere(world: Namespace) -> None:
    gone = memory(world, "Maya drinks")
    ends = {one.name: one for one in Entity.objects.within(world)}
    row(EntityEdge, world, source=ends["Maya Lindqvist"], target=ends["Lisbon"], memory=gone, created_at=NOW)
    merge(on(world, NOW))
    then = run_query(world).fetched.lists["traversal"]
    split_memory(on(world, LATER), gone.id, by="tests")
    assert run_query(on(world, TODAY), as_of=NOW).fetched.lists["traversal"] == then


def test_a_conflict_that_was_found_since_was_none_then(world: Namespace) -> None:
    ACTS["contradicted"](on(world, LATER))
    answer = answer_to_dict(run_query(on(world, TODAY), as_of=NOW))
    assert [one for one in answer["results"] if "conflicts_with" in one or one["outdated"]] == []


def test_a_conflict_of_then_is_reported_though_one_side_is_gone_since(world: Namespace) -> None:
    ACTS["contradicted"](on(world, NOW))
    then = answer_to_dict(run_query(world))
    flagged = {one["id"]: one.get("conflicts_with") for one in then["results"]}
    assert len([others for others in flagged.values() if others]) == 2
    archive(on(world, LATER))
    answer = answer_to_dict(run_query(on(world, TODAY), as_of=NOW))
    assert {one["id"]: one.get("conflicts_with") for one in answer["results"]} == flagged


def test_accesses_that_a_merge_added_are_accesses_of_the_past_too(world: Namespace) -> None:
    store_daily_accesses(world)
    record_access(on(world, LATER))
    merge(on(world, LATER))
    today = on(world, TODAY)
    kept = memory(world, "Maya prefers").id
    counts = [accesses(run_query(today, as_of=as_of), kept) for as_of in (None, TODAY, NOW)]
    assert counts == [[5], [5], [4]]


def test_affinity_is_computed_from_the_accesses_of_then(world: Namespace) -> None:
    store_daily_accesses(world)
    Memory.objects.within(world).update(user="maya")
    then = run_query(world, system="memorysync").signals.affinity.tolist()
    used = [memory(world, "Lisbon was warm").id]
    for _ in range(9):
        access_counts.record_access(make_query(on(world, LATER), "x"), used)
    today = on(world, TODAY)
    assert run_query(today, system="memorysync").signals.affinity.tolist() != then
    assert run_query(today, system="memorysync", as_of=NOW).signals.affinity.tolist() == then


def test_the_turn_before_is_the_one_that_stood_there_then(world: Namespace) -> None:
    def maxsims(namespace: Namespace, **more: Any) -> list[float]:
        wanted = Filters(levels=("turn",))
        # One word: how rare it is by today's statistics weighs nothing.
        retrieval = run_query(namespace, "quieter", "blend", filters=wanted, **more)
        return [
            float(retrieval.signals.maxsim[place])
            for place, row in enumerate(retrieval.candidates.rows)
            if second == row["id"]
        ]

    first, second = (
        Memory.objects.within(world).filter(level="turn").order_by("happened_at", "id").values_list("id", flat=True)
    )
    then = maxsims(world)
    today = on(world, TODAY)
    with lock_memories(today, first, by="tests") as hold:
        search_index.hide_memories(today, [first])
        hold.get(first).record(hold.now, "archived", "tests", status="archived", reason="doubted")
    assert maxsims(today) != then
    assert maxsims(today, as_of=NOW) == then


def test_a_filter_holds_in_the_past(world: Namespace) -> None:
    archive(on(world, LATER))
    today = on(world, TODAY)
    for filters in (Filters(types=("Preference",)), Filters(tags=("database",)), Filters(users=("",))):
        then = {one["id"] for one in retrieve(replace(make_query(world, WORDLESS), filters=filters)).candidates.rows}
        query = make_query(today, WORDLESS, as_of=NOW, filters=filters)
        assert {one["id"] for one in retrieve(query).candidates.rows} == then | {memory_of(world, "Maya prefers").id}
