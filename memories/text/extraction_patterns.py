"""Statement patterns: the type of a sentence, and its predicate and object where the wording gives them."""

import re
from dataclasses import dataclass

from memories.models.choices import MemoryType

KINSHIP = (
    "wife|husband|partner|girlfriend|boyfriend|fiancée?|mother|mom|mum|father|dad|sister|brother|son|daughter|kid|child"
    "|aunt|uncle|cousin|niece|nephew|grandma|grandmother|grandpa|grandfather|friend|roommate|neighbou?r|boss|colleague"
    "|coworker|teacher|mentor|coach"
)
PETS = "dog|puppy|pup|cat|kitten|parrot|bird|hamster|rabbit|turtle|horse|snake|fish|pet"
NAME = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3}"
# A place, company or thing, up to the next clause.
THING = (
    r"[^,.;!?]{2,60}?"
    r"(?=[,.;!?]|$| (?:and|but|because|since|so|when|which|that|for|with|last|next|this|in|on|at|as|now|too)\b)"
)
SUBJECT_PREFIX = (
    r"(?:I|we|you)(?:['’](?:m|re|ve|d))? (?:\w+ly |just |also |still |now |have |am |are |used to |currently |been )*"
)


@dataclass(frozen=True)
class ParsedStatement:
    """What a pattern extracts from a sentence."""

    type: MemoryType
    predicate: str = ""
    object: str = ""
    inferred: bool = False  # predicate and object follow from what is said


def _statement_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


FIRST_PERSON = r"\b(?:i|we)(?:'m| am|'re| are|'ve| have)? (?:\w+ly |also |just |do |big |always |so )*"

