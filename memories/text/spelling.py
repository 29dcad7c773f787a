"""Normalised spelling of names."""

import re
import unicodedata
from typing import NamedTuple

from scoring.dedup import OUTER_PUNCTUATION, normalize

# Letters with a stroke, which NFKD does not decompose.
STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"})
APOSTROPHES = str.maketrans("’‘ʼ´", "''''")
# `re` does not count combining marks as word characters, but a decomposed "é" is one letter.
WORD = r"[^\W_][\w\u0300-\u036f]*"
TOKEN = re.compile(r"[\w\u0300-\u036f]+|[^\w\s]")
ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")
POSSESSIVE = re.compile(r"(?<=\w)['’ʼ](?:s|S)?$")


class TextToken(NamedTuple):
    """A folded word or symbol; `glued` if it follows the previous one without a space."""

    key: str
    start: int
    end: int
    glued: bool


def fold_spelling(text: str) -> str:
    """Fold case, accents and apostrophes.

    >>> fold_spelling("Zieliński’s Ångström")
    "zielinski's angstrom"
    """
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", text.translate(APOSTROPHES)).casefold()
    return "".join(char for char in decomposed if not unicodedata.combining(char)).translate(STROKES)


def lookup_key(name: str) -> str:
    """The lookup key of a name: folded, without article and outer symbols.

    >>> lookup_key("The Platform-Team"), lookup_key("@maya"), lookup_key("“Tomas Novák”")
    ('platform team', 'maya', 'tomas novak')
    """
    stripped = ARTICLE.sub("", fold_spelling(normalize(name)).lstrip("@#"))
    return " ".join(re.sub(r"(?<=\w)-(?=\w)", " ", stripped).split())


def strip_possessive(surface: str) -> str:
    """Strip a possessive ending.

    >>> strip_possessive("Maya's"), strip_possessive("Jonas’"), strip_possessive("O'Brien")
    ('Maya', 'Jonas', "O'Brien")
    """
    return POSSESSIVE.sub("", surface)


def singular_form(word: str) -> str | None:
    """Undo a plural in s; short words end in s for other reasons.

    >>> singular_form("yubikeys"), singular_form("dispatches"), singular_form("redis"), singular_form("business")
    ('yubikey', 'dispatch', None, None)
    """
    if len(word) < 6 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return None
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes")) else word[:-1]


def tokenize_text(text: str) -> list[TextToken]:
    """Split a text into words and symbols; a hyphen between words counts as a space.

    >>> [token.key for token in tokenize_text("cargo-bike, C++")]
    ['cargo', 'bike', ',', 'c', '+', '+']
    """
    tokens: list[TextToken] = []
    end, hyphen = -1, False
    for match in TOKEN.finditer(text):
        surface, (start, stop) = match[0], match.span()
        glued, end = start == end, stop
        if glued and surface in "-‐‑":
            hyphen = True
            continue
        tokens.append(TextToken(fold_spelling(surface), start, stop, glued and not hyphen))
        hyphen = False
    return tokens


def name_tokens(name: str) -> tuple[tuple[str, bool], ...]:
    """The tokens of a name, as `tokenize_text` finds them in a text: key, and whether it is glued to the one before."""
    tokens = tokenize_text(name.strip(OUTER_PUNCTUATION))
    return tuple((token.key, token.glued and index > 0) for index, token in enumerate(tokens))
