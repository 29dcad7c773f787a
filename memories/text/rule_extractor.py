"""The extractor without a model: statements about people, in the third person, with type, time and source level."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memories.models import Turn
from memories.models.choices import Kind, MemoryType, SourceLevel, TurnRole
from memories.text.affirmation import (
    DENIAL_OPENER,
    Affirmation,
    TurnFacts,
    affirmed_fact,
    closing_question,
    named_words,
    parse_affirmation,
    proposition,
    repeats,
    restate,
)
from memories.text.dates import DateMention, date_mentions
from memories.text.entity_mentions import find_mentions
from memories.text.extraction import NO_CONTEXT, ConversationContext, ExtractedMemory
from memories.text.extraction_patterns import parse_statement
from memories.text.sentences import split_sentences
from memories.text.statements import content_words, is_statement, strip_pleasantries
from memories.text.third_person import BOTH, LISTENER, SPEAKER, people_in, to_third_person
from memories.text.topics import topic_tags

MODEL = "rules"
EXTRACTED_ROLES = (TurnRole.USER, TurnRole.ASSISTANT)
WINDOW = 8  # turns before an affirmation that it may refer to
HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i (?:think|guess|suppose|wonder|believe)|not sure|i'm unsure)\b",
    re.IGNORECASE,
)
# Said of the statement that follows, whose level it lowers.
HEDGE_OPENER = re.compile(
    r"^(?:i(?:['’]m| am) not (?:\w+ )?sure,? but )?(?:i (?:think|guess|suppose|believe)(?: that)?|maybe|perhaps) "
    r"(?=(?:i|we|my|our)\b)",
    re.IGNORECASE,
)
# What a machine infers of the user, and what it says before it.
INFERENCE_OPENER = re.compile(
    r"^(?:since [^,]+, )?(?:so,? |then,? )*(?:(?:it|that) (?:sounds|looks|seems|appears) (?:like|as if|as though|that)"
    r"|i (?:assume|gather|take it|guess|suppose|think|understand|believe)(?: that)?"
    r"|(?:that|this|which) (?:means|suggests|tells me)(?: that)?|so)[, ]+(?=your?\b|you['’]re\b)",
    re.IGNORECASE,
)
INFERRED_BE = re.compile(r"^you (?:must be|(?:seem|appear) to be)\b", re.IGNORECASE)
INFERRED_DO = re.compile(r"^you (?:must|(?:seem|appear) to) (?!be\b)", re.IGNORECASE)
INFERENCE = re.compile(
    r"^you(?:['’]re| are)"
    r"(?! (?:right|correct|welcome|able|going|looking|asking|free|allowed|supposed|sure|so|not alone)\b)"
    r"|^you (?:(?:probably|likely|apparently|usually|often|always|never|mostly|mainly|still|also|now) )*"
    r"(?:live|work|use|like|love|enjoy|prefer|own|have|speak|study|drink|eat|play|drive|run|write|teach|come|grew)\b",
    re.IGNORECASE,
)
CONTRACTED_IS = re.compile(r"\w+['’]s ")


class RuleExtractor:
    """Extracts sentence by sentence; the rest stays in the turn's chunk."""

    name = MODEL

    def extract(self, turns: Sequence[Turn], context: ConversationContext = NO_CONTEXT) -> list[ExtractedMemory]:
        """Every statement about people in some turns, in order."""
        spoken = [turn for turn in [*context.before, *turns] if turn.role in EXTRACTED_ROLES]
        speakers, fresh = Speakers([*context.before, *turns], context), {id(turn) for turn in turns}
        return [
            memory
            for index, turn in enumerate(spoken)
            if id(turn) in fresh
            for memory in self._extract_turn(
                turn, self._facts_before(turn, spoken[max(index - WINDOW, 0) : index], speakers), speakers
            )
        ]

    def _facts_before(self, turn: Turn, before: Sequence[Turn], speakers: "Speakers") -> list[TurnFacts]:
        """The facts of the turns before one that affirms something, read within the same window wherever it begins."""
        facts: list[TurnFacts] = []
        if affirms(turn):
            for earlier in before:
                facts.append(
                    TurnFacts(earlier, speakers.name_of(earlier), self._extract_turn(earlier, facts, speakers))
                )
        return facts

    def _extract_turn(self, turn: Turn, earlier: Sequence[TurnFacts], speakers: "Speakers") -> list[ExtractedMemory]:
        """The statements of a turn, and what it affirms of the turns before it."""
        machine = is_machine(turn)
        found: dict[str, ExtractedMemory] = {}
        for raw in split_sentences(turn.text):
            affirmation = None if machine else parse_affirmation(raw)
            fact = self._find_affirmed(affirmation, raw, turn, earlier, speakers) if affirmation else None
            if fact is not None:
                found.setdefault(fact.content, restate(fact, turn, speakers.name_of(turn), raw))
            if fact is None or (affirmation and affirmation.kind == "repeated" and not repeats(raw, affirmation, fact)):
                sentence = strip_pleasantries(DENIAL_OPENER.sub("", raw))
                sentence = inference(sentence) if machine else sentence
                people = people_in(sentence)
                # “…, right?” asks.
                inferred = machine and not raw.endswith("?") and is_inference(sentence)
                if inferred or (not machine and is_statement(sentence)):
                    memory = build_statement_memory(
                        sentence, people, turn, speakers.name_of(turn), speakers.listener(turn)
                    )
                    found.setdefault(memory.content, memory)
        return list(found.values())

    def _find_affirmed(
        self,
        affirmation: Affirmation,
        sentence: str,
        turn: Turn,
        earlier: Sequence[TurnFacts],
        speakers: "Speakers",
    ) -> ExtractedMemory | None:
        """The fact that a sentence affirms: an earlier one, or the proposition of the question it answers."""
        speaker = speakers.name_of(turn)
        asked = None
        if earlier and earlier[-1].speaker != speaker:
            asked = asked_fact(earlier[-1].turn, earlier[-1].speaker, speaker)
        fact = affirmed_fact(affirmation, sentence, speaker, earlier, asked)
        if fact is None and asked and affirmation.kind == "repeated" and not affirmation.negated:
            # “Yes, and we also …”: the yes answers the question, the rest says something else.
            return None if named_words(asked.content) & named_words(sentence) else asked
        return fact


