"""What a turn affirms of what was said before: a yes to a question, an ellipsis, a yes that repeats a fact."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memories.models import Turn
from memories.models.choices import MemoryType, SourceLevel
from memories.text.entity_mentions import find_mentions
from memories.text.extraction import ExtractedMemory
from memories.text.extraction_patterns import KINSHIP, NAME, PETS, parse_statement
from memories.text.sentences import split_sentences
from memories.text.statements import content_words, strip_pleasantries
from memories.text.third_person import BOTH, LISTENER, SPEAKER, people_in
from memories.text.verbs import ADVERBS, third_person_verb
from scoring.contradiction import is_negated, numbers
from scoring.dedup import normalize

YES = (
    r"(?:yes+|yeah|yea|yep|yup|right|correct|exactly|indeed|precisely|absolutely|definitely|certainly|totally|of course"
    r"|true|sure|that(?:['’]s| is) (?:right|correct|true|it)|you(?:['’]re| are) right)"
)
LEAD = r"(?:(?:oh|ah|well|hm+|ok(?:ay)?|so|and|but|actually|honestly)\b[,.!]? *)*"
OPENER = re.compile(rf"^{LEAD}(?:{YES}\b *[,.!;:–—-]* *)+", re.IGNORECASE)
# “Certainly not”, “Yes and no”: what begins like a yes and is none.
DENIED = re.compile(
    r"^(?:(?:and|but|or) )?(?:no|nope|nah|not|never|hardly|(?:(?:quite|just|rather) )?the (?:opposite|contrary))\b",
    re.IGNORECASE,
)
DENIAL = re.compile(
    r"\b(?:no|nope|nah|not|never|hardly|opposite|contrary|wrong|false|once|formerly)\b|n['’]t\b", re.IGNORECASE
)
DENIAL_OPENER = re.compile(
    rf"^{LEAD}(?:no|nope|nah|not (?:really|at all|exactly)|{YES} not)\b *[,.!;:–—-]+ *(?=\w)", re.IGNORECASE
)
AGREES = re.compile(r"\b(?:right|correct|exactly|true|indeed)\b", re.IGNORECASE)
# “For this project we definitely are”: person and auxiliary, and nothing that says what.
ELLIPSIS = re.compile(
    rf"^{LEAD}(?:(?:for|in|on|at|with|here|there|now|today|these days)\b[^,.;!?]{{0,40}}?,? )?"
    r"(?:i|we) (?:\w+ )??(?:\w+ )??(?:am|are|do|did|have|had|will|was|were|can|could|would)(?:n['’]t| not)?"
    r"(?: (?:indeed|too|now|still|as well|for sure|anyway|(?:for|in|on|at|with) [^,.;!?]{1,40}))?[.!…]*$",
    re.IGNORECASE,
)
TAG = re.compile(
    r"[,;–—-]* *\b(?:right|correct|yes|no|true|huh|is(?:n['’]t)? (?:it|that)(?: right)?"
    r"|(?:do|are|have|did)(?:n['’]t)? you)\?+$",
    re.IGNORECASE,
)
INVERTED = re.compile(
    rf"^{LEAD}(?P<aux>do|did|are|were|have|had|will) you (?P<rest>.+?)\?+$"
    rf"|^{LEAD}(?P<be>is|are|was|were) (?P<name>[^?,]+?) (?P<your>your .+?)\?+$",
    re.IGNORECASE,
)
# About something of the listener's, or something with a name: “Is your dog called Rex?”, “Does Atlas use Rust?”
INVERTED_THIRD = re.compile(
    rf"^{LEAD}(?P<aux>is|are|was|were|has|have|do|does) (?P<subject>your (?:(?:\w+ )?(?:{KINSHIP}|{PETS})s?|\w+)"
    rf"|(?-i:{NAME})) (?P<verb>\w+)(?P<rest>[^?]*?)\?+$",
    re.IGNORECASE,
)
# Before a statement that is asked for.
ASKED_THAT = re.compile(
    rf"^{LEAD}(?:am i (?:right|correct)(?: in (?:thinking|assuming))?|is it (?:true|right|correct|fair to say)"
    r"|did i (?:get|understand) (?:that|it|you) right|(?:can|may) i assume)(?: that)?,? (?=you\b|your\b)",
    re.IGNORECASE,
)
DECLARATIVE = re.compile(rf"^{LEAD}(?P<statement>(?:you|your)\b.+?)\?+$", re.IGNORECASE)
# An offer or a question of what is known: a yes to it states nothing about the person.
NO_PROPOSITION = re.compile(
    r"\b(?:want|need|like|mind|prefer) (?:me|us)\b|\b(?:shall|should|may|can|could|would) (?:i|we|you)\b"
    r"|\byou (?:want|know|think|remember|mean|see|agree|understand|wish)\b"
    r"|\bor\b|\bhow|\bwh(?:at|o|ich|en|ere|y|ose)\b",
    re.IGNORECASE,
)
PERSON_OR_VERB = re.compile(
    r"\b(?:you|your|i|we|is|are|was|were|do|does|did|has|have|had|will|can|should)\b", re.IGNORECASE
)
OPINION = "thinks|guesses|supposes|believes|wonders|hopes|doubts|hears|says"
STEM = 5  # characters that tell a word
MIN_SHARED = 0.5  # of the content words of a yes that names nothing


@dataclass(frozen=True)
class Affirmation:
    """A sentence that affirms something, and what it says itself."""

    kind: Literal["bare", "ellipsis", "repeated"]
    negated: bool
    remainder: str


@dataclass(frozen=True)
class TurnFacts:
    """A turn before the affirmation, and the facts it states."""

    turn: Turn
    speaker: str
    facts: Sequence[ExtractedMemory]


def parse_affirmation(sentence: str) -> Affirmation | None:
    """A sentence as an affirmation; None if it is none, such as a denial.

    >>> [parse_affirmation(text).kind for text in ("Yes, that's right.", "Well, here we do.", "Yes, tea is my usual.")]
    ['bare', 'ellipsis', 'repeated']
    >>> [parse_affirmation(text) for text in ("No, we don't.", "I use tea.", "We are happy.", "Certainly not.")]
    [None, None, None, None]
    """
    opener = OPENER.match(sentence)
    remainder = sentence[opener.end() :].strip() if opener else sentence.strip()
    if sentence.rstrip().endswith("?"):
        return None
    if opener and DENIED.match(remainder):
        return None
    if opener and not content_words(remainder) and not people_in(remainder):
        return None if DENIAL.search(remainder) else Affirmation("bare", False, "")
    if ELLIPSIS.match(remainder):
        negated = is_negated(normalize(remainder))
        # “Right, I don't” agrees; “Yes, I don't” may mean either.
        unclear = negated and opener and not AGREES.search(opener[0])
        return None if unclear else Affirmation("ellipsis", negated, remainder)
    return Affirmation("repeated", is_negated(normalize(remainder)), remainder) if opener else None


def proposition(question: str) -> str:
    """What a yes to a question would state about the listener; empty if nothing.

    >>> proposition("So you use PostgreSQL, right?"), proposition("Are you still in Oslo?"), proposition("Want me to?")
    ('you use PostgreSQL', 'you are still in Oslo', '')
    >>> proposition("Is Rex your dog?"), proposition("Which one do you use?"), proposition("Tea or coffee?")
    ('Rex is your dog', '', '')
    >>> proposition("Does your team use Rust?"), proposition("Am I right that you live in Oslo?")
    ('your team uses Rust', 'you live in Oslo')
    """
    untagged = ASKED_THAT.sub("", TAG.sub("?", question.strip()))
    if NO_PROPOSITION.search(untagged):
        return ""
    if match := INVERTED.match(untagged):
        if match["be"]:
            return f"{match['name']} {match['be'].casefold()} {match['your']}"
        aux = match["aux"].casefold()
        return f"you {match['rest']}" if aux == "do" else f"you {aux} {match['rest']}"
    if (match := INVERTED_THIRD.match(untagged)) and not re.search(r"\byou\b", match["rest"], re.IGNORECASE):
        verb, aux = match["verb"], match["aux"].casefold()
        inflected = {"do": verb, "does": third_person_verb(verb)}.get(aux, f"{aux} {verb}")
        return f"{match['subject']} {inflected}{match['rest']}"
    declarative = DECLARATIVE.match(untagged)
    return declarative["statement"].strip() if declarative else ""


def affirmed_fact(
    affirmation: Affirmation, sentence: str, speaker: str, before: Sequence[TurnFacts], asked: ExtractedMemory | None
) -> ExtractedMemory | None:
    """The fact about its speaker that a sentence affirms: what was just asked, else the latest one it can mean.

    `asked` is the proposition of the question that ends the turn before, if it is one.
    """
    own = [fact for turn in reversed(before) for fact in reversed(turn.facts) if is_about(fact, speaker)]
    if affirmation.kind == "repeated":
        return next((fact for fact in own if repeats(sentence, affirmation, fact)), None)
    if not before:
        return None
    last = before[-1]
    if last.speaker == speaker:
        fact = own[0] if own and affirmation.kind == "ellipsis" else None
    elif asked is not None:
        fact = next((fact for fact in own if adds_nothing(asked, fact)), asked)
    else:
        fact = fact_before(affirmation, last, own, speaker)
    if fact is None or (affirmation.kind == "ellipsis" and affirmation.negated != is_negated(normalize(fact.content))):
        return None
    return fact


def fact_before(
    affirmation: Affirmation, last: TurnFacts, own: Sequence[ExtractedMemory], speaker: str
) -> ExtractedMemory | None:
    """The fact meant by an answer to another speaker's turn that asks no yes-no question about the answerer."""
    closing = split_sentences(last.turn.text)[-1:]
    stated = [fact for fact in last.facts if is_about(fact, speaker)]
    if closing and closing[0].endswith("?"):
        # A fragment asks back: “PostgreSQL?”, “Here too?”. Anything else asks for something else.
        if PERSON_OR_VERB.search(closing[0]) or NO_PROPOSITION.search(closing[0].replace(" or ", " ")):
            return None
        return own[0] if own and named_words(closing[0]) <= word_stems(own[0].content) else None
    if affirmation.kind == "bare":
        return stated[-1] if stated else None
    return own[0] if own else None


