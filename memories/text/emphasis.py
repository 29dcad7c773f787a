"""What a query emphasises: facts, recent news or an analysis; and the words that say so."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.signals import NO_EMPHASIS


def any_of_words(*words: str) -> re.Pattern[str]:
    """A pattern of whole words, each a regular expression, in any case."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Emphasis:
    """What a query emphasises, and the words that decided."""

    name: str = NO_EMPHASIS
    words: Sequence[str] = ()


# Reasons, comparisons, relations and effects.
ANALYSIS = any_of_words(
    *("why", "how come", "reasons? (?:for|why|behind)", "reasons?(?= (?:that|i|you|we|they|he|she|it)\\b)"),
    *("explain(?:s|ed)?", "analy[sz](?:e[sd]?|is)", "root causes?"),
    *("caus(?:es?|ed|ing)", "because", "(?:led|leads?|leading) to", "result(?:s|ed)? in", "contribute[sd]? to"),
    *("compar(?:e[sd]?|ing|isons?)", "versus", "vs", "differ(?:s|ed)?", "differences?", "different (?:from|than)"),
    *("trade-?offs?", "pros and cons", "(?:dis)?advantages?", "similarit(?:y|ies)", "have in common"),
    *("relationships?", "relat(?:es?|ed|ing) to", "(?:relations?|connect(?:ed|ions?)) (?:between|to|with)"),
    *("depend(?:s|ed|ing)? (?:up)?on", "dependenc(?:y|ies) (?:between|of|on)", "affect(?:s|ed|ing)?"),
    *("(?:effects?|impacts?) (?:of|on)", "impact(?:s|ed)", "influenc(?:es?|ed)", "consequences?", "implications?"),
)
# Now, and the days before it.
RECENT = any_of_words(
    *("latest", "newest", "most recent(?:ly)?", "recent(?:ly)?", "lately", "of late", "these days", "nowadays"),
    *("today", "tonight", "yesterday", "this (?:morning|afternoon|evening|week|month)", "last (?:night|week)"),
    *(r"(?:past|last) (?:few |couple of |\d+ )?(?:hours|days|weeks)", "(?:right |just |as of )?now", "current(?:ly)?"),
    *("at (?:the moment|present)", "so far", "breaking", "news", "(?:what(?: is|['’]s)|anything|something) new"),
    "(?:what|anything|something)(?: has|['’]s)? changed",
    *("last time", "(?:any|the|status) updates?", "updates? (?:about|from|on)", "up to date"),
)
QUANTITIES = "many|much|old|often|long|far|big|large|small|tall|high|low|heavy|fast|soon|late|early|deep|wide|expensive"
# A manner: “how does it work”, not “how many”.
MANNER = re.compile(rf"\bhow(?! (?:{QUANTITIES}|about)\b)\b(?!['’]s\b)", re.IGNORECASE)
# Words after which a question word asks, instead of beginning a relative clause: “the day when we met”.
_ASKING = (
    r"(?:^|[.?!;:,–—-])\W*"
    r"|\b(?:tell me|remind me|remember|recall|know|sure|wonder(?:ing)?|ask(?:ed)?|say|said|and|or|but|so|then|about"
    r"|after|at|before|by|during|for|from|in|into|of|on|since|till|to|under|until|with|within|exactly|just)\s+"
)
# Who, what, which, when, where, how many; a value by its name; a question of yes or no.
FACTS = (
    re.compile(rf"(?:{_ASKING})(?P<word>who(?:m|se)?|what|which|when|where)\b", re.IGNORECASE),
    re.compile(rf"\b(?P<word>how (?:{QUANTITIES}))\b", re.IGNORECASE),
    re.compile(
        r"\b(?P<word>number|name|date|address|birthday|age|price|cost|amount|version|colou?r|e-?mail|password)s?\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"^\W*(?P<word>is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|list|name)\b",
        re.IGNORECASE,
    ),
)


def query_emphasis(text: str) -> Emphasis:
    """The emphasis of a query: an analysis before news, news before a manner, a manner before facts.

    >>> query_emphasis("Why did the latest deploy fail?"), query_emphasis("What is the latest on the deploy?").name
    (Emphasis(name='analytical', words=('why',)), 'recent')
    """
    by_precedence: Sequence[tuple[str, Sequence[re.Pattern[str]]]] = (
        ("analytical", (ANALYSIS,)),
        ("recent", (RECENT,)),
        ("analytical", (MANNER,)),
        ("factual", FACTS),
    )
    found = ((name, deciding_words(text, patterns)) for name, patterns in by_precedence)
    return next((Emphasis(name, words) for name, words in found if words), Emphasis())


def deciding_words(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, ...]:
    """What some patterns match, in lower case, in the order of the text, each once."""
    matches = {match.span(): match for pattern in patterns for match in pattern.finditer(text)}
    groups: Mapping[tuple[int, int], str] = {
        span: (match["word"] if "word" in match.re.groupindex else match[0]) for span, match in matches.items()
    }
    return tuple(dict.fromkeys(groups[span].casefold() for span in sorted(groups)))
