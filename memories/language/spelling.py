"""One spelling for a name, however it was written."""

import re
import unicodedata
from typing import NamedTuple

from scoring.dedup import OUTER, normalize

# Letters that carry their stroke inside, so that no decomposition takes it off.
STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})
APOSTROPHES = str.maketrans("’‘ʼ´", "''''")
# Combining marks are no word characters to `re`, but a decomposed "é" is one letter.
WORD = r"[^\W_][\w\u0300-\u036f]*"
TOKEN = re.compile(r"[\w\u0300-\u036f]+|[^\w\s]")
ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")
POSSESSIVE = re.compile(r"(?<=\w)['’ʼ](?:s|S)?$")


class Token(NamedTuple):
    """A word or a sign, in one spelling; `glued` to what stands before it or not."""

    key: str
    start: int
    end: int
    glued: bool


def plain(text: str) -> str:
    """Write a text without case, accents and kinds of apostrophe.

    >>> plain("Zieliński’s Ångström")
    "zielinski's angstrom"
    """
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", text.translate(APOSTROPHES)).casefold()
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)).translate(STROKES)


def key(name: str) -> str:
    """Write a name as it is looked up: plain, with neither article nor outer signs.

    >>> key("The Platform-Team"), key("@maya"), key("“Tomas Novák”")
    ('platform team', 'maya', 'tomas novak')
    """
    bare = ARTICLE.sub("", plain(normalize(name)).lstrip("@#"))
    return " ".join(re.sub(r"(?<=\w)-(?=\w)", " ", bare).split())


def without_possessive(surface: str) -> str:
    """Take off the ending of an owner.

    >>> without_possessive("Maya's"), without_possessive("Jonas’"), without_possessive("O'Brien")
    ('Maya', 'Jonas', "O'Brien")
    """
    return POSSESSIVE.sub("", surface)


def singular(spelt: str) -> str | None:
    """Undo a plural in s; short words end in s for other reasons.

    >>> singular("yubikeys"), singular("dispatches"), singular("redis"), singular("business")
    ('yubikey', 'dispatch', None, None)
    """
    if len(spelt) < 6 or not spelt.endswith("s") or spelt.endswith(("ss", "us", "is")):
        return None
    return spelt[:-2] if spelt.endswith(("ches", "shes", "sses", "xes", "zes")) else spelt[:-1]


def tokens(text: str) -> list[Token]:
    """Cut a text into words and signs; a hyphen between words counts as a space.

    >>> [token.key for token in tokens("cargo-bike, C++")]
    ['cargo', 'bike', ',', 'c', '+', '+']
    """
    found: list[Token] = []
    end, hyphen = -1, False
    for match in TOKEN.finditer(text):
        sign, (start, stop) = match[0], match.span()
        glued, end = start == end, stop
        if glued and sign in "-‐‑":
            hyphen = True
            continue
        found.append(Token(plain(sign), start, stop, glued and not hyphen))
        hyphen = False
    return found


def name_tokens(name: str) -> tuple[tuple[str, bool], ...]:
    """Cut a name as `tokens` cuts the text it is sought in."""
    cut = tokens(name.strip(OUTER))
    return tuple((token.key, token.glued and place > 0) for place, token in enumerate(cut))
