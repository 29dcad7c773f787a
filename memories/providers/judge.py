"""Judges: whether a text supports a memory, whether two memories say the same or contradict each other."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeAlias

from django.conf import settings

from memories.providers import language_model
from scoring.evidence import Grounding

Pair: TypeAlias = tuple[str, str]


class Judge(Protocol):
    """Judges a batch of pairs, one verdict each, in order; never fails, but may have no verdict."""

    name: str
    remote: bool  # whether it calls the network, so no lock should be held meanwhile

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far the text of each pair supports its memory; an empty text supports it."""

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same; None: a person should decide."""

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold; None: a person should decide."""


def make_rules_judge(name: str) -> Judge:
    """The default: rules, without a model."""
    from memories.providers.rules_judge import RulesJudge

    return RulesJudge()


def make_openai_judge(name: str) -> Judge:
    """A language model behind an OpenAI-compatible API."""
    from memories.providers.llm_judge import LanguageModelJudge

    return LanguageModelJudge(name, language_model.language_model(name), parallel=settings.OPENAI_PARALLEL)


JUDGES: dict[str, Callable[[str], Judge]] = {"rules": make_rules_judge}


@cache
def judge(name: str) -> Judge:
    """The judge of this name."""
    if not language_model.is_known_model(name):
        raise ValueError(f"judge must be {language_model.ALLOWED}; got {name!r}.")
    return JUDGES.get(name, make_openai_judge)(name)
