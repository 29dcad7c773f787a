"""The offline judge: words, numbers, dates, negation and order decide, and what they leave open a person sees."""

import re
from collections.abc import Sequence

from memories.providers.judge import Pair
from memories.text.stopwords import parse_words as listed
from scoring.contradiction import FactStatement, conflicts, dates, is_negated, numbers, versions
from scoring.dedup import normalize
from scoring.evidence import Grounding

SUPPORTED_FROM, PARTIAL_FROM = 0.6, 0.25  # share of a memory's words that its evidence must contain
DISTINCT_BELOW = 0.25  # share of words that two memories have in common
OPPOSED_FROM = 0.5  # share of words from which two memories speak of the same thing

_WORD = re.compile(r"\w+")
_CLAUSE = re.compile(r"[.!?;,:]\s|\bbut\b|\s[-–—]\s")
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b")
_NAME = re.compile(r"\b[^\W\d_a-z]\w+")
# Words that say nothing of what a sentence is about.
_COMMON = listed(
    """
    a an the and or but of to in on at by for from with as is are was were be been has have had do does did will would
    can could it its this that these those he she they them his her their i me my we our you your not no so than then
    """
)
# Words without which a sentence says the same. Not “is” and “was”, “to” and “from”, “he” and “she”.
_HOLLOW = listed("a an the that also just really very quite indeed actually")


class RulesJudge:
    """Judges by rule, at once and on this machine."""

    name = "rules"
    remote = False

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far each memory is borne out by its text."""
        return [grounding(content, evidence) for content, evidence in pairs]

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same."""
        return [same(one, other) for one, other in pairs]

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold."""
        return [contradicts(one, other) for one, other in pairs]


def grounding(content: str, evidence: str) -> Grounding:
    """How far a text bears a memory out; without a text there is nothing to doubt."""
    if not evidence.strip():
        return "supported"
    memory, text = normalize(content), normalize(evidence)
    said, heard = stems(content), stems(evidence)
    if _FIRST_PERSON.search(text):
        # Who speaks of themselves does not say their name.
        said -= {stem for name in _NAME.findall(content) for stem in stems(name)} - heard
    covered = share(said, heard)
    values = [(read(memory), read(text)) for read in (numbers, dates, versions)]
    if covered < PARTIAL_FROM or any(here - there and there - here for here, there in values):
        return "unsupported"
    clause = max(_CLAUSE.split(text), key=lambda part: len(said & stems(part)))
    if is_negated(memory) != is_negated(clause):
        # A denial elsewhere in a long text may be about something else.
        denied = share(said, stems(clause)) >= SUPPORTED_FROM or (is_negated(memory) and not is_negated(text))
        return "unsupported" if denied else "partial"
    named = all(here <= there for here, there in values)
    return "supported" if covered >= SUPPORTED_FROM and named else "partial"


def same(one: str, other: str) -> bool | None:
    """Whether two close memories say the same: in the same words, in the same order."""
    a, b = words(one), words(other)
    if a == b:
        return True
    common = stems(one), stems(other)
    return False if share(common[0] | common[1], common[0] & common[1]) < DISTINCT_BELOW else None


def contradicts(one: str, other: str) -> bool | None:
    """Whether two memories cannot both hold: they speak of the same thing, and a number, a date or a “not” differs."""
    if not conflicts(FactStatement(one), FactStatement(other)):
        return False
    common = stems(one), stems(other)
    return True if share(*sorted(common, key=len)) >= OPPOSED_FROM else None


def words(text: str) -> list[str]:
    """The words that carry the meaning, in their order and in the singular."""
    return [singular(word) for word in _WORD.findall(normalize(text)) if word not in _HOLLOW]


def singular(word: str) -> str:
    """A word without its plural or third person: “projects” and “project” are one."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def stems(text: str) -> set[str]:
    """The beginnings of the words that tell what a text is about."""
    return {singular(word)[:5] for word in _WORD.findall(normalize(text)) if word not in _COMMON}


def share(wanted: set[str], found: set[str]) -> float:
    """How much of what is wanted is found; all of it where nothing is."""
    return len(wanted & found) / len(wanted) if wanted else 1.0
