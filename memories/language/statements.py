"""Whether a sentence says something of people that is worth keeping."""

import re

from memories.language.entities import mentions
from memories.language.pleasantries import LEAD_IN, PLEASANTRY, RETURNED, VOCATIVE, any_of
from memories.language.retelling import BOTH, LISTENER, SPEAKER, people_in
from memories.language.stopwords import FUNCTION_WORDS, words
from memories.language.verbs import PAST

LONGEST = 600  # characters: what is longer without an end is no sentence
MANNERLY = 5  # words that carry something, from which on a pleasantry says more than that
# What begins by pointing at something tells little of who points.
POINTING = re.compile(r"(?:that|it|this|these|those|they|there|here|check|look|see)\b", re.IGNORECASE)
POINTING_SAYS = 3
# What may be told of the listener: what they did, have or like, not what one thinks of them.
OF_LISTENER = any_of(
    r"you(?:['’]ve| have| had| told| said| mentioned| went| were| used to| got| like| love| enjoy| prefer| work| live"
    r"| moved| bought| started| always)",
    r"your (?:\w+ ){0,2}(?:is|was|are|were|has|had)",
)
WISDOM = any_of(
    r"(?:we|us) all",
    r"we (?:should|must|gotta|need|can|have to|never|always)",
    r"reminds? us",
    r"is key",
    r"important to",
)
# Forms that are a present tense as well.
EITHER = words("read let put set hit cut quit found lay hurt cost shut spread felt meant")
# Of these, “it is …” is a verdict and no doing.
ADJECTIVES = (
    "(?!(?:amaz|stunn|inspir|calm|excit|interest|refresh|relax|reward|touch|encourag|motivat|challeng|overwhelm"
    "|fascinat|sooth|comfort|heartwarm|charm|appeal|disappoint|frustrat|annoy|tempt|energiz|noth|someth|everyth|anyth)ing)"
)
# A time, a past, a number, somebody of the family: what common wisdom does without.
PARTICULAR = re.compile(
    rf"\b(?:{'|'.join(sorted(PAST - EITHER))})\b|\b\w{{3,}}ed\b(?= (?!on\b))|\d"
    rf"|(?:\b(?:has|have|is|are)|['’](?:s|re|ve)) (?:just |still |now )?(?:been|gone|become|{ADJECTIVES}\w+ing)\b"
    r"|^(?:just |been |still )*\w+ing\b(?! (?:\w+ly )?\w+s\b|.*\b(?:is|are|can|makes?|helps?|brings?|takes?)\b)"
    r"|\b(?:he|she|his|her|him|yesterday|today|tonight|tomorrow|last|next|ago|called|named|currently|recently|since|soon"
    r"|kids|son|daughter|husband|wife|mom|mum|dad|sister|brother|dog|cat|pup|puppy)\b",
    re.IGNORECASE,
)
FILLERS = words(
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


def bare(sentence: str) -> str:
    """A sentence without what it begins and ends with for politeness alone.

    >>> bare("Hey Mel! I'm back."), bare("Thanks, Nate! Yeah, I moved - how about you?")
    ("I'm back.", 'I moved')
    >>> bare("I'm so proud of my garden, Melanie!")
    "I'm so proud of my garden!"
    """
    return LEAD_IN.sub("", VOCATIVE.sub("", RETURNED.sub("", sentence))).strip()


def weighty(sentence: str) -> list[str]:
    """The words that carry what a sentence says."""
    spoken = (match[0].casefold().replace("’", "'") for match in WORD.finditer(sentence))
    return [word for word in spoken if len(word) > 1 and word not in FUNCTION_WORDS and word not in FILLERS]


def worth_keeping(sentence: str) -> bool:
    """Whether a sentence states something: no question, no pleasantry, no mere reaction, no common wisdom.

    >>> [worth_keeping(text) for text in ("I moved to Berlin.", "That's so cool!", "How are you?", "Good to see you!")]
    [True, False, False, False]
    """
    if len(sentence) > LONGEST or sentence.rstrip("\"'”’) ").endswith("?"):
        return False
    people, said = people_in(sentence), len(weighty(sentence))
    if PLEASANTRY.search(sentence) and said < MANNERLY:
        return False
    if SPEAKER in people:
        return said >= (POINTING_SAYS if POINTING.match(sentence) else 1)
    if LISTENER in people:
        return said >= 2 and bool(OF_LISTENER.search(sentence))
    if BOTH in people:
        return not WISDOM.search(sentence) and (said >= 3 or (said >= 1 and is_particular(sentence)))
    return said >= 2 and not WISDOM.search(sentence) and is_particular(sentence)


def is_particular(sentence: str) -> bool:
    """Whether a sentence tells of something that was or is somewhere, rather than of how things are in general."""
    return bool(PARTICULAR.search(sentence)) or any(mentions(sentence))