def is_machine(turn: Turn) -> bool:
    """Whether a turn is an assistant's without a name."""
    return turn.role == TurnRole.ASSISTANT and not turn.speaker


def inference(sentence: str) -> str:
    """What a machine infers, without what it says before it.

    >>> [inference(text) for text in ("So it sounds like you prefer tea.", "You must be a nurse, then.")]
    ['You prefer tea.', 'You are a nurse.']
    """
    inferred = re.sub(r",? then(?=[.!]*$)", "", INFERENCE_OPENER.sub("", sentence), flags=re.IGNORECASE)
    inferred = INFERRED_DO.sub("you ", INFERRED_BE.sub("you are", inferred))
    return inferred[:1].upper() + inferred[1:]


def is_inference(sentence: str) -> bool:
    """Whether a machine states something about the user, and about nobody else."""
    if people_in(sentence) != {LISTENER} or sentence.endswith(("?", "!")):
        return False
    return is_statement(sentence) or bool(INFERENCE.match(sentence) and content_words(sentence))


def affirms(turn: Turn) -> bool:
    """Whether a turn may affirm something that was said before."""
    return not is_machine(turn) and any(map(parse_affirmation, split_sentences(turn.text)))


def asked_fact(turn: Turn, asker: str, answerer: str) -> ExtractedMemory | None:
    """What a yes to the question that ends a turn would state about the one who answers."""
    question = closing_question(turn)
    statement = proposition(question)
    people = people_in(statement)
    if (people and LISTENER not in people) or not content_words(statement):
        return None
    # What is of nobody among them is the answerer's statement.
    speaker, listener = (asker, answerer) if people else (answerer, asker)
    fact = build_statement_memory(f"{statement}.", people and {LISTENER}, turn, speaker, listener)
    return replace(fact, evidence=f"{asker} to {answerer}: {statement}?")


@dataclass(frozen=True)
class Speakers:
    """Who speaks to whom."""

    turns: Sequence[Turn]
    context: ConversationContext

    def name_of(self, turn: Turn) -> str:
        """The speaker of a turn."""
        return self.context.name_of(turn)

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
    level = source_level(sentence, people, turn)
    original, sentence = sentence, HEDGE_OPENER.sub("", sentence)
    dates = date_mentions(sentence, turn.said_at)
    parsed = parse_statement(sentence, dated=bool(dates))
    subject = listener if people == {LISTENER} else speaker
    # The evidence gets the resolved dates too, or a judge could not ground them.
    dated_sentence = add_dates(sentence, dates)
    dated_original = original[: len(original) - len(sentence)] + dated_sentence
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
        level=SourceLevel.STRONG_INFERENCE if parsed.inferred and level == SourceLevel.DIRECT else level,
        turn_id=turn.id,
        model=MODEL,
        entities=tuple(dict.fromkeys(name for name in [*named_people(people, speaker, listener), *names] if name)),
        tags=topic_tags(sentence),
        kind=Kind.EPISODIC if parsed.type == MemoryType.EVENT else Kind.SEMANTIC,
        evidence=f"{speaker} to {listener}: {dated_original}" if LISTENER in people else f"{speaker}: {dated_original}",
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
    """The source level by the paper's table: what only a machine infers, a hedge, about oneself, about another."""
    if is_machine(turn):
        return SourceLevel.SPECULATION
    if HEDGE.search(sentence):
        return SourceLevel.WEAK_INFERENCE
    return SourceLevel.DIRECT if people & {SPEAKER, BOTH} else SourceLevel.STRONG_INFERENCE


def named_people(people: set[str], speaker: str, listener: str) -> list[str]:
    """The named people among speaker and listener that a sentence is about."""
    names = [speaker] * (people != {LISTENER}) + [listener] * (LISTENER in people)
    return [name for name in names if not name.startswith("The ")]  # “The user” is no name
