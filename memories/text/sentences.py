"""Sentence splitting."""

import re

# A sentence ends at its mark, closing quotes and brackets, and white space, or at a line break.
SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s)|\n+")
# Abbreviations whose period does not end a sentence.
ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|approx|no|dept|inc|ltd|jan|feb|mar|apr|jun|jul|aug|sept?|oct"
    r"|nov|dec)|\b[a-hj-z])\.$",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, keeping the end mark.

    >>> split_sentences("Met Dr. Berg at 9 a.m. today. It went well! Really?")
    ['Met Dr. Berg at 9 a.m. today.', 'It went well!', 'Really?']
    """
    sentences: list[str] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        if _sentence_continues(text, start, match):
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _sentence_continues(text: str, start: int, end: re.Match[str]) -> bool:
    """Whether a sentence continues after an end mark: an abbreviation, or lower case after a period."""
    if not end[0].strip():
        return False
    following = text[end.end() : end.end() + 20].lstrip(" \"'“‘(")
    if end[0] == "." and ABBREVIATION.search(text[max(start, end.end() - 12) : end.end()]):
        return not (text[end.end() - 3 : end.end() - 1].casefold() == ".m" and following[:1].isupper())
    return end[0] in (".", "…", "...") and following[:1].islower()
