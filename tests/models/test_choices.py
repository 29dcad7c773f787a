"""The database's choices match the constants of `scoring`."""

import pytest

from memories.models.choices import ChunkLevel, EdgeKind, Kind, MemoryType, Mode, Route, SourceLevel
from scoring.confidence import SOURCE_LEVELS
from scoring.signals import EDGE_KINDS, KINDS, LEVELS, MEMSENSE_RETRIEVERS, TYPES
from scoring.systems import SYSTEMS


@pytest.mark.parametrize(
    ("stored", "scored"),
    [(MemoryType, TYPES), (Kind, KINDS), (ChunkLevel, LEVELS), (EdgeKind, EDGE_KINDS), (SourceLevel, SOURCE_LEVELS)],
    ids=["types", "kinds", "levels", "edges", "sources"],
)
def test_the_choices_of_a_column_match_the_scoring_constants(stored: type, scored: tuple[str, ...]) -> None:
    assert tuple(stored.values) == scored  # type: ignore[attr-defined]


def test_every_vector_retriever_of_memsense_can_be_stored() -> None:
    assert {retriever for retriever in MEMSENSE_RETRIEVERS if retriever != "lexical"} <= set(Route.values)


def test_every_mode_of_a_namespace_has_a_preset() -> None:
    assert set(Mode.values) == set(SYSTEMS["contextdb"].presets)
