"""Names that a spaCy pipeline finds beside the rules."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import spacy

from memories.contracts.new_memory import NewMemory
from memories.models import Memory, Namespace
from memories.text.entity_mentions import entities_in, find_mentions
from memories.text.entity_registry import EntityRegistry, KnownEntity
from memories.text.spacy_names import RecogniserError, load_recogniser
from memories.writing.remember import remember

pytestmark = pytest.mark.slow

CAFE = UUID(int=1)


@pytest.fixture
def spacy_pipeline(tmp_path: Path, settings: Any) -> Iterator[None]:
    """A pipeline on disk that knows names no rule can tell from words, and an amount."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "ORG", "pattern": "the daily grind"}, {"label": "MONEY", "pattern": "forty euros"}]
    )
    nlp.to_disk(tmp_path / "names")
    settings.RECALL_ENTITIES = f"spacy/{tmp_path / 'names'}"
    yield
    load_recogniser.cache_clear()


def surfaces(text: str) -> list[str]:
    return [one.surface for one in find_mentions(text)]


TOLD = "yesterday Maya paid forty euros at the daily grind"


def test_without_a_pipeline_the_rules_work_alone() -> None:
    assert surfaces(TOLD) == ["Maya"]


@pytest.mark.usefixtures("spacy_pipeline")
def test_a_pipeline_finds_names_beside_the_rules_and_amounts_are_none() -> None:
    assert surfaces(TOLD) == ["Maya", "the daily grind"]


@pytest.mark.usefixtures("spacy_pipeline")
def test_what_a_pipeline_finds_is_resolved_like_any_name() -> None:
    registry = EntityRegistry([KnownEntity(CAFE, "Daily Grind Ltd", "organisation", ("The Daily Grind",))])
    assert [(one.entity_id, one.surface) for one in entities_in(TOLD, registry)] == [(CAFE, "the daily grind")]


def test_a_pipeline_that_is_not_there_is_reported_in_one_sentence() -> None:
    with pytest.raises(RecogniserError, match=r"^The pipeline spacy/nowhere could not be loaded: "):
        load_recogniser("spacy/nowhere")


def test_without_its_package_a_pipeline_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)  # as Python marks what cannot be imported
    with pytest.raises(RecogniserError, match=r'need spaCy: pip install "recall\[spacy\]"$'):
        load_recogniser("spacy/en_core_web_sm")


@pytest.mark.django_db
def test_a_memory_is_not_stored_without_the_pipeline_that_should_read_it(settings: Any) -> None:
    settings.RECALL_ENTITIES = "spacy/nowhere"
    here = Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")
    with pytest.raises(RecogniserError):
        remember(here, [NewMemory(content="Maya paid", entities=("Maya",))], by="test")
    assert not Memory.objects.within(here).exists()
