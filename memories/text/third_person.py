"""Rewriting first and second person statements in the third person."""

import re
from dataclasses import dataclass, field

from memories.text.verbs import ADVERBS, plural_verb, third_person_verb

SPEAKER, LISTENER, BOTH = "speaker", "listener", "both"
# The person and grammatical form of each pronoun.
PRONOUNS = {
    "i": (SPEAKER, "subject"),
    "me": (SPEAKER, "object"),
    "my": (SPEAKER, "owner"),
    "mine": (SPEAKER, "owner"),
    "myself": (SPEAKER, "self"),
    "you": (LISTENER, "subject"),
    "your": (LISTENER, "owner"),
    "yours": (LISTENER, "owner"),
    "yourself": (LISTENER, "self"),
    "we": (BOTH, "subject"),
    "us": (BOTH, "object"),
    "our": (BOTH, "owner"),
    "ours": (BOTH, "owner"),
    "ourselves": (BOTH, "self"),
}
LATER_PRONOUNS = {"subject": "they", "object": "them", "owner": "their", "self": "themselves"}
CONTRACTIONS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
MISSING_APOSTROPHE = {"im": "i'm", "ive": "i've", "ill": "i'll", "youre": "you're", "youve": "you've"}
# With hyphens: “me-time” is no pronoun.
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# After one of these, “you” is an object.
BEFORE_OBJECT = re.compile(
    r"\b(?:to|for|with|of|from|about|at|by|on|than|like|see|thank|thanks|love|hear|let|tell|told|gave|give|help|helped"
    r"|cheer|make|made|show|showed|wish|wishing|meet|join|send|ask|asked|inspire|support|between|around|near|behind)\s*$",
    re.IGNORECASE,
)
NO_VERB = re.compile(r"(?! \w)| (?:on|up|for|with|in|to|and|so|too|all|guys|some|the|a|more|about|at|from|of)\b")


def to_third_person(sentence: str, speaker: str, listener: str) -> str:
    """Rewrite a sentence in the third person: names first, then “they”, so that no gender is guessed.

    >>> to_third_person("I love my dog, and I've had him since 2020.", "Maya", "Sam")
    'Maya loves their dog, and they have had him since 2020.'
    >>> to_third_person("You told me that you're moving.", "Maya", "Sam")
    'Sam told Maya that they are moving.'
    """
    rewriter = ThirdPersonRewriter(sentence, {SPEAKER: speaker, LISTENER: listener, BOTH: speaker})
    rewritten = WORD.sub(rewriter.rewrite_word, sentence)
    return rewritten[:1].upper() + rewritten[1:]


def people_in(sentence: str) -> set[str]:
    """Whom a sentence is about: its speaker, the listener, or the speaker with others."""
    words = (match[0].casefold().replace("’", "'") for match in WORD.finditer(sentence))
    return {
        PRONOUNS[base][0]
        for word in words
        if (base := MISSING_APOSTROPHE.get(word, word).partition("'")[0]) in PRONOUNS
    }


@dataclass
class ThirdPersonRewriter:
    """State while one sentence is rewritten word by word."""

    sentence: str
    names: dict[str, str]
    mentioned: set[str] = field(default_factory=set)
    # Number of the rewritten subject of the next verb: one, several, or empty.
    subject_number: str = ""

    def rewrite_word(self, match: re.Match[str]) -> str:
        """Rewrite one word: a pronoun, or the verb after it."""
        lowered = match[0].casefold().replace("’", "'")
        base, _, short = MISSING_APOSTROPHE.get(lowered, lowered).partition("'")
        # “US” is a country; “Ill” may mean sick.
        if base in PRONOUNS and not (match[0] == "US" or (short and base not in ("i", "you", "we"))):
            return self._rewrite_pronoun(match, *PRONOUNS[base], short)
        if not self.subject_number or lowered in ADVERBS:
            return match[0]
        verb = third_person_verb(match[0]) if self.subject_number == "one" else plural_verb(match[0])
        self.subject_number = ""
        return verb

    def _rewrite_pronoun(self, match: re.Match[str], who: str, form: str, short: str) -> str:
        if who == LISTENER and form == "subject" and not short and self._is_object(match):
            form = "object"
        first = self.names[who] not in self.mentioned
        self.mentioned.add(self.names[who])
        phrase = self._name(who, form) if first else LATER_PRONOUNS[form]
        if form != "subject":
            return phrase
        self.subject_number = "one" if first and who != BOTH else "several"
        if not short:
            return phrase
        verb = CONTRACTIONS.get(short, short)
        verb = third_person_verb(verb) if self.subject_number == "one" else plural_verb(verb)
        self.subject_number = ""
        return f"{phrase} {verb}"

    def _name(self, who: str, form: str) -> str:
        name = self.names[who]
        if form == "owner":
            return f"{name}'" if name.endswith("s") else f"{name}'s"
        return f"{name} and others" if who == BOTH else name

    def _is_object(self, match: re.Match[str]) -> bool:
        """Whether “you” is an object: by the word before it, or because no verb can follow."""
        after = self.sentence[match.end() : match.end() + 12]
        return bool(NO_VERB.match(after) or BEFORE_OBJECT.search(self.sentence[: match.start()][-20:]))