# The first match wins. Multi-valued predicates get no object, or a second value would contradict the first.
STATEMENT_PATTERNS: tuple[tuple[re.Pattern[str], MemoryType, str], ...] = (
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:moved|moving|relocated) (?:back )?to (?P<object>(?-i:{NAME}))"),
        MemoryType.EVENT,
        "lives_in",
    ),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:live|living|based|settled) (?:down )?in (?P<object>(?-i:{NAME}))"),
        MemoryType.FACT,
        "lives_in",
    ),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:come |came |originally )*from (?P<object>(?-i:{NAME}))"),
        MemoryType.FACT,
        "comes_from",
    ),
    (_statement_pattern(rf"{SUBJECT_PREFIX}was born (?:in|on) (?P<object>{THING})"), MemoryType.FACT, "born"),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:started )?work(?:ing|ed)? (?:at|for) (?P<object>(?-i:{NAME}))"),
        MemoryType.FACT,
        "works_at",
    ),
    (_statement_pattern(rf"{SUBJECT_PREFIX}work(?:ing)? as an? (?P<object>{THING})"), MemoryType.FACT, "occupation"),
    (_statement_pattern(rf"{SUBJECT_PREFIX}allergic to (?P<object>{THING})"), MemoryType.FACT, "allergic_to"),
    (
        _statement_pattern(rf"\b(?:{PETS})s?,? (?:is |are )?(?:named|called|whose name is) (?P<object>(?-i:{NAME}))"),
        MemoryType.ENTITY,
        "has_pet",
    ),
    (
        _statement_pattern(rf"\b(?:my|our) (?:\w+ )?(?P<kin>{KINSHIP}),? (?P<object>(?!I\b)(?-i:{NAME}))"),
        MemoryType.RELATION,
        "has_{kin}",
    ),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:married|engaged) to (?P<object>(?-i:{NAME}))"),
        MemoryType.RELATION,
        "married_to",
    ),
    (
        _statement_pattern(rf"\bmy (?:all-time |absolute )?favou?rite (?P<kin>\w+) (?:is|are) (?P<object>{THING})"),
        MemoryType.PREFERENCE,
        "favourite_{kin}",
    ),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}(?:stud(?:y|ied|ying)|majoring in|majored in)\b"),
        MemoryType.FACT,
        "studies",
    ),
    (_statement_pattern(rf"\b(?:my|our) (?:\w+ )?(?:{KINSHIP})s? and I\b"), MemoryType.RELATION, ""),
    (
        _statement_pattern(rf"{SUBJECT_PREFIX}work(?:ing)? with (?-i:{NAME})|\b(?:is|was) my (?:\w+ )?(?:{KINSHIP})\b"),
        MemoryType.RELATION,
        "",
    ),
    (
        _statement_pattern(
            r"\b(?:i|we) (?:\w+ly |also |just )*(?:hate|dislike|can't stand|don't (?:really )?(?:like|enjoy|love))\b"
        ),
        MemoryType.PREFERENCE,
        "dislikes",
    ),
    (
        _statement_pattern(rf"{FIRST_PERSON}(?:love|enjoy|adore|like|prefer|into)\b(?! to (?:hear|see|know)| that\b)"),
        MemoryType.PREFERENCE,
        "likes",
    ),
    (
        _statement_pattern(
            r"\bfavou?rites?\b|\bfan of\b|\bi(?:'m| am) (?:\w+ )?(?:obsessed|passionate|hooked|crazy)\b"
        ),
        MemoryType.PREFERENCE,
        "likes",
    ),
    (
        _statement_pattern(r"\b(?:i|we)(?:'d| would) (?:\w+ly )?(?:love|like|prefer) to\b|\bmy dream\b"),
        MemoryType.FACT,
        "plans",
    ),
    (
        _statement_pattern(
            rf"{FIRST_PERSON}(?:plan(?:ning)?|hop(?:e|ing)|want(?:ing)?|aim(?:ing)?|going) to\b"
            rf"|{FIRST_PERSON}(?:gonna|thinking of)\b"
        ),
        MemoryType.FACT,
        "plans",
    ),
)
# What is said of a person's way, desk or landlord tells where they work or live.
INFERENCE_PATTERNS: tuple[tuple[re.Pattern[str], MemoryType, str], ...] = (
    (
        _statement_pattern(
            rf"\bmy (?:commute|way|office|desk|shift|manager|team) (?:to|at|in|with) (?P<object>(?-i:{NAME}))"
        ),
        MemoryType.FACT,
        "works_at",
    ),
    (
        _statement_pattern(rf"\b(?:my|our) (?:flat|apartment|house|landlord|street) in (?P<object>(?-i:{NAME}))"),
        MemoryType.FACT,
        "lives_in",
    ),
)
EVENT_VERBS = _statement_pattern(
    r"\b(?:went|visited|attended|joined|met|saw|bought|adopted|started|finished|won|lost|moved|celebrated|graduated|took"
    r"|traveled|travelled|tried|ran|made|got|watched|hosted|held|organi[sz]ed|participated|volunteered|signed|launched"
    r"|opened|completed|received|gave|built|painted|wrote|published|performed|played|passed|broke|fell|quit|hiked|camped"
    r"|booked|learned|learnt|found|discovered|came|had)\b"
)
DEFINITION = _statement_pattern(rf"^(?:(?-i:{NAME})|this|that|he|she) (?:is|was|'s) (?:an?|the) \w+")


def parse_statement(sentence: str, *, dated: bool) -> ParsedStatement:
    """Classify a sentence by the first matching pattern; `dated` says whether it contains a date."""
    if parsed := match_statement(sentence, dated=dated):
        return parsed
    if dated or EVENT_VERBS.search(sentence):
        return ParsedStatement(MemoryType.EVENT)
    return ParsedStatement(MemoryType.ENTITY if DEFINITION.match(sentence) else MemoryType.FACT)


def match_statement(sentence: str, *, dated: bool) -> ParsedStatement | None:
    """A sentence by the first matching pattern, if any."""
    for pattern, type, predicate in STATEMENT_PATTERNS:
        if match := pattern.search(sentence):
            groups = match.groupdict()
            filled_predicate = predicate.format(kin=(groups.get("kin") or "").casefold())
            return ParsedStatement(_type_with_date(type, dated), filled_predicate, (groups.get("object") or "").strip())
    for pattern, type, predicate in INFERENCE_PATTERNS:
        if match := pattern.search(sentence):
            return ParsedStatement(_type_with_date(type, dated), predicate, match["object"].strip(), inferred=True)
    return None


def _type_with_date(type: MemoryType, dated: bool) -> MemoryType:
    """A dated fact is an event; other types stay."""
    return MemoryType.EVENT if dated and type == MemoryType.FACT else type
