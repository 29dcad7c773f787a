"""Names by their form: tickets, handles, versions, paths in code, quoted titles."""

import re
from collections.abc import Iterator

from memories.language.mention import Mention
from memories.language.spelling import plain
from memories.language.stopwords import STOP

ADDRESS = re.compile(r"\bhttps?://[^\s<>\"]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
# Each part after a point begins small, so that "done.Next" is the end of a sentence.
DOTTED = re.compile(r"(?<![\w.@/])[^\W\d]\w+(?:\.[a-z_]\w+)+(?![\w@])")
FORMS = (
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
# What joins no words and ends no sentence.
BLANK = "\0"
QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n\0]{2,80})[\"”“»]|`([^`\s\0]{2,80})`")
# One of these is in every form above: most texts have none, and need not be searched for each.
SIGNS = re.compile(r"[@#_+\d\"“„«`]|\w\.\w|[a-z][A-Z]")


def without_addresses(text: str) -> str:
    """Blank out e-mail and web addresses, every letter in its place: a name inside one is not said."""
    if "@" not in text and "://" not in text:
        return text
    return ADDRESS.sub(lambda match: BLANK * len(match[0]), text)


def paths(text: str) -> Iterator[Mention]:
    """Find names of files and of things in code."""
    return _found(DOTTED, text)


def identifiers(text: str) -> Iterator[Mention]:
    """Find what its form alone tells to be a name."""
    if not SIGNS.search(text):
        return
    for form in (*FORMS, CAMEL):
        for one in _found(form, text):
            if plain(one.surface) not in STOP:
                yield one
    for match in QUOTED.finditer(text):
        group = 1 if match[1] else 2
        if group == 2 or is_title(match[1]):
            yield Mention(match[group], *match.span(group))


def is_title(quoted: str) -> bool:
    """Tell a title from a remark: every longer word has a capital, and no sentence ends in it.

    >>> is_title("The Island of Missing Trees"), is_title("Great question"), is_title("Well done!")
    (True, False, False)
    """
    words = quoted.split()
    if not words or quoted != quoted.strip() or quoted[-1] in ".,;!?…" or plain(quoted) in STOP:
        return False
    return words[0][0].isupper() and all(not word[0].islower() or len(word) <= 3 for word in words)


def _found(form: re.Pattern[str], text: str) -> Iterator[Mention]:
    """Give every place a pattern matches."""
    return (Mention(match[0], *match.span()) for match in form.finditer(text))
