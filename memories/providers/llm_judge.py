"""A judge that asks a language model, one pair per request: a hostile memory can influence only its own verdict."""

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from memories.providers.endpoint import NoAnswerError
from memories.providers.judge import Pair
from memories.providers.language_model import LanguageModel
from memories.providers.prompts import enum_schema, object_schema
from memories.providers.rules_judge import RulesJudge
from scoring.evidence import Grounding

Verdict = TypeVar("Verdict")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeTask:
    """The task about a pair, and the names of its two texts."""

    prompt: str
    names: tuple[str, str]


GROUNDING = JudgeTask(
    "You check whether a text bears a memory out. The verdict is `supported` if the text says or plainly implies all "
    "of the memory, `partial` if it bears out only a part or leaves a detail open, and `unsupported` if it says "
    "something else, the contrary, or nothing about it.",
    ("memory", "text"),
)
SAME = JudgeTask(
    "You check whether two memories say the same, so that one of them can go without loss. The verdict is `same` if "
    "whoever knows one learns nothing from the other, `different` if any person, number, date, place, order of roles "
    "or detail differs, and `unsure` if that cannot be told.",
    ("first", "second"),
)
CONTRADICTION = JudgeTask(
    "You check whether two memories contradict each other. The verdict is `contradiction` if both cannot hold at the "
    "same time, `compatible` if they can, and `unsure` if that cannot be told.",
    ("first", "second"),
)
GROUNDINGS: dict[str, Grounding] = {"supported": "supported", "partial": "partial", "unsupported": "unsupported"}
SAMENESS: dict[str, bool | None] = {"same": True, "different": False, "unsure": None}
CONTRADICTIONS: dict[str, bool | None] = {"contradiction": True, "compatible": False, "unsure": None}


class LanguageModelJudge:
    """Judges by asking a model; without an answer the rules or a person decide."""

    remote = True

    def __init__(self, name: str, model: LanguageModel, *, parallel: int) -> None:
        self.name, self._model, self._parallel = name, model, parallel

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far the text of each pair supports its memory; the rules decide if the model gives no verdict."""
        with_text = [pair for pair in pairs if pair[1].strip()]
        verdicts = dict(zip(with_text, self._verdicts(GROUNDING, GROUNDINGS, with_text), strict=True))
        by_rule = RulesJudge().grounding(pairs)
        return [verdicts.get(pair) or rule for pair, rule in zip(pairs, by_rule, strict=True)]

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same; None if the model gives no verdict."""
        return self._verdicts(SAME, SAMENESS, pairs)

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold; None if the model gives no verdict."""
        return self._verdicts(CONTRADICTION, CONTRADICTIONS, pairs)

    def _verdicts(
        self, task: JudgeTask, verdicts: Mapping[str, Verdict], pairs: Sequence[Pair]
    ) -> list[Verdict | None]:
        """One verdict per pair, by parallel requests; equal pairs are sent once."""
        outage = threading.Event()
        schema = object_schema({"verdict": enum_schema(list(verdicts))})

        def ask_verdict(pair: Pair) -> Verdict | None:
            if outage.is_set():
                return None
            try:
                answer = self._model.ask(task.prompt, schema, dict(zip(task.names, pair, strict=True)))
            except NoAnswerError as error:
                log.warning("judge %s gave no verdict: %s", self.name, error)
                if error.is_outage:
                    outage.set()  # or a write would wait for each of its pairs in turn
                return None
            return parse_verdict(verdicts, answer.value)

        distinct = list(dict.fromkeys(pairs))
        with ThreadPoolExecutor(max(1, min(self._parallel, len(distinct)))) as pool:
            by_pair = dict(zip(distinct, pool.map(ask_verdict, distinct), strict=True))
        return [by_pair[pair] for pair in pairs]


def parse_verdict(verdicts: Mapping[str, Verdict], answer: object) -> Verdict | None:
    """The verdict of an answer; None if it does not match the schema exactly."""
    if not isinstance(answer, dict) or set(answer) != {"verdict"} or not isinstance(answer["verdict"], str):
        return None
    return verdicts.get(answer["verdict"])
