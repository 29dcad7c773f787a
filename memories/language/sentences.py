"""A text as its sentences."""

import re

# A sentence ends at its sign, the quotes and brackets that close with it, and white space; a line ends one too.
END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s)|\n+")
# Words whose point ends no sentence.
ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|approx|no|dept|inc|ltd|jan|feb|mar|apr|jun|jul|aug|sept?|oct"
    r"|nov|dec)|\b[a-hj-z])\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, each with the sign that ends it.

    >>> sentences("Met Dr. Berg at 9 a.m. today. It went well! Really?")
    ['Met Dr. Berg at 9 a.m. today.', 'It went well!', 'Really?']
    """
    found: list[str] = []
    start = 0
    for match in END.finditer(text):
        if _goes_on(text, start, match):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [one for one in found if one]


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether what looks like an end is none: an abbreviation, or a small letter follows a point."""
    if not end[0].strip():
        return False
    following = text[end.end() : end.end() + 20].lstrip(" \"'“‘(")
    if end[0] == "." and ABBREVIATED.search(text[max(start, end.end() - 12) : end.end()]):
        return not (text[end.end() - 3 : end.end() - 1].casefold() == ".m" and following[:1].isupper())
    return end[0] in (".", "…", "...") and following[:1].islower()
