"""The demo world's files are parsed strictly and are consistent."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memories.demo.typed_jsonl import parse_typed, read_jsonl
from memories.demo.world_records import CLOCK, FOLDER, DemoMemory, DemoRelation, DemoWorld, read_demo_world
from memories.models.choices import Split
from memories.providers.embedder import embedder
from memories.tuning.splits import split_of
from scoring.dedup import similarity_band
from scoring.policy import WritePolicyParams

EDGE = {"source": "maya", "predicate": "works_at", "target": "arrive", "confidence": 0.99}


@pytest.fixture(scope="module")
def world() -> DemoWorld:
    return read_demo_world()


def test_every_key_that_is_referred_to_exists(world: DemoWorld) -> None:
    for memory in world.memories.values():
        assert {*memory.entities} <= set(world.entities), memory.key
        assert {memory.session, *memory.observed} <= set(world.sessions), memory.key
        assert {source.turn for source in memory.sources} <= set(world.turns), memory.key
    assert {end for edge in world.edges for end in (edge.source, edge.target)} <= set(world.entities)
    assert {end for link in world.links for end in (link.source, link.target)} <= set(world.memories)
    assert {key for query in world.queries for key in query.grades} <= set(world.memories)
    assert {annotation.memory for annotation in world.annotations} <= set(world.memories)


def test_nothing_happens_out_of_order_or_after_the_clock(world: DemoWorld) -> None:
    for memory in world.memories.values():
        told = world.stored_at(memory)
        assert all(world.turns[source.turn].session == memory.session for source in memory.sources), memory.key
        assert all(world.sessions[key].started_at > told for key in memory.observed), memory.key
        assert all(told.date() <= day <= CLOCK.date() for day in memory.access_days), memory.key
        assert memory.confirmed_at is None or told < memory.confirmed_at <= CLOCK, memory.key
    for session in world.sessions.values():
        moments = [session.started_at, *(turn.at for turn in session.turns), CLOCK]
        assert moments == sorted(moments), session.key
    spans = sorted((session.started_at, session.ended_at) for session in world.sessions.values())
    assert all(ended < started for (_, ended), (started, _) in pairwise(spans))


def test_every_pair_lies_in_the_dedup_band_it_was_written_for(world: DemoWorld) -> None:
    policy = WritePolicyParams()
    close = [link for link in world.links if link.kind in ("duplicate", "escalate", "distinct")]
    texts = [world.memories[key].content for link in close for key in (link.source, link.target)]
    vectors = embedder("all-MiniLM-L6-v2").embed(texts)
    for link, one, other in zip(close, vectors[::2], vectors[1::2], strict=True):
        cosine = float(one @ other)
        assert similarity_band(cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate) == link.kind, (
            link
        )
        assert link.cosine == pytest.approx(cosine, abs=5e-4), link


def test_no_edge_is_written_that_a_memory_tells(world: DemoWorld) -> None:
    told = {(memory.subject, memory.predicate, memory.object) for memory in world.memories.values()}
    assert not [edge for edge in world.edges if (edge.source, edge.predicate, edge.target) in told]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (EDGE | {"weight": 1}, "line 2: DemoRelation knows source, predicate, target, confidence; got weight"),
        ({"source": "maya"}, "line 2: DemoRelation needs predicate, target, confidence"),
        (EDGE | {"confidence": "high"}, "line 2: 'high' is not a float"),
        (EDGE | {"source": None}, "line 2: None is not a str"),
        ([], "line 2: .* is not a dict"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_by_name(row: Any, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.jsonl"
    path.write_text(f"{json.dumps(EDGE)}\n{json.dumps(row)}\n")
    with pytest.raises(ValueError, match=complaint):
        list(read_jsonl(DemoRelation, path))


@pytest.mark.parametrize("subject", [["maya"], None, 7, {"surface": 7}, {"name": "maya"}])
def test_a_subject_is_an_entity_or_a_surface_form_and_nothing_else(subject: Any) -> None:
    line = (FOLDER / "memories.jsonl").read_text().splitlines()[0]
    with pytest.raises(ValueError, match=r"is not a str|is none of|knows surface"):
        parse_typed(DemoMemory, json.loads(line) | {"subject": subject})


def test_the_text_of_a_query_alone_decides_what_it_is_for(world: DemoWorld) -> None:
    parts = [split_of(query.query) for query in world.queries]
    assert 0.6 < parts.count(Split.TUNE) / len(parts) < 0.8
    assert split_of("Who reviews schema changes?") == split_of("  who reviews SCHEMA changes")
