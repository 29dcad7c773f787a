"""A judge that asks a language model, one pair a request: a hostile memory can speak for nobody but itself."""

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from memories.providers.endpoint import NoAnswerError
from memories.providers.judge import Pair
from memories.providers.language_model import LanguageModel
from memories.providers.prompts import closed, one_of
from memories.providers.rules_judge import RulesJudge
from scoring.evidence import Grounding

Verdict = TypeVar("Verdict")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """What is asked of a pair, and how its two texts are called."""

    task: str
    names: tuple[str, str]


GROUNDING = Question(
    "You check whether a text bears a memory out. The verdict is `supported` if the text says or plainly implies all "
    "of the memory, `partial` if it bears out only a part or leaves a detail open, and `unsupported` if it says "
    "something else, the contrary, or nothing about it.",
    ("memory", "text"),
)
SAME = Question(
    "You check whether two memories say the same, so that one of them can go without loss. The verdict is `same` if "
    "whoever knows one learns nothing from the other, `different` if any person, number, date, place, order of roles "
    "or detail differs, and `unsure` if that cannot be told.",
    ("first", "second"),
)
CONTRADICTION = Question(
    "You check whether two memories contradict each other. The verdict is `contradiction` if both cannot hold at the "
    "same time, `compatible` if they can, and `unsure` if that cannot be told.",
    ("first", "second"),
)
GROUNDINGS: dict[str, Grounding] = {"supported": "supported", "partial": "partial", "unsupported": "unsupported"}
SAMENESS: dict[str, bool | None] = {"same": True, "different": False, "unsure": None}
CONTRADICTIONS: dict[str, bool | None] = {"contradiction": True, "compatible": False, "unsure": None}


class LanguageModelJudge:
    """Judges by asking a model; what it does not answer is left to the rules or to a person."""

    remote = True

    def __init__(self, name: str, model: LanguageModel, *, at_once: int) -> None:
        self.name, self._model, self._at_once = name, model, at_once

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far each memory is borne out by its text; the rules judge where the model does not."""
        asked = [pair for pair in pairs if pair[1].strip()]
        verdicts = dict(zip(asked, self._verdicts(GROUNDING, GROUNDINGS, asked), strict=True))
        by_rule = RulesJudge().grounding(pairs)
        return [verdicts.get(pair) or rule for pair, rule in zip(pairs, by_rule, strict=True)]

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same; None where the model does not answer."""
        return self._verdicts(SAME, SAMENESS, pairs)

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold; None where the model does not answer."""
        return self._verdicts(CONTRADICTION, CONTRADICTIONS, pairs)

    def _verdicts(
        self, question: Question, verdicts: Mapping[str, Verdict], pairs: Sequence[Pair]
    ) -> list[Verdict | None]:
        """One verdict for each pair, several asked at once; equal pairs are asked once."""
        away = threading.Event()
        schema = closed({"verdict": one_of(list(verdicts))})

        def verdict(pair: Pair) -> Verdict | None:
            if away.is_set():
                return None
            try:
                answer = self._model.ask(question.task, schema, dict(zip(question.names, pair, strict=True)))
            except NoAnswerError as error:
                log.warning("The judge %s gave no verdict: %s", self.name, error)
                if error.away:
                    away.set()  # a write shall not wait for each of its pairs in turn
                return None
            return chosen(verdicts, answer.value)

        distinct = list(dict.fromkeys(pairs))
        with ThreadPoolExecutor(max(1, min(self._at_once, len(distinct)))) as pool:
            found = dict(zip(distinct, pool.map(verdict, distinct), strict=True))
        return [found[pair] for pair in pairs]


def chosen(verdicts: Mapping[str, Verdict], answer: object) -> Verdict | None:
    """The verdict of an answer that keeps to the schema to the letter; anything else is none."""
    if not isinstance(answer, dict) or set(answer) != {"verdict"} or not isinstance(answer["verdict"], str):
        return None
    return verdicts.get(answer["verdict"])
