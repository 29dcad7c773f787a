"""An extractor that asks a language model; a memory without a verbatim quote from its turn is dropped."""

import logging
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from memories.models import Turn
from memories.models.choices import MemoryType, SourceLevel
from memories.providers.endpoint import NoAnswerError
from memories.providers.extractor import ExtractorError
from memories.providers.language_model import AnswerToken, LanguageModel, ModelAnswer
from memories.providers.prompts import enum_schema, object_schema
from memories.text.extraction import NO_CONTEXT, ConversationContext, ExtractedMemory

TEXT = {"type": "string"}
ITEM = object_schema(
    {
        "turn": {"type": "integer"},
        "quote": TEXT,
        "content": TEXT,
        "type": enum_schema(MemoryType.values),
        "level": enum_schema(SourceLevel.values),
        "subject": TEXT,
        "predicate": TEXT,
        "object": TEXT,
    }
)
SCHEMA = object_schema({"memories": {"type": "array", "items": ITEM}})
TASK = (
    "You read what is worth remembering out of the turns of a conversation: lasting facts, preferences, events and "
    "relations of the people and things in it. Leave out greetings, questions and what holds only for the moment. "
    "`before` is there to understand the turns; take memories from `turns` alone. Each memory has the number of its "
    "`turn`; a `quote`, copied to the letter from that turn, that says it; a `content`, one sentence that can be "
    "understood alone, with names instead of pronouns; its `type`; the `level`, how directly the quote says it: "
    "direct, confirmation (it affirms what was asked or said), strong_inference, weak_inference (a hedge) or "
    "speculation (only the assistant infers it); and `subject`, `predicate` and `object` in few words, or empty "
    "strings. A turn that states or affirms an earlier memory again gives another memory with the same `content`."
)
TURNS_PER_REQUEST = 20
CONTEXT_TURNS = 4
MAX_CHARS = {"content": 20_000, "subject": 300, "predicate": 200, "object": 2_000}  # as the columns allow
UNSTORABLE = re.compile("[\0\ud800-\udfff]")

log = logging.getLogger(__name__)


class LanguageModelExtractor:
    """Extracts by asking a model, named openai/MODEL."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self.name, self._model = name, model

    def extract(self, turns: Sequence[Turn], context: ConversationContext = NO_CONTEXT) -> list[ExtractedMemory]:
        """The memories stated in some turns, in order, each with its turn and quote."""
        extracted: list[ExtractedMemory] = []
        for start in range(0, len(turns), TURNS_PER_REQUEST):
            batch = turns[start : start + TURNS_PER_REQUEST]
            before = [*context.before, *turns[:start]][-CONTEXT_TURNS:]
            extracted += self._extract_batch(batch, before, context)
        return extracted

    def _extract_batch(
        self, turns: Sequence[Turn], before: Sequence[Turn], context: ConversationContext
    ) -> list[ExtractedMemory]:
        material = {"before": [turn_to_dict(turn, context) for turn in before]}
        material["turns"] = [{"turn": number, **turn_to_dict(turn, context)} for number, turn in enumerate(turns, 1)]
        try:
            answer = self._model.ask(TASK, SCHEMA, material, logprobs=True)
        except NoAnswerError as error:
            raise ExtractorError(f"The extractor {self.name} gave no answer: {error}") from error
        memories = [
            (item["turn"], memory)
            for item in valid_items(answer)
            if (memory := self._build_memory(item, turns, answer))
        ]
        return [memory for _, memory in sorted(memories, key=lambda pair: pair[0])]

    def _build_memory(self, item: dict[str, Any], turns: Sequence[Turn], answer: ModelAnswer) -> ExtractedMemory | None:
        """A memory, if its quote is in its turn."""
        index = item["turn"] - 1
        turn = turns[index] if 0 <= index < len(turns) else None
        if turn is None or not fold_quote(item["quote"]) or fold_quote(item["quote"]) not in fold_quote(turn.text):
            log.info("extractor %s: dropped a memory whose quote is in no turn", self.name)
            return None
        return ExtractedMemory(
            content=item["content"],
            type=item["type"],
            subject=item["subject"],
            predicate=item["predicate"],
            object=item["object"],
            level=item["level"],
            turn_id=turn.id,
            model=self._model.model,
            logprobs=content_logprobs(item["content"], answer.tokens),
            evidence=item["quote"],
            happened_at=turn.said_at,
        )


def turn_to_dict(turn: Turn, context: ConversationContext) -> dict[str, Any]:
    """A turn as the model sees it."""
    return {"who": context.name_of(turn), "said_at": turn.said_at.isoformat(), "text": turn.text}


def valid_items(answer: ModelAnswer) -> Iterator[dict[str, Any]]:
    """The items of an answer that match the schema."""
    items = answer.value.get("memories") if isinstance(answer.value, dict) else None
    for item in items if isinstance(items, list) else ():
        if (
            isinstance(item, dict)
            and set(item) == set(ITEM["properties"])
            and all(map(is_valid_value, item, item.values()))
        ):
            yield item


def is_valid_value(name: str, value: object) -> bool:
    """Whether the schema allows a value under a name, and it can be stored."""
    if name == "turn":
        return type(value) is int
    if not isinstance(value, str) or UNSTORABLE.search(value) or len(value) > MAX_CHARS.get(name, 20_000):
        return False
    allowed = ITEM["properties"][name].get("enum")
    return value in allowed if allowed else bool(value.strip()) or name in ("subject", "predicate", "object")


def fold_quote(text: str) -> str:
    """A text for comparing quotes: Unicode form, case, whitespace and quotation marks normalised."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(str.maketrans("’‘“”", "''\"\""))
    return " ".join(folded.split())


def content_logprobs(content: str, tokens: Sequence[AnswerToken]) -> tuple[float, ...]:
    """The log-probabilities of a memory's tokens; of the whole answer if they cannot be located."""
    if not tokens:
        return ()
    text = "".join(token.text for token in tokens)
    start = text.find(content)
    if start < 0:  # escaped in the JSON
        return tuple(token.logprob for token in tokens)
    position, logprobs = 0, []
    for token in tokens:
        if position + len(token.text) > start and position < start + len(content):
            logprobs.append(token.logprob)
        position += len(token.text)
    return tuple(logprobs)
