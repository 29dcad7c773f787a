"""Whether a sentence states something about people that is worth storing."""

import re

from memories.text.entity_mentions import find_mentions
from memories.text.pleasantries import LEAD_IN, PLEASANTRY, RETURN_QUESTION, VOCATIVE, phrase_pattern
from memories.text.stopwords import FUNCTION_WORDS, parse_words
from memories.text.third_person import BOTH, LISTENER, SPEAKER, people_in
from memories.text.verbs import PAST

MAX_SENTENCE_LENGTH = 600  # characters; anything longer is not a sentence
MIN_CONTENT_WORDS = 5  # content words from which a pleasantry also states something
# Sentences that start with a demonstrative say little about the speaker.
DEMONSTRATIVE = re.compile(r"(?:that|it|this|these|those|they|there|here|check|look|see)\b", re.IGNORECASE)
MIN_DEMONSTRATIVE_WORDS = 3
# Facts about the listener: what they did, have or like, not opinions about them.
LISTENER_FACT = phrase_pattern(
    r"you(?:['’]ve| have| had| told| said| mentioned| went| were| used to| got| like| love| enjoy| prefer| work| live"
    r"| moved| bought| started| always)",
    r"your (?:\w+ ){0,2}(?:is|was|are|were|has|had)",
)
WISDOM = phrase_pattern(
    r"(?:we|us) all",
    r"we (?:should|must|gotta|need|can|have to|never|always)",
    r"reminds? us",
    r"is key",
    r"important to",
)
# Past forms that are also present.
PRESENT_AND_PAST = parse_words("read let put set hit cut quit found lay hurt cost shut spread felt meant")
# “It is …ing” with one of these is a judgement, not an action.
ADJECTIVES = (
    "(?!(?:amaz|stunn|inspir|calm|excit|interest|refresh|relax|reward|touch|encourag|motivat|challeng|overwhelm"
    "|fascinat|sooth|comfort|heartwarm|charm|appeal|disappoint|frustrat|annoy|tempt|energiz|noth|someth|everyth|anyth)ing)"
)
# A time, a past tense, a number, a relative: absent from common wisdom.
SPECIFIC = re.compile(
    rf"\b(?:{'|'.join(sorted(PAST - PRESENT_AND_PAST))})\b|\b\w{{3,}}ed\b(?= (?!on\b))|\d"
    rf"|(?:\b(?:has|have|is|are)|['’](?:s|re|ve)) (?:just |still |now )?(?:been|gone|become|{ADJECTIVES}\w+ing)\b"
    r"|^(?:just |been |still )*\w+ing\b(?! (?:\w+ly )?\w+s\b|.*\b(?:is|are|can|makes?|helps?|brings?|takes?)\b)"
    r"|\b(?:he|she|his|her|him|yesterday|today|tonight|tomorrow|last|next|ago|called|named|currently|recently|since|soon"
    r"|kids|son|daughter|husband|wife|mom|mum|dad|sister|brother|dog|cat|pup|puppy)\b",
    re.IGNORECASE,
)
FILLERS = parse_words(
    """
    amazing awesome awesomely great good nice cool wow lovely beautiful wonderful fantastic incredible fun funny cute
    super pretty thing things stuff lot lots bit kind sort way time times day feel feeling feels felt look looks looking
    sound sounds make makes made making get gets getting got go goes going know think thought guess say said see seeing
    sure right true yeah yes hey hi thanks thank happy glad love loved like special amazed impressive inspiring excited
    exciting interesting best better much well hope need want keep try trying take really definitely totally absolutely
    let pic picture photo photos course wait agree mean means can't don't isn't didn't i'm it's that's you're i've
    he's she's they're we're there's what's let's i'd i'll we'll awww aww help helps helped important matter matters
    life people everyone something anything nothing everything someone world always never ever
    """
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\d.,:]*")


def strip_pleasantries(sentence: str) -> str:
    """Strip greetings, vocatives and closing questions.

    >>> strip_pleasantries("Hey Mel! I'm back."), strip_pleasantries("Thanks, Nate! Yeah, I moved - how about you?")
    ("I'm back.", 'I moved')
    >>> strip_pleasantries("I'm so proud of my garden, Melanie!")
    "I'm so proud of my garden!"
    """
    return LEAD_IN.sub("", VOCATIVE.sub("", RETURN_QUESTION.sub("", sentence))).strip()


def content_words(sentence: str) -> list[str]:
    """The content words of a sentence."""
    words = (match[0].casefold().replace("’", "'") for match in WORD.finditer(sentence))
    return [word for word in words if len(word) > 1 and word not in FUNCTION_WORDS and word not in FILLERS]


def is_statement(sentence: str) -> bool:
    """Whether a sentence is a statement: no question, pleasantry, mere reaction or common wisdom.

    >>> [is_statement(text) for text in ("I moved to Berlin.", "That's so cool!", "How are you?", "Good to see you!")]
    [True, False, False, False]
    """
    if len(sentence) > MAX_SENTENCE_LENGTH or sentence.rstrip("\"'”’) ").endswith("?"):
        return False
    people, word_count = people_in(sentence), len(content_words(sentence))
    if PLEASANTRY.search(sentence) and word_count < MIN_CONTENT_WORDS:
        return False
    if SPEAKER in people:
        return word_count >= (MIN_DEMONSTRATIVE_WORDS if DEMONSTRATIVE.match(sentence) else 1)
    if LISTENER in people:
        return word_count >= 2 and bool(LISTENER_FACT.search(sentence))
    if BOTH in people:
        return not WISDOM.search(sentence) and (word_count >= 3 or (word_count >= 1 and is_specific(sentence)))
    return word_count >= 2 and not WISDOM.search(sentence) and is_specific(sentence)


def is_specific(sentence: str) -> bool:
    """Whether a sentence is about something specific rather than things in general."""
    return bool(SPECIFIC.search(sentence)) or any(find_mentions(sentence))
