"""Identifiers found by form: tickets, handles, versions, dotted paths, quoted titles."""

import re
from collections.abc import Iterator

from memories.text.mention import TextMention
from memories.text.spelling import fold_spelling
from memories.text.stopwords import STOP_WORDS

ADDRESS = re.compile(r"\bhttps?://[^\s<>\"]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
# Parts after a dot start in lower case: "done.Next" is a sentence end.
DOTTED = re.compile(r"(?<![\w.@/])[^\W\d]\w+(?:\.[a-z_]\w+)+(?![\w@])")
IDENTIFIER_PATTERNS = (
    re.compile(r"(?<![\w@&])@[^\W_][\w-]*(?:\.[\w-]+)*"),
    re.compile(r"(?<![\w#&])#[^\W_][\w-]*"),
    re.compile(r"(?<![\w-])[A-Z][A-Z0-9]{0,15}-\d[\w-]*"),
    # Letters with digits, such as pg14, k8s, UUIDv7, v0.3.0.
    re.compile(r"(?<![\w.-])(?=\w*\d)[^\W\d_]\w*(?:\.\d\w*)*(?![\w-])"),
    re.compile(r"(?<!\w)[^\W_]\w*_\w+"),
    re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)(?![\w+#])"),
    DOTTED,
)
CAMEL = re.compile(r"(?<![\w@#])(?:[^\W\d_][^\W_]{0,40})?[a-z][A-Z][^\W_]{0,40}(?!\w)")
# Neither joins words nor ends a sentence.
BLANK = "\0"
QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n\0]{2,80})[\"”“»]|`([^`\s\0]{2,80})`")
# Every pattern above needs one of these; most texts have none and skip the search.
IDENTIFIER_HINTS = re.compile(r"[@#_+\d\"“„«`]|\w\.\w|[a-z][A-Z]")


def mask_addresses(text: str) -> str:
    """Mask e-mail and web addresses, keeping offsets: names inside them are not mentions."""
    if "@" not in text and "://" not in text:
        return text
    return ADDRESS.sub(lambda match: BLANK * len(match[0]), text)


def dotted_paths(text: str) -> Iterator[TextMention]:
    """File names and dotted paths in code."""
    return _pattern_mentions(DOTTED, text)


def find_identifiers(text: str) -> Iterator[TextMention]:
    """Mentions recognisable by form alone."""
    if not IDENTIFIER_HINTS.search(text):
        return
    for pattern in (*IDENTIFIER_PATTERNS, CAMEL):
        for mention in _pattern_mentions(pattern, text):
            if fold_spelling(mention.surface) not in STOP_WORDS:
                yield mention
    for match in QUOTED.finditer(text):
        group = 1 if match[1] else 2
        if group == 2 or is_title(match[1]):
            yield TextMention(match[group], *match.span(group))


def is_title(quoted: str) -> bool:
    """Whether a quotation is a title: all longer words capitalised, no sentence end.

    >>> is_title("The Island of Missing Trees"), is_title("Great question"), is_title("Well done!")
    (True, False, False)
    """
    words = quoted.split()
    if not words or quoted != quoted.strip() or quoted[-1] in ".,;!?…" or fold_spelling(quoted) in STOP_WORDS:
        return False
    return words[0][0].isupper() and all(not word[0].islower() or len(word) <= 3 for word in words)


def _pattern_mentions(pattern: re.Pattern[str], text: str) -> Iterator[TextMention]:
    """All matches of a pattern."""
    return (TextMention(match[0], *match.span()) for match in pattern.finditer(text))
