"""Judges: whether a text bears a memory out, whether two memories say the same or contradict each other."""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from django.conf import settings

from memories.providers import language_model
from scoring.evidence import Grounding

Pair: TypeAlias = tuple[str, str]


class Judge(Protocol):
    """Judges many pairs at once, one verdict each in their order; never fails, but says that it does not know."""

    name: str
    remote: bool  # whether it asks over the network, so that nobody should hold a lock meanwhile

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far each memory is borne out by its text; without a text there is nothing to doubt."""

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same; None where a person should look."""

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold; None where a person should look."""


def rules(name: str) -> Judge:
    """The default: rules alone, without a model."""
    from memories.providers.rules_judge import RulesJudge

    return RulesJudge()


def openai(name: str) -> Judge:
    """A language model behind an OpenAI-compatible address."""
    from memories.providers.llm_judge import LanguageModelJudge

    return LanguageModelJudge(name, language_model.language_model(name), at_once=settings.OPENAI_PARALLEL)


JUDGES: dict[str, Callable[[str], Judge]] = {"rules": rules}

_made: dict[str, Judge] = {}
_making = threading.Lock()


def judge(name: str) -> Judge:
    """The judge of this name, made by whoever asks first."""
    if not language_model.known(name):
        raise ValueError(f"judge must be {language_model.ALLOWED}, not {name!r}.")
    with _making:
        if name not in _made:
            _made[name] = JUDGES.get(name, openai)(name)
    return _made[name]
