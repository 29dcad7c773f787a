"""The claims of an answer: every sentence that states something, and what makes an error in it critical."""

import re
from collections.abc import Callable, Mapping, Sequence
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

MAX_CLAIMS = 50  # per answer: each is sent to a judge, which may be remote

# List markers, headings, bold and code.
_MARKUP = re.compile(r"^[ \t]*(?:[-*•–]|#+|\d{1,3}[.)])[ \t]+|\*\*|__|`", re.MULTILINE)
# A verb in the third person, or the word that follows.
_VERB = re.compile(r" (\w*[^s\W]s|\w+ed|will|can|had)\b| (\w+)")
# What makes a claim critical besides a name. The paper does not list it; this list is ours.
_CRITICAL: Mapping[str, Callable[[str], bool]] = {
    "number": lambda text: bool(numbers(text) | versions(text)),
    "date": lambda text: bool(dates(text)),
    "negation": is_negated,
}


class TooManyClaimsError(Exception):
    """An answer with too many claims to judge at once."""

    def __init__(self, count: int) -> None:
        super().__init__(f"must make at most {MAX_CLAIMS} claims; got {count}")


@dataclass(frozen=True)
class Claim:
    """One statement of an answer."""

    text: str
    names: Mapping[str, UUID | None]  # each surface form, and the entity if it is known
    possible_name: str  # a capitalised first word before a verb, which may be a name
    critical: tuple[str, ...]  # why an error in it is critical; empty if it is not


def claim_sentences(answer: str) -> list[str]:
    """The distinct sentences of an answer that make a claim, in order."""
    sentences = map(_without_courtesies, split_sentences(_MARKUP.sub("", answer)))
    statements = list(dict.fromkeys(sentence for sentence in sentences if makes_claim(sentence)))
    if len(statements) > MAX_CLAIMS:
        raise TooManyClaimsError(len(statements))
    return statements


def extract_claims(sentences: Sequence[str], registry: EntityRegistry) -> list[Claim]:
    """The claims of sentences, with the names in them."""
    return [_claim(sentence, registry) for sentence in sentences]


def makes_claim(sentence: str) -> bool:
    """Whether a sentence states something: no question, heading or mere courtesy; in doubt it does.

    >>> texts = ("The backup runs at two.", "Here is what I know:", "Hope that helps!", "Is it so?")
    >>> [makes_claim(text) for text in texts]
    [True, False, False, False]
    """
    unaddressed = VOCATIVE.sub("", sentence)
    words = len(content_words(unaddressed))
    if not words or sentence.rstrip("\"'”’) ").endswith("?"):
        return False
    polite = bool(PLEASANTRY.search(sentence)) and words < MIN_CONTENT_WORDS
    return is_specific(unaddressed) or not (polite or sentence.endswith(":"))


def _without_courtesies(sentence: str) -> str:
    """A sentence without a polite lead-in or closing question; a name at its end may belong to it and stays."""
    return LEAD_IN.sub("", RETURN_QUESTION.sub("", sentence)).strip()


def _claim(sentence: str, registry: EntityRegistry) -> Claim:
    names: dict[str, UUID | None] = {mention.surface: None for mention in find_mentions(sentence, registry)}
    names |= {match.surface: match.entity_id for match in entity_matches(sentence, registry)}
    text = normalize(sentence) or sentence
    critical = [kind for kind, applies in _CRITICAL.items() if applies(text)]
    return Claim(sentence, names, _possible_name(sentence), tuple([*critical, "name"] if names else critical))


def _possible_name(sentence: str) -> str:
    """The first word if a verb follows: no rule can tell whether “Jonas plays” begins with a name."""
    first = next(iter(capitalised_mentions(sentence)), None)
    if first is None or first.start or first.certain or not (verb := _VERB.match(sentence, first.end)):
        return ""
    return first.surface if verb[1] or verb[2] in PAST else ""
