"""An extractor that asks a language model; what it cannot show by a quotation was not said, and is dropped."""

import logging
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from memories.models import Turn
from memories.models.choices import MemoryType, SourceLevel
from memories.providers.endpoint import NoAnswerError
from memories.providers.extractor import NOWHERE, Context, ExtractorError
from memories.providers.language_model import Completion, LanguageModel, Token
from memories.providers.prompts import closed, one_of
from memories.writing.new_memory import NewMemory, Utterance

TEXT = {"type": "string"}
ITEM = closed(
    {
        "turn": {"type": "integer"},
        "quote": TEXT,
        "content": TEXT,
        "type": one_of(MemoryType.values),
        "level": one_of(SourceLevel.values),
        "subject": TEXT,
        "predicate": TEXT,
        "object": TEXT,
    }
)
SCHEMA = closed({"memories": {"type": "array", "items": ITEM}})
TASK = (
    "You read what is worth remembering out of the turns of a conversation: lasting facts, preferences, events and "
    "relations of the people and things in it. Leave out greetings, questions and what holds only for the moment. "
    "`before` is there to understand the turns; take memories from `turns` alone. Each memory has the number of its "
    "`turn`; a `quote`, copied to the letter from that turn, that says it; a `content`, one sentence that can be "
    "understood alone, with names instead of pronouns; its `type`; the `level`, how directly the quote says it; and "
    "`subject`, `predicate` and `object` in few words, or empty strings."
)
TURNS_AT_ONCE = 20
LONGEST = {"content": 20_000, "subject": 300, "predicate": 200, "object": 2_000}  # characters, as the columns take them
UNSTORABLE = re.compile("[\0\ud800-\udfff]")

log = logging.getLogger(__name__)


class LanguageModelExtractor:
    """Extracts by asking a model; its name is openai/MODEL."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self.name, self._model = name, model

    def extract(self, turns: Sequence[Turn], context: Context = NOWHERE) -> list[NewMemory]:
        """What is worth remembering, in the order it was said; each with the turn and the words that say it."""
        found: list[NewMemory] = []
        for start in range(0, len(turns), TURNS_AT_ONCE):
            part = turns[start : start + TURNS_AT_ONCE]
            before = [*context.before, *turns[:start]][-4:]
            found += self._of_part(part, before, context)
        return found

    def _of_part(self, turns: Sequence[Turn], before: Sequence[Turn], context: Context) -> list[NewMemory]:
        material = {"before": [shown(turn, context) for turn in before]}
        material["turns"] = [{"turn": place, **shown(turn, context)} for place, turn in enumerate(turns, 1)]
        try:
            answer = self._model.ask(TASK, SCHEMA, material, logprobs=True)
        except NoAnswerError as error:
            raise ExtractorError(f"The extractor {self.name} gave no answer: {error}") from error
        kept = [(item["turn"], new) for item in items(answer) if (new := self._memory(item, turns, context, answer))]
        return [new for _, new in sorted(kept, key=lambda pair: pair[0])]

    def _memory(
        self, item: dict[str, Any], turns: Sequence[Turn], context: Context, answer: Completion
    ) -> NewMemory | None:
        """A memory, if its quotation stands in its turn."""
        place = item["turn"] - 1
        turn = turns[place] if 0 <= place < len(turns) else None
        if turn is None or not plain(item["quote"]) or plain(item["quote"]) not in plain(turn.text):
            log.info("The extractor %s told something that no turn says; it is left out", self.name)
            return None
        return NewMemory(
            content=item["content"],
            type=item["type"],
            subject=item["subject"],
            predicate=item["predicate"],
            object=item["object"],
            utterances=(Utterance(item["level"], turn.id),),
            model=self._model.model,
            logprobs=logprobs_of(item["content"], answer.tokens),
            user=context.user,
            agent=context.agent,
            session=context.session,
            evidence=item["quote"],
            happened_at=turn.said_at,
        )


def shown(turn: Turn, context: Context) -> dict[str, Any]:
    """A turn as the model sees it."""
    return {"who": context.name_of(turn), "said_at": turn.said_at.isoformat(), "text": turn.text}


def items(answer: Completion) -> Iterator[dict[str, Any]]:
    """Those items of an answer that keep to the schema."""
    told = answer.value.get("memories") if isinstance(answer.value, dict) else None
    for item in told if isinstance(told, list) else ():
        if isinstance(item, dict) and set(item) == set(ITEM["properties"]) and all(map(sound, item, item.values())):
            yield item


def sound(name: str, value: object) -> bool:
    """Whether a value is one that the schema allows under a name, and that can be stored."""
    if name == "turn":
        return type(value) is int
    if not isinstance(value, str) or UNSTORABLE.search(value) or len(value) > LONGEST.get(name, 20_000):
        return False
    allowed = ITEM["properties"][name].get("enum")
    return value in allowed if allowed else bool(value.strip()) or name in ("subject", "predicate", "object")


def plain(text: str) -> str:
    """A text as a quotation is looked for in it: one form, one kind of blank and of quotation mark."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(str.maketrans("’‘“”", "''\"\""))
    return " ".join(folded.split())


def logprobs_of(content: str, tokens: Sequence[Token]) -> tuple[float, ...]:
    """The log-probabilities of the tokens that wrote a memory; of all of them where they cannot be told apart."""
    if not tokens:
        return ()
    whole = "".join(token.text for token in tokens)
    start = whole.find(content)
    if start < 0:  # written with escapes
        return tuple(token.logprob for token in tokens)
    at, kept = 0, []
    for token in tokens:
        if at + len(token.text) > start and at < start + len(content):
            kept.append(token.logprob)
        at += len(token.text)
    return tuple(kept)
