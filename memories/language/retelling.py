"""What somebody says of themselves and of the one they speak to, told by a third person."""

import re
from dataclasses import dataclass, field

from memories.language.verbs import ADVERBS, plural, third_person

SPEAKER, LISTENER, BOTH = "speaker", "listener", "both"
# Whom a word means, and as what.
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
AGAIN = {"subject": "they", "object": "them", "owner": "their", "self": "themselves"}
SHORTENED = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
SLOPPY = {"im": "i'm", "ive": "i've", "ill": "i'll", "youre": "you're", "youve": "you've"}
# With its hyphens: “me-time” means nobody.
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# After one of these, “you” is whom something is done to.
BEFORE_OBJECT = re.compile(
    r"\b(?:to|for|with|of|from|about|at|by|on|than|like|see|thank|thanks|love|hear|let|tell|told|gave|give|help|helped"
    r"|cheer|make|made|show|showed|wish|wishing|meet|join|send|ask|asked|inspire|support|between|around|near|behind)\s*$",
    re.IGNORECASE,
)
NO_VERB = re.compile(r"(?! \w)| (?:on|up|for|with|in|to|and|so|too|all|guys|some|the|a|more|about|at|from|of)\b")


def retold(sentence: str, speaker: str, listener: str) -> str:
    """Tell a sentence in the third person: each by name at first, then as “they”, so that no “he” or “she” is guessed.

    >>> retold("I love my dog, and I've had him since 2020.", "Maya", "Sam")
    'Maya loves their dog, and they have had him since 2020.'
    >>> retold("You told me that you're moving.", "Maya", "Sam")
    'Sam told Maya that they are moving.'
    """
    telling = Telling(sentence, {SPEAKER: speaker, LISTENER: listener, BOTH: speaker})
    told = WORD.sub(telling.word, sentence)
    return told[:1].upper() + told[1:]


def people_in(sentence: str) -> set[str]:
    """Whom a sentence speaks of: its speaker, the listener, or the speaker with others."""
    spoken = (match[0].casefold().replace("’", "'") for match in WORD.finditer(sentence))
    return {PRONOUNS[base][0] for word in spoken if (base := SLOPPY.get(word, word).partition("'")[0]) in PRONOUNS}


@dataclass
class Telling:
    """One sentence while it is told anew, word by word."""

    sentence: str
    names: dict[str, str]
    named: set[str] = field(default_factory=set)
    # Who does what comes next: one, several, or nobody that was told anew.
    doer: str = ""

    def word(self, match: re.Match[str]) -> str:
        """One word: whom it means, or what they do."""
        spoken = match[0].casefold().replace("’", "'")
        base, _, short = SLOPPY.get(spoken, spoken).partition("'")
        # “US” is a country, and “Ill” may be sick.
        if base in PRONOUNS and not (match[0] == "US" or (short and base not in ("i", "you", "we"))):
            return self._person(match, *PRONOUNS[base], short)
        if not self.doer or spoken in ADVERBS:
            return match[0]
        verb = third_person(match[0]) if self.doer == "one" else plural(match[0])
        self.doer = ""
        return verb

    def _person(self, match: re.Match[str], who: str, form: str, short: str) -> str:
        if who == LISTENER and form == "subject" and not short and self._is_object(match):
            form = "object"
        fresh = self.names[who] not in self.named
        self.named.add(self.names[who])
        told = self._name(who, form) if fresh else AGAIN[form]
        if form != "subject":
            return told
        self.doer = "one" if fresh and who != BOTH else "several"
        if not short:
            return told
        verb = SHORTENED.get(short, short)
        verb = third_person(verb) if self.doer == "one" else plural(verb)
        self.doer = ""
        return f"{told} {verb}"

    def _name(self, who: str, form: str) -> str:
        name = self.names[who]
        if form == "owner":
            return f"{name}'" if name.endswith("s") else f"{name}'s"
        return f"{name} and others" if who == BOTH else name

    def _is_object(self, match: re.Match[str]) -> bool:
        """Whether “you” is whom something is done to: by the word before it, or because no verb can follow."""
        after = self.sentence[match.end() : match.end() + 12]
        return bool(NO_VERB.match(after) or BEFORE_OBJECT.search(self.sentence[: match.start()][-20:]))
