"""What a statement is: its type, and its predicate and object where the words give them."""

import re
from dataclasses import dataclass

from memories.models.choices import MemoryType

KIN = (
    "wife|husband|partner|girlfriend|boyfriend|fiancée?|mother|mom|mum|father|dad|sister|brother|son|daughter|kid|child"
    "|aunt|uncle|cousin|niece|nephew|grandma|grandmother|grandpa|grandfather|friend|roommate|neighbou?r|boss|colleague"
    "|coworker|teacher|mentor|coach"
)
PET = "dog|puppy|pup|cat|kitten|parrot|bird|hamster|rabbit|turtle|horse|snake|fish|pet"
NAME = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3}"
# A place, a firm, a thing: up to where another thought begins.
THING = (
    r"[^,.;!?]{2,60}?"
    r"(?=[,.;!?]|$| (?:and|but|because|since|so|when|which|that|for|with|last|next|this|in|on|at|as|now|too)\b)"
)
LED = r"(?:I|we|you)(?:['’](?:m|re|ve|d))? (?:\w+ly |just |also |still |now |have |am |are |used to |currently |been )*"


@dataclass(frozen=True)
class Reading:
    """What a pattern makes of a sentence."""

    type: MemoryType
    predicate: str = ""
    object: str = ""


def _says(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


WE = r"\b(?:i|we)(?:'m| am|'re| are|'ve| have)? (?:\w+ly |also |just |do |big |always |so )*"

# The first that fits wins. A predicate that holds many values at once comes without its object, or a second value
# would count as a contradiction of the first.
READINGS: tuple[tuple[re.Pattern[str], MemoryType, str], ...] = (
    (_says(rf"{LED}(?:moved|moving|relocated) (?:back )?to (?P<object>(?-i:{NAME}))"), MemoryType.EVENT, "lives_in"),
    (_says(rf"{LED}(?:live|living|based|settled) (?:down )?in (?P<object>(?-i:{NAME}))"), MemoryType.FACT, "lives_in"),
    (_says(rf"{LED}(?:come |came |originally )*from (?P<object>(?-i:{NAME}))"), MemoryType.FACT, "comes_from"),
    (_says(rf"{LED}was born (?:in|on) (?P<object>{THING})"), MemoryType.FACT, "born"),
    (_says(rf"{LED}(?:started )?work(?:ing|ed)? (?:at|for) (?P<object>(?-i:{NAME}))"), MemoryType.FACT, "works_at"),
    (_says(rf"{LED}work(?:ing)? as an? (?P<object>{THING})"), MemoryType.FACT, "occupation"),
    (_says(rf"{LED}allergic to (?P<object>{THING})"), MemoryType.FACT, "allergic_to"),
    (
        _says(rf"\b(?:{PET})s?,? (?:is |are )?(?:named|called|whose name is) (?P<object>(?-i:{NAME}))"),
        MemoryType.ENTITY,
        "has_pet",
    ),
    (
        _says(rf"\b(?:my|our) (?:\w+ )?(?P<kin>{KIN}),? (?P<object>(?!I\b)(?-i:{NAME}))"),
        MemoryType.RELATION,
        "has_{kin}",
    ),
    (_says(rf"{LED}(?:married|engaged) to (?P<object>(?-i:{NAME}))"), MemoryType.RELATION, "married_to"),
    (
        _says(rf"\bmy (?:all-time |absolute )?favou?rite (?P<kin>\w+) (?:is|are) (?P<object>{THING})"),
        MemoryType.PREFERENCE,
        "favourite_{kin}",
    ),
    (_says(rf"{LED}(?:stud(?:y|ied|ying)|majoring in|majored in)\b"), MemoryType.FACT, "studies"),
    (_says(rf"\b(?:my|our) (?:\w+ )?(?:{KIN})s? and I\b"), MemoryType.RELATION, ""),
    (_says(rf"{LED}work(?:ing)? with (?-i:{NAME})|\b(?:is|was) my (?:\w+ )?(?:{KIN})\b"), MemoryType.RELATION, ""),
    (
        _says(
            r"\b(?:i|we) (?:\w+ly |also |just )*(?:hate|dislike|can't stand|don't (?:really )?(?:like|enjoy|love))\b"
        ),
        MemoryType.PREFERENCE,
        "dislikes",
    ),
    (
        _says(rf"{WE}(?:love|enjoy|adore|like|prefer|into)\b(?! to (?:hear|see|know)| that\b)"),
        MemoryType.PREFERENCE,
        "likes",
    ),
    (
        _says(r"\bfavou?rites?\b|\bfan of\b|\bi(?:'m| am) (?:\w+ )?(?:obsessed|passionate|hooked|crazy)\b"),
        MemoryType.PREFERENCE,
        "likes",
    ),
    (_says(r"\b(?:i|we)(?:'d| would) (?:\w+ly )?(?:love|like|prefer) to\b|\bmy dream\b"), MemoryType.FACT, "plans"),
    (
        _says(rf"{WE}(?:plan(?:ning)?|hop(?:e|ing)|want(?:ing)?|aim(?:ing)?|going) to\b|{WE}(?:gonna|thinking of)\b"),
        MemoryType.FACT,
        "plans",
    ),
)
HAPPENED = _says(
    r"\b(?:went|visited|attended|joined|met|saw|bought|adopted|started|finished|won|lost|moved|celebrated|graduated|took"
    r"|traveled|travelled|tried|ran|made|got|watched|hosted|held|organi[sz]ed|participated|volunteered|signed|launched"
    r"|opened|completed|received|gave|built|painted|wrote|published|performed|played|passed|broke|fell|quit|hiked|camped"
    r"|booked|learned|learnt|found|discovered|came|had)\b"
)
DEFINES = _says(rf"^(?:(?-i:{NAME})|this|that|he|she) (?:is|was|'s) (?:an?|the) \w+")


def reading(sentence: str, *, dated: bool) -> Reading:
    """Tell what a sentence is, by the first pattern that fits; `dated` says whether it names a time."""
    for pattern, type, predicate in READINGS:
        if match := pattern.search(sentence):
            found = match.groupdict()
            named = predicate.format(kin=(found.get("kin") or "").casefold())
            return Reading(_dated(type, dated), named, (found.get("object") or "").strip())
    if dated or HAPPENED.search(sentence):
        return Reading(MemoryType.EVENT)
    return Reading(MemoryType.ENTITY if DEFINES.match(sentence) else MemoryType.FACT)


def _dated(type: MemoryType, dated: bool) -> MemoryType:
    """A plan with a date is an event; a preference stays one."""
    return MemoryType.EVENT if dated and type == MemoryType.FACT else type