def repeats(sentence: str, affirmation: Affirmation, fact: ExtractedMemory) -> bool:
    """Whether the rest of a yes says a fact again: of the same person and things, nothing new, nothing else."""
    remainder = affirmation.remainder
    if not people_in(remainder) & {SPEAKER, BOTH} or LISTENER in people_in(remainder):
        return False
    if parse_statement(remainder, dated=False).type == MemoryType.EVENT:
        return False
    if affirmation.negated != is_negated(normalize(fact.content)) or numbers(normalize(remainder)) - numbers(
        normalize(fact.content)
    ):
        return False
    known = word_stems(fact.content)
    if names := named_words(sentence):
        return names <= known
    said = {word_stem(word) for word in content_words(remainder)} - ADVERB_STEMS
    return bool(said) and len(said & known) >= MIN_SHARED * len(said)


def is_about(fact: ExtractedMemory, speaker: str) -> bool:
    """Whether a fact is about a speaker, and not merely stated or believed by them."""
    name = re.escape(speaker)
    return fact.subject == speaker and not re.match(rf"{name}(?:: | (?:{OPINION})\b)", fact.content)


def adds_nothing(asked: ExtractedMemory, fact: ExtractedMemory) -> bool:
    """Whether a question asks for a fact that was stated already."""
    if is_negated(normalize(asked.content)) != is_negated(normalize(fact.content)):
        return False
    return word_stems(asked.content) - ADVERB_STEMS <= word_stems(fact.content)


def restate(fact: ExtractedMemory, turn: Turn, speaker: str, sentence: str) -> ExtractedMemory:
    """A fact as another turn confirms it."""
    evidence = f"{fact.evidence}\n{speaker}: {sentence}"
    return replace(fact, turn_id=turn.id, level=SourceLevel.CONFIRMATION, happened_at=turn.said_at, evidence=evidence)


def closing_question(turn: Turn) -> str:
    """The question that ends a turn; empty if it ends otherwise."""
    closing = split_sentences(turn.text)[-1:]
    return f"{strip_pleasantries(closing[0]).rstrip('?')}?" if closing and closing[0].endswith("?") else ""


def named_words(sentence: str) -> set[str]:
    """The stems of the names in a sentence."""
    words = (word for mention in find_mentions(sentence) for word in re.findall(r"\w+", normalize(mention.surface)))
    return {word_stem(word) for word in words}


def word_stems(text: str) -> set[str]:
    """The stems of the words of a text, without those that say nothing."""
    return {word_stem(word) for word in content_words(text)} | named_words(text)


def word_stem(word: str) -> str:
    """A word without its s, cut short."""
    return word.removesuffix("s")[:STEM]


ADVERB_STEMS = frozenset(map(word_stem, ADVERBS))
