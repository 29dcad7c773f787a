"""The extractor that needs no model: statements about people, told in the third person, with type, time and source."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memories.extracting.patterns import reading
from memories.extracting.topics import topics
from memories.language.dates import Occasion, occasions
from memories.language.entities import mentions
from memories.language.retelling import BOTH, LISTENER, SPEAKER, people_in, retold
from memories.language.sentences import sentences
from memories.language.statements import bare, worth_keeping
from memories.models import Turn
from memories.models.choices import Kind, MemoryType, SourceLevel, TurnRole
from memories.providers.extractor import NOWHERE, Context
from memories.writing.new_memory import NewMemory, Said

MODEL = "rules"
HEARD = (TurnRole.USER, TurnRole.ASSISTANT)
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i (?:think|guess|suppose|wonder|believe)|not sure|i'm unsure)\b",
    re.IGNORECASE,
)
SHORT_IS = re.compile(r"\w+['’]s ")


class Rules:
    """Reads sentence by sentence; what it cannot place it leaves to the chunk of the turn."""

    name = MODEL

    def extract(self, turns: Sequence[Turn], context: Context = NOWHERE) -> list[NewMemory]:
        """Every statement about people in some turns, in the order they were said."""
        heard = [turn for turn in turns if turn.role in HEARD]
        voices = Voices([*context.before, *turns], context)
        return [new for turn in heard for new in self._of_turn(turn, voices, context)]

    def _of_turn(self, turn: Turn, voices: "Voices", context: Context) -> Iterator[NewMemory]:
        speaker, listener = context.name_of(turn), voices.listener(turn)
        # An assistant without a name is a machine: of what it says, only what it tells the user about them counts.
        machine = turn.role == TurnRole.ASSISTANT and not turn.speaker
        for sentence in dict.fromkeys(map(bare, sentences(turn.text))):
            people = people_in(sentence)
            if not worth_keeping(sentence) or (machine and people != {LISTENER}):
                continue
            yield told(sentence, people, turn, speaker, listener, context)


@dataclass(frozen=True)
class Voices:
    """Who speaks with whom."""

    turns: Sequence[Turn]
    context: Context

    def listener(self, turn: Turn) -> str:
        """Whom a turn is said to: the last other speaker before it, else the first after it."""
        speaker = self.context.name_of(turn)
        place = next(at for at, one in enumerate(self.turns) if one is turn)
        around = [*reversed(self.turns[:place]), *self.turns[place + 1 :]]
        names = (self.context.name_of(one) for one in around if one.role in HEARD)
        other = self.context.user if turn.role == TurnRole.ASSISTANT else self.context.agent
        return next((name for name in names if name != speaker), other or "The other")


def told(sentence: str, people: set[str], turn: Turn, speaker: str, listener: str, context: Context) -> NewMemory:
    """One statement as a memory to be."""
    times = occasions(sentence, turn.said_at)
    read = reading(sentence, dated=bool(times))
    subject = listener if people == {LISTENER} else speaker
    # The evidence has the days as well: the calendar tells them, and no judge could find them in the words.
    said = with_dates(sentence, times)
    content = retold(said, speaker, listener)
    # “Life's been tough” names nobody.
    names = [
        one.surface for one in mentions(sentence) if one.start or " " in one.surface or not SHORT_IS.match(sentence)
    ]
    return NewMemory(
        content=content if people else f"{speaker}: {content}",
        type=read.type,
        subject=subject,
        predicate=read.predicate,
        object=read.object,
        said=(Said(level(sentence, people, turn), turn.id),),
        model=MODEL,
        entities=tuple(dict.fromkeys(name for name in [*named(people, speaker, listener, turn), *names] if name)),
        tags=topics(sentence),
        kind=Kind.EPISODIC if read.type == MemoryType.EVENT else Kind.SEMANTIC,
        user=context.user,
        agent=context.agent,
        session=context.session,
        evidence=f"{speaker} to {listener}: {said}" if LISTENER in people else f"{speaker}: {said}",
        happened_at=turn.said_at,
        event_at=times[0].when.start if times else None,
        event_until=times[0].when.until if times else None,
    )


def with_dates(sentence: str, times: Sequence[Occasion]) -> str:
    """A sentence whose relative times say which day they mean, so that it can be read on any other day."""
    for one in reversed(times):
        if one.relative:
            sentence = f"{sentence[: one.end]} ({one.when}){sentence[one.end :]}"
    return sentence


def level(sentence: str, people: set[str], turn: Turn) -> SourceLevel:
    """How directly somebody says it: of themselves, of another, or as a guess."""
    if turn.role == TurnRole.ASSISTANT and not turn.speaker:
        return SourceLevel.WEAK_INFERENCE
    if HEDGE.search(sentence):
        return SourceLevel.SPECULATION
    return SourceLevel.DIRECT if people & {SPEAKER, BOTH} else SourceLevel.STRONG_INFERENCE


def named(people: set[str], speaker: str, listener: str, turn: Turn) -> list[str]:
    """Those of the two who have a name and are spoken of."""
    spoken_of = [speaker] * bool(people != {LISTENER}) + [listener] * bool(LISTENER in people)
    return [name for name in spoken_of if not name.startswith("The ")]
