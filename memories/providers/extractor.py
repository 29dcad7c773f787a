"""Extractors: turns of a conversation in, memories out; found by name, created once per process."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from memories.models import Turn
from memories.text.extraction import NO_CONTEXT, ConversationContext, ExtractedMemory
from memories.text.provider_error import ProviderError


class ExtractorError(ProviderError):
    """An extractor that is unavailable; the message says what to do."""


class Extractor(Protocol):
    """Extracts memories from turns."""

    name: str

    def extract(self, turns: Sequence[Turn], context: ConversationContext = NO_CONTEXT) -> list[ExtractedMemory]:
        """The memories stated in some turns, in order."""


def make_rule_extractor(name: str) -> Extractor:
    """The default: rules, without a model."""
    from memories.text.rule_extractor import RuleExtractor

    return RuleExtractor()


def make_openai_extractor(name: str) -> Extractor:
    """A language model behind an OpenAI-compatible API."""
    from memories.providers.language_model import language_model
    from memories.providers.llm_extractor import LanguageModelExtractor

    return LanguageModelExtractor(name, language_model(name))


EXTRACTORS: dict[str, Callable[[str], Extractor]] = {"rules": make_rule_extractor}
# FAMILY/MODEL
FAMILIES: dict[str, Callable[[str], Extractor]] = {"openai": make_openai_extractor}


def is_known_extractor(name: str) -> bool:
    """Whether a name is a built-in extractor or names a model of a family."""
    family, _, model = name.partition("/")
    return name in EXTRACTORS or (family in FAMILIES and bool(model))


@cache
def extractor(name: str) -> Extractor:
    """The extractor of this name."""
    if not is_known_extractor(name):
        allowed = ", ".join([*EXTRACTORS, *(f"{family}/MODEL" for family in FAMILIES)])
        raise ValueError(f"extractor must be one of {allowed}; got {name!r}.")
    return (EXTRACTORS.get(name) or FAMILIES[name.partition("/")[0]])(name)
