"""The words of the database and the words of the formulas are the same."""

import pytest

from memories.models.choices import ChunkLevel, EdgeKind, Kind, MemoryType, Mode, Route, SourceLevel
from scoring.confidence import SOURCE_LEVELS
from scoring.signals import EDGES, KINDS, LEVELS, ROUTES, TYPES
from scoring.systems import SYSTEMS


@pytest.mark.parametrize(
    ("stored", "scored"),
    [(MemoryType, TYPES), (Kind, KINDS), (ChunkLevel, LEVELS), (EdgeKind, EDGES), (SourceLevel, SOURCE_LEVELS)],
    ids=["types", "kinds", "levels", "edges", "sources"],
)
def test_a_stored_word_is_a_word_the_formulas_know(stored: type, scored: tuple[str, ...]) -> None:
    assert tuple(stored.values) == scored  # type: ignore[attr-defined]


def test_every_vector_route_of_memsense_can_be_stored() -> None:
    assert {route for route in ROUTES if route != "lexical"} <= set(Route.values)


def test_every_mode_of_a_namespace_has_its_preset() -> None:
    assert set(Mode.values) == set(SYSTEMS["contextdb"].presets)
