"""The offline judge: words, numbers, dates, negation and word order decide; undecided pairs go to a person."""

import re
from collections.abc import Sequence

from memories.providers.judge import Pair
from memories.text.stopwords import parse_words
from scoring import contradiction
from scoring.contradiction import FactStatement, dates, is_negated, numbers, versions
from scoring.dedup import normalize
from scoring.evidence import Grounding

SUPPORTED_FROM, PARTIAL_FROM = 0.6, 0.25  # share of a memory's stems found in its evidence
DISTINCT_BELOW = 0.25  # share of stems that two memories have in common

_WORD = re.compile(r"\w+")
_CLAUSE = re.compile(r"[.!?;,:]\s|\bbut\b|\s[-–—]\s")
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b")
_NAME = re.compile(r"\b[^\W\d_a-z]\w+")
# Stop words.
_COMMON = parse_words(
    """
    a an the and or but of to in on at by for from with as is are was were be been has have had do does did will would
    can could it its this that these those he she they them his her their i me my we our you your not no so than then
    """
)
# Words that do not change what a sentence says; “is” and “was”, “to” and “from”, “he” and “she” do.
_FILLERS = parse_words("a an the that also just really very quite indeed actually")


class RulesJudge:
    """Judges by rules, on this machine."""

    name = "rules"
    remote = False

    def grounding(self, pairs: Sequence[Pair]) -> list[Grounding]:
        """How far the text of each pair supports its memory."""
        return [grounding(content, evidence) for content, evidence in pairs]

    def same(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories say the same."""
        return [same(first, second) for first, second in pairs]

    def contradicts(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Whether two memories cannot both hold."""
        return [judge_contradiction(first, second) for first, second in pairs]


def grounding(content: str, evidence: str) -> Grounding:
    """How far a text supports a memory; an empty text supports it."""
    if not evidence.strip():
        return "supported"
    memory, text = normalize(content), normalize(evidence)
    memory_stems, text_stems = stems(content), stems(evidence)
    if _FIRST_PERSON.search(text):
        # A first-person text does not contain the speaker's name.
        memory_stems -= {stem for name in _NAME.findall(content) for stem in stems(name)} - text_stems
    covered = share(memory_stems, text_stems)
    values = [(parse(memory), parse(text)) for parse in (numbers, dates, versions)]
    if covered < PARTIAL_FROM or any(claimed - stated and stated - claimed for claimed, stated in values):
        return "unsupported"
    clause = max(_CLAUSE.split(text), key=lambda part: len(memory_stems & stems(part)))
    if is_negated(memory) != is_negated(clause):
        # A negation elsewhere in a long text may be about something else.
        denied = share(memory_stems, stems(clause)) >= SUPPORTED_FROM or (is_negated(memory) and not is_negated(text))
        return "unsupported" if denied else "partial"
    values_match = all(claimed <= stated for claimed, stated in values)
    return "supported" if covered >= SUPPORTED_FROM and values_match else "partial"


def same(first: str, second: str) -> bool | None:
    """Whether two similar memories have the same words in the same order; None if that is undecided."""
    if comparable_words(first) == comparable_words(second):
        return True
    first_stems, second_stems = stems(first), stems(second)
    common, union = first_stems & second_stems, first_stems | second_stems
    return False if share(union, common) < DISTINCT_BELOW else None


def judge_contradiction(first: str, second: str) -> bool | None:
    """Whether two memories cannot both hold; None if they conflict but may be about two things."""
    one, other = FactStatement(first), FactStatement(second)
    if contradiction.contradicts(one, other):
        return True
    return None if contradiction.conflicts(one, other) else False


def comparable_words(text: str) -> list[str]:
    """The words of a text without fillers, in order and in the singular."""
    return [singular(word) for word in _WORD.findall(normalize(text)) if word not in _FILLERS]


def singular(word: str) -> str:
    """A word without its plural or third-person s."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def stems(text: str) -> set[str]:
    """The first five letters of each word that is not a stop word."""
    return {singular(word)[:5] for word in _WORD.findall(normalize(text)) if word not in _COMMON}


def share(wanted: set[str], found: set[str]) -> float:
    """The share of `wanted` that is in `found`; 1 if nothing is wanted."""
    return len(wanted & found) / len(wanted) if wanted else 1.0
