"""A spaCy pipeline that finds names beside the rules, where one is configured: `pip install "recall[spacy]"`."""

import threading
from collections.abc import Iterator
from functools import cache

from django.conf import settings

from memories.providers.unavailable import ProviderError
from memories.text.mention import TextMention

RULES, FAMILY = "rules", "spacy/"
ALLOWED = "rules or spacy/MODEL"
# What spaCy's English pipelines mark and no entity is.
AMOUNTS = frozenset(["CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"])


class RecogniserError(ProviderError):
    """A pipeline that cannot work here and now; says what to do."""


class Pipeline:
    """A pipeline by its package or folder; its name is spacy/MODEL."""

    def __init__(self, name: str) -> None:
        try:
            import spacy
        except ImportError as missing:
            raise RecogniserError(f'The entities of {name} need spaCy: pip install "recall[spacy]"') from missing
        try:
            self._nlp = spacy.load(name.removeprefix(FAMILY))
        except Exception as wrong:
            raise RecogniserError(f"The pipeline {name} could not be loaded: {wrong}") from wrong
        self._working = threading.Lock()  # its vocabulary grows with what it reads

    def spans(self, text: str) -> Iterator[TextMention]:
        """What a text names, in its order."""
        with self._working:
            found = self._nlp(text).ents
        return (TextMention(one.text, one.start_char, one.end_char) for one in found if one.label_ not in AMOUNTS)


def known(name: str) -> bool:
    """Whether a name stands for the rules alone or for a pipeline."""
    return name == RULES or (name.startswith(FAMILY) and name != FAMILY)


def recognised(text: str) -> Iterator[TextMention]:
    """What the configured pipeline finds named; nothing where the rules work alone."""
    return pipeline(settings.RECALL_ENTITIES).spans(text) if settings.RECALL_ENTITIES != RULES else iter(())


@cache
def pipeline(name: str) -> Pipeline:
    """The pipeline of this name, loaded by whoever asks first."""
    return Pipeline(name)
