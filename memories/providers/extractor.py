"""Extractors: turns of a conversation in, memories to be stored out; found by name, made once per process."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memories.contracts.new_memory import NewMemory
from memories.models import Turn
from memories.models.choices import TurnRole
from memories.providers.unavailable import ProviderError


class ExtractorError(ProviderError):
    """An extractor that cannot work here and now; says what to do."""


@dataclass(frozen=True)
class Context:
    """The conversation that turns belong to, and what was said just before them."""

    session: str = ""
    user: str = ""
    agent: str = ""
    before: Sequence[Turn] = ()

    def name_of(self, turn: Turn) -> str:
        """Who speaks: by name where one is known, else by role."""
        if turn.role == TurnRole.USER:
            return turn.speaker or self.user or "The user"
        return turn.speaker or self.agent or "The assistant"


NOWHERE = Context()


class Extractor(Protocol):
    """Reads memories out of what people say; each names its turn in `said`."""

    name: str

    def extract(self, turns: Sequence[Turn], context: Context = NOWHERE) -> list[NewMemory]:
        """What is worth remembering, in the order it was said."""


def rules(name: str) -> Extractor:
    """The default: rules alone, without a model."""
    from memories.text.rule_extractor import RuleExtractor

    return RuleExtractor()


def openai(name: str) -> Extractor:
    """A language model behind an OpenAI-compatible address."""
    from memories.providers.language_model import language_model
    from memories.providers.llm_extractor import LanguageModelExtractor

    return LanguageModelExtractor(name, language_model(name))


EXTRACTORS: dict[str, Callable[[str], Extractor]] = {"rules": rules}
# A family is named before the slash, its model after it.
FAMILIES: dict[str, Callable[[str], Extractor]] = {"openai": openai}

_made: dict[str, Extractor] = {}
_making = threading.Lock()


def known(name: str) -> bool:
    """Whether a name is one of the shipped or names a model of a family."""
    family, _, model = name.partition("/")
    return name in EXTRACTORS or (family in FAMILIES and bool(model))


def extractor(name: str) -> Extractor:
    """The extractor of this name, made by whoever asks first."""
    if not known(name):
        allowed = ", ".join([*EXTRACTORS, *(f"{family}/MODEL" for family in FAMILIES)])
        raise ValueError(f"extractor must be one of {allowed}, not {name!r}.")
    with _making:
        if name not in _made:
            _made[name] = (EXTRACTORS.get(name) or FAMILIES[name.partition("/")[0]])(name)
    return _made[name]
