"""The demo world's files are read strictly, and hang together."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories.demo.answers import part_of
from memories.demo.reading import lines, typed
from memories.demo.world import CLOCK, FOLDER, Edge, Memory, World, read
from memories.ids import derived, time_of
from memories.models.choices import Part
from scoring.dedup import band
from scoring.policy import WritePolicy

EDGE = {"source": "maya", "predicate": "works_at", "target": "arrive", "confidence": 0.99}


@pytest.fixture(scope="module")
def world() -> World:
    return read()


def test_every_key_that_is_referred_to_exists(world: World) -> None:
    for memory in world.memories.values():
        assert {*memory.entities} <= set(world.entities), memory.key
        assert {memory.session, *memory.observed} <= set(world.sessions), memory.key
        assert {source.turn for source in memory.sources} <= set(world.turns), memory.key
    assert {end for edge in world.edges for end in (edge.source, edge.target)} <= set(world.entities)
    assert {end for link in world.links for end in (link.source, link.target)} <= set(world.memories)
    assert {key for question in world.questions for key in question.grades} <= set(world.memories)


def test_nothing_happens_out_of_order_or_after_the_clock(world: World) -> None:
    for memory in world.memories.values():
        assert all(world.turns[source.turn].at <= memory.created_at <= CLOCK for source in memory.sources), memory.key
        assert all(world.sessions[key].started_at > memory.created_at for key in memory.observed), memory.key
        assert all(memory.created_at.date() <= day <= CLOCK.date() for day in memory.access_days), memory.key
    assert all(turn.at <= CLOCK for turn in world.turns.values())


def test_every_pair_lies_in_the_dedup_band_it_was_written_for(world: World) -> None:
    policy = WritePolicy()
    bands: dict[str, set[str]] = {"duplicate": set(), "escalate": set(), "distinct": set()}
    for link in world.links:
        if link.kind in bands:
            assert link.cosine is not None
            found = band(link.cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)
            bands[found].add(link.kind)
    assert bands == {name: {name} for name in bands}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (EDGE | {"weight": 1}, "line 2: Edge knows source, predicate, target, confidence; got weight"),
        ({"source": "maya"}, "line 2: Edge needs predicate, target, confidence"),
        (EDGE | {"confidence": "high"}, "line 2: 'high' is not a float"),
        (EDGE | {"source": None}, "line 2: None is not a str"),
        ([], "line 2: .* is not a dict"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_by_name(row: Any, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.jsonl"
    path.write_text(f"{json.dumps(EDGE)}\n{json.dumps(row)}\n")
    with pytest.raises(ValueError, match=complaint):
        list(lines(Edge, path))


@pytest.mark.parametrize("subject", [["maya"], None, 7, {"surface": 7}, {"name": "maya"}])
def test_a_subject_is_an_entity_or_a_surface_form_and_nothing_else(subject: Any) -> None:
    line = (FOLDER / "memories.jsonl").read_text().splitlines()[0]
    with pytest.raises(ValueError, match=r"is not a str|is none of|knows surface"):
        typed(Memory, json.loads(line) | {"subject": subject})


def test_a_derived_identifier_carries_its_moment_and_depends_on_the_name_alone() -> None:
    moment = datetime(2025, 12, 2, 12, tzinfo=UTC)
    made = derived(moment, "memory a")
    assert (made.version, time_of(made)) == (7, moment)
    assert made == derived(moment, "memory a") != derived(moment, "memory b")


def test_the_text_of_a_query_alone_decides_what_it_is_for(world: World) -> None:
    parts = [part_of(question.query) for question in world.questions]
    assert 0.6 < parts.count(Part.TUNE) / len(parts) < 0.8
    assert part_of("Who reviews schema changes?") == part_of("  who reviews SCHEMA changes")
