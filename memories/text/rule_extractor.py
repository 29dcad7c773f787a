"""The extractor without a model: statements about people, in the third person, with type, time and source level."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memories.models import Turn
from memories.models.choices import Kind, MemoryType, SourceLevel, TurnRole
from memories.text.dates import DateMention, date_mentions
from memories.text.entity_mentions import find_mentions
from memories.text.extraction import NO_CONTEXT, ConversationContext, ExtractedMemory
from memories.text.extraction_patterns import parse_statement
from memories.text.sentences import split_sentences
from memories.text.statements import is_statement, strip_pleasantries
from memories.text.third_person import BOTH, LISTENER, SPEAKER, people_in, to_third_person
from memories.text.topics import topic_tags

MODEL = "rules"
EXTRACTED_ROLES = (TurnRole.USER, TurnRole.ASSISTANT)
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i (?:think|guess|suppose|wonder|believe)|not sure|i'm unsure)\b",
    re.IGNORECASE,
)
CONTRACTED_IS = re.compile(r"\w+['’]s ")


class RuleExtractor:
    """Extracts sentence by sentence; the rest stays in the turn's chunk."""

    name = MODEL

    def extract(self, turns: Sequence[Turn], context: ConversationContext = NO_CONTEXT) -> list[ExtractedMemory]:
        """Every statement about people in some turns, in order."""
        spoken = [turn for turn in turns if turn.role in EXTRACTED_ROLES]
        speakers = Speakers([*context.before, *turns], context)
        return [memory for turn in spoken for memory in self._extract_turn(turn, speakers, context)]

    def _extract_turn(
        self, turn: Turn, speakers: "Speakers", context: ConversationContext
    ) -> Iterator[ExtractedMemory]:
        speaker, listener = context.name_of(turn), speakers.listener(turn)
        # An unnamed assistant is a machine: only its statements about the user count.
        machine = turn.role == TurnRole.ASSISTANT and not turn.speaker
        for sentence in dict.fromkeys(map(strip_pleasantries, split_sentences(turn.text))):
            people = people_in(sentence)
            if not is_statement(sentence) or (machine and people != {LISTENER}):
                continue
            yield build_statement_memory(sentence, people, turn, speaker, listener)


@dataclass(frozen=True)
class Speakers:
    """Who speaks to whom."""

    turns: Sequence[Turn]
    context: ConversationContext

    def listener(self, turn: Turn) -> str:
        """The addressee of a turn: the last other speaker before it, else the first after it."""
        speaker = self.context.name_of(turn)
        index = next(position for position, candidate in enumerate(self.turns) if candidate is turn)
        around = [*reversed(self.turns[:index]), *self.turns[index + 1 :]]
        names = (self.context.name_of(candidate) for candidate in around if candidate.role in EXTRACTED_ROLES)
        other = self.context.user if turn.role == TurnRole.ASSISTANT else self.context.agent
        return next((name for name in names if name != speaker), other or "The other")


def build_statement_memory(sentence: str, people: set[str], turn: Turn, speaker: str, listener: str) -> ExtractedMemory:
    """Build a memory from one statement."""
    dates = date_mentions(sentence, turn.said_at)
    parsed = parse_statement(sentence, dated=bool(dates))
    subject = listener if people == {LISTENER} else speaker
    # The evidence gets the resolved dates too, or a judge could not ground them.
    dated_sentence = add_dates(sentence, dates)
    content = to_third_person(dated_sentence, speaker, listener)
    # “Life's been tough” contains no name.
    names = [
        mention.surface
        for mention in find_mentions(sentence)
        if mention.start or " " in mention.surface or not CONTRACTED_IS.match(sentence)
    ]
    return ExtractedMemory(
        content=content if people else f"{speaker}: {content}",
        type=parsed.type,
        subject=subject,
        predicate=parsed.predicate,
        object=parsed.object,
        level=source_level(sentence, people, turn),
        turn_id=turn.id,
        model=MODEL,
        entities=tuple(dict.fromkeys(name for name in [*named_people(people, speaker, listener), *names] if name)),
        tags=topic_tags(sentence),
        kind=Kind.EPISODIC if parsed.type == MemoryType.EVENT else Kind.SEMANTIC,
        evidence=f"{speaker} to {listener}: {dated_sentence}" if LISTENER in people else f"{speaker}: {dated_sentence}",
        happened_at=turn.said_at,
        event_at=dates[0].when.start if dates else None,
        event_until=dates[0].when.until if dates else None,
    )


def add_dates(sentence: str, dates: Sequence[DateMention]) -> str:
    """A sentence with the resolved date after each relative one, so that it can be read later."""
    for date in reversed(dates):
        if date.relative:
            sentence = f"{sentence[: date.end]} ({date.when}){sentence[date.end :]}"
    return sentence


def source_level(sentence: str, people: set[str], turn: Turn) -> SourceLevel:
    """The source level: about oneself, about another person, or a guess."""
    if turn.role == TurnRole.ASSISTANT and not turn.speaker:
        return SourceLevel.WEAK_INFERENCE
    if HEDGE.search(sentence):
        return SourceLevel.SPECULATION
    return SourceLevel.DIRECT if people & {SPEAKER, BOTH} else SourceLevel.STRONG_INFERENCE


def named_people(people: set[str], speaker: str, listener: str) -> list[str]:
    """The named people among speaker and listener that a sentence is about."""
    names = [speaker] * (people != {LISTENER}) + [listener] * (LISTENER in people)
    return [name for name in names if not name.startswith("The ")]  # “The user” is no name
