"""Names found by a spaCy pipeline beside the rules, if RECALL_ENTITIES names one: `pip install "recall[spacy]"`."""

import threading
from collections.abc import Iterator
from functools import cache

from django.conf import settings

from memories.text.mention import TextMention
from memories.text.provider_error import ProviderError

RULES, FAMILY = "rules", "spacy/"
ALLOWED = "rules or spacy/MODEL"
# Labels of spaCy's English pipelines that are not entities.
AMOUNTS = frozenset(["CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"])


class RecogniserError(ProviderError):
    """A pipeline that is unavailable; the message says what to do."""


class SpacyRecogniser:
    """A pipeline by its package or folder, named spacy/MODEL."""

    def __init__(self, name: str) -> None:
        try:
            import spacy
        except ImportError as error:
            raise RecogniserError(f'The entities of {name} need spaCy: pip install "recall[spacy]"') from error
        try:
            self._nlp = spacy.load(name.removeprefix(FAMILY))
        except Exception as error:
            raise RecogniserError(f"The pipeline {name} could not be loaded: {error}") from error
        self._lock = threading.Lock()  # the vocabulary grows with every text

    def mentions(self, text: str) -> Iterator[TextMention]:
        """The names in a text, in order."""
        with self._lock:
            entities = self._nlp(text).ents
        return (TextMention(ent.text, ent.start_char, ent.end_char) for ent in entities if ent.label_ not in AMOUNTS)


def is_known_recogniser(name: str) -> bool:
    """Whether a name is rules or names a pipeline."""
    return name == RULES or (name.startswith(FAMILY) and name != FAMILY)


def spacy_mentions(text: str) -> Iterator[TextMention]:
    """The names that the configured pipeline finds; none with rules only."""
    return load_recogniser(settings.RECALL_ENTITIES).mentions(text) if settings.RECALL_ENTITIES != RULES else iter(())


@cache
def load_recogniser(name: str) -> SpacyRecogniser:
    """A pipeline, loaded once per process."""
    return SpacyRecogniser(name)
