"""The claims of an answer: every sentence that states something, and what makes an error in it costly."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from memories.text.capitalised_names import capitalised_mentions
from memories.text.entity_mentions import entity_matches, find_mentions
from memories.text.entity_registry import EntityRegistry
from memories.text.pleasantries import LEAD_IN, PLEASANTRY, RETURN_QUESTION, VOCATIVE
from memories.text.sentences import split_sentences
from memories.text.statements import MIN_CONTENT_WORDS, content_words, is_specific
from memories.text.verbs import PAST
from scoring.contradiction import dates, is_negated, numbers, versions
from scoring.dedup import normalize

MOST_CLAIMS = 50  # of one answer: each is put to a judge, who may be far away

# What orders or stresses text and says nothing: the marks of a list, a heading, or bold letters.
_MARKUP = re.compile(r"^[ \t]*(?:[-*•–]|#+|\d{1,3}[.)])[ \t]+|\*\*|__|`", re.MULTILINE)
# A verb of somebody or something, right after it.
_DOES = re.compile(r" (\w*[^s\W]s|\w+ed|will|can|had)\b| (\w+)")
# What makes a claim critical, beside a name. The paper says that some are, and not which: this list is ours.
_CRITICAL: Mapping[str, Callable[[str], bool]] = {
    "number": lambda text: bool(numbers(text) | versions(text)),
    "date": lambda text: bool(dates(text)),
    "negation": is_negated,
}


class TooManyClaimsError(Exception):
    """An answer that says more than can be judged at once."""

    def __init__(self, count: int) -> None:
        super().__init__(f"must make at most {MOST_CLAIMS} claims; got {count}")


@dataclass(frozen=True)
class Claim:
    """One thing that an answer states."""

    text: str
    names: Mapping[str, UUID | None]  # each as it is written, and the entity it means where one is known
    about: str  # a word with a capital alone at its beginning, which may be a name, before what it does
    critical: tuple[str, ...]  # what in it must not be wrong; nothing where an error costs little


def claims(answer: str, registry: EntityRegistry) -> list[Claim]:
    """What an answer states, in its order; what it says twice is one claim."""
    spoken = map(_plain, split_sentences(_MARKUP.sub("", answer)))
    said = list(dict.fromkeys(one for one in spoken if states(one)))
    if len(said) > MOST_CLAIMS:
        raise TooManyClaimsError(len(said))
    return [_claim(one, registry) for one in said]


def states(sentence: str) -> bool:
    """Whether a sentence states something: no question, no heading, no mere politeness; in doubt it does.

    >>> [states(text) for text in ("The backup runs at two.", "Here is what I know:", "Hope that helps!", "Is it so?")]
    [True, False, False, False]
    """
    unaddressed = VOCATIVE.sub("", sentence)
    said = len(content_words(unaddressed))
    if not said or sentence.rstrip("\"'”’) ").endswith("?"):
        return False
    polite = bool(PLEASANTRY.search(sentence)) and said < MIN_CONTENT_WORDS
    return is_specific(unaddressed) or not (polite or sentence.endswith(":"))


def _plain(sentence: str) -> str:
    """A sentence without what it begins and ends with for politeness; a name at its end stays, it may belong to it."""
    return LEAD_IN.sub("", RETURN_QUESTION.sub("", sentence)).strip()


def _claim(sentence: str, registry: EntityRegistry) -> Claim:
    names: dict[str, UUID | None] = {one.surface: None for one in find_mentions(sentence, registry)}
    names |= {one.surface: one.entity_id for one in entity_matches(sentence, registry)}
    text = normalize(sentence) or sentence
    critical = [kind for kind, holds in _CRITICAL.items() if holds(text)]
    return Claim(sentence, names, _about(sentence), tuple([*critical, "name"] if names else critical))


def _about(sentence: str) -> str:
    """What a claim begins with, where a verb follows: of “Jonas plays” no rule can tell whether it names somebody."""
    first = next(iter(capitalised_mentions(sentence)), None)
    if first is None or first.start or first.certain or not (after := _DOES.match(sentence, first.end)):
        return ""
    return first.surface if after[1] or after[2] in PAST else ""
